"""Career chat: reflection, coaching, and the handoff of company questions to research."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from langchain_core.tools import tool

from actors.role_handles import RetrieverHandle
from actors.specialist import Specialist
from config.settings import Settings
from config.tenants import TenantConfig
from domain.events import Event
from domain.messages import Message
from domain.outcomes import SpecialistOutcome
from domain.requests import RequestContext
from providers.interface import Models

HANDOFF = "transfer_to_knowledge_base"


@tool(HANDOFF, return_direct=True)
def transfer_to_knowledge_base(question: str) -> str:
    """Hand a question about the organisation to its knowledge base.

    Use it when the answer needs a specific fact about the company or its resources.

    Args:
        question: the whole question, understandable without the conversation.
    """
    return "recorded"


class CareerChat:
    """One handoff a turn; the tool is offered only when there is something to research."""

    def __init__(self, models: Models, settings: Settings, retriever: RetrieverHandle) -> None:
        self._retriever = retriever
        self._specialist = Specialist(
            "career_chat",
            [transfer_to_knowledge_base],
            models,
            settings,
            handoff_tool=HANDOFF,
        )

    async def prepare(self) -> None:
        await self._specialist.prepare()

    async def run(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        messages: tuple[Message, ...],
        may_hand_off: bool = True,
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        """See :meth:`actors.specialist.Specialist.run`; readiness is refreshed every turn."""
        readiness = await self._retriever.knowledge(tenant) if may_hand_off else None
        offered = readiness is not None and readiness.offered
        facts: dict[str, object] = {}
        if readiness is not None:
            facts["knowledge_sources"] = "available" if offered else readiness.documents
        withheld = frozenset() if offered else frozenset({HANDOFF})
        loop = self._specialist.run(context, tenant, messages, withheld=withheld, facts=facts)
        async with aclosing(loop) as items:
            async for item in items:
                yield item
