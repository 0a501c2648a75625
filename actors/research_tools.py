"""The two tools of a research. A model names opaque handles only, never a URL."""

from __future__ import annotations

import json

from langchain.tools import ToolRuntime
from langchain_core.tools import tool

from actors.research_run import ResearchRun
from config.policy import POLICY
from domain.errors import AllowanceExhausted
from domain.events import Activity, ActivityCode, Comment

AGENT = "knowledge"


def _announce(runtime: ToolRuntime[ResearchRun], comment: str, *codes: ActivityCode) -> None:
    for code in codes:
        runtime.stream_writer(Activity(code=code, agent=AGENT))
    public = " ".join(comment.split())[: POLICY.research.comment_chars]
    if public:
        runtime.stream_writer(Comment(agent=AGENT, text=public))


@tool
async def search_knowledge(query: str, comment: str, runtime: ToolRuntime[ResearchRun]) -> str:
    """Search the organisation's documents and, the first time, read the entry pages of its sites.

    Args:
        query: a self-contained query in the words that a source would use.
        comment: one short public sentence on what is being looked for.
    """
    run = runtime.context
    codes: list[ActivityCode] = []
    if run.tenant.chatbot.rag.enabled:
        codes.append("searching_documents")
    if run.tenant.web.active_sources and run.meter.used("searches") == 0:
        codes.append("searching_web")
    _announce(runtime, comment, *codes)
    try:
        result = await run.search(query)
    except AllowanceExhausted as exhausted:
        result = {"error": "search_limit", "limit": exhausted.limit, "web_budget": run.web_budget()}
    return json.dumps(result, ensure_ascii=False)


@tool
async def read_knowledge_page(
    page_id: str,
    comment: str,
    runtime: ToolRuntime[ResearchRun],
    section_id: str | None = None,
    offset: int | None = None,
) -> str:
    """Read a discovered page, one of its sections, or its continuation.

    Args:
        page_id: the handle of a page or link, copied from a result of this run.
        comment: one short public sentence on what is being read.
        section_id: a section from the page's index.
        offset: where to continue, from ``next_offset``.
    """
    _announce(runtime, comment, "reading_page")
    result = await runtime.context.read(page_id, section_id, offset)
    return json.dumps(result, ensure_ascii=False)
