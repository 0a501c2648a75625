"""Career chat: reflection, coaching, and the handoff of company questions to research."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from langchain_core.tools import tool

from actors.clarification import CLARIFICATION, clarified, request_clarification
from actors.conversation_documents import ANALYZE, document_tool
from actors.own_data import Directories, profile_tool
from actors.pausing import ToolResult, handed_over
from actors.role_handles import RetrieverHandle
from actors.specialist import Specialist
from actors.toolbox import Toolbox
from config.settings import Settings
from config.tenants import SpecialistName, TenantConfig
from domain.events import Event
from domain.outcomes import SpecialistOutcome
from domain.requests import RequestContext, SpecialistRequest
from providers.interface import Models
from retrieval.uploads import UploadStore

AGENT: SpecialistName = "career_chat"
HANDOFF = "transfer_to_knowledge_base"


@tool(HANDOFF, response_format="content_and_artifact")
def transfer_to_knowledge_base(question: str) -> ToolResult:
    """Hand a question about the organisation to its knowledge base.

    Use it when the answer needs a specific fact about the company or its resources.

    Args:
        question: the whole question, understandable without the conversation.
    """
    return handed_over()


class CareerChat:
    """One handoff a turn; the tool is offered only when there is something to research, and the
    reading of documents only when the conversation has some."""

    def __init__(
        self,
        models: Models,
        settings: Settings,
        retriever: RetrieverHandle,
        directories: Directories,
        uploads: UploadStore,
    ) -> None:
        self._retriever = retriever
        self._uploads = uploads
        toolbox = Toolbox(
            tools=(
                transfer_to_knowledge_base,
                document_tool(uploads, AGENT),
                profile_tool(directories, AGENT),
                request_clarification,
            ),
            continuations={CLARIFICATION: clarified},
            pausing=frozenset({CLARIFICATION}),
            transitions=frozenset({HANDOFF, CLARIFICATION}),
        )
        self._specialist = Specialist(AGENT, toolbox, models, settings)

    async def prepare(self) -> None:
        await self._specialist.prepare()

    async def run(
        self, context: RequestContext, tenant: TenantConfig, request: SpecialistRequest
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        """See :meth:`actors.specialist.Specialist.run`; readiness is refreshed every turn."""
        withheld: set[str] = set()
        facts: dict[str, Any] = {}
        if request.may_hand_off:
            readiness = await self._retriever.knowledge(tenant)
            facts["knowledge_sources"] = "available" if readiness.offered else readiness.documents
            if not readiness.offered:
                withheld.add(HANDOFF)
        else:
            withheld.add(HANDOFF)
        documents = await self._uploads.list(context.thread)
        if documents:
            facts["documents"] = [document.brief() for document in documents]
        else:
            withheld.add(ANALYZE)
        loop = self._specialist.run(
            context, tenant, request, withheld=frozenset(withheld), facts=facts
        )
        async with aclosing(loop) as items:
            async for item in items:
                yield item
