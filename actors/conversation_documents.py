"""Reading the documents that a user added to the conversation, a window at a time."""

from __future__ import annotations

import json

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool

from actors.specialist_run import SpecialistRun
from config.policy import POLICY
from config.tenants import SpecialistName
from domain.errors import NotFound
from domain.events import Activity
from retrieval.uploads import UploadStore

ANALYZE = "analyze_document"


def document_tool(uploads: UploadStore, agent: SpecialistName) -> BaseTool:
    @tool(ANALYZE)
    async def analyze_document(
        document_id: str, runtime: ToolRuntime[SpecialistRun], offset: int = 0
    ) -> str:
        """Read a document of this conversation. Go on with ``next_offset`` where there is one.

        Args:
            document_id: the id as the request's data names it.
            offset: the character to begin at.
        """
        runtime.stream_writer(Activity(code="reading_document", agent=agent))
        thread = runtime.context.context.thread
        size = POLICY.document.window_chars
        try:
            window = await uploads.window(thread, document_id, max(0, offset), size)
        except NotFound:
            return json.dumps({"error": "unknown_document"})
        return json.dumps(window.shown(), ensure_ascii=False)

    return analyze_document
