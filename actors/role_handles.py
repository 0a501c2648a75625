"""Typed handles to the roles. Callers pass these around and never see where a role runs."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from actors.handles import Port
from config.policy import POLICY
from config.tenants import TenantConfig
from crawler.pool import CrawlerPool
from domain.answers import KnowledgeAnswer
from domain.errors import MantaError
from domain.events import Event
from domain.messages import Message
from domain.outcomes import (
    GateOutcome,
    MemoryOutcome,
    RoutingOutcome,
    SpecialistOutcome,
    Summary,
)
from domain.passages import Passage, Readiness, ReadinessStatus
from domain.preferences import Fact
from domain.records import Record, RecordFilters, RecordHit, RecordKind
from domain.requests import RequestContext, SpecialistRequest
from retrieval.tenancy import DOCUMENTS, PassageCollection

if TYPE_CHECKING:
    from crawler.cache import CacheAnswer, PageKey
    from crawler.pages import FetchedPage, PageRequest


log = logging.getLogger("manta.actors")
HOP_SECONDS = 1.0
"""What an actor call may take beside the work that it waits for."""


class GuardrailHandle:
    def __init__(self, port: Port) -> None:
        self._port = port

    async def decide(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        messages: tuple[Message, ...],
        seconds: float = POLICY.nodes.gate,
    ) -> GateOutcome:
        outcome: GateOutcome = await self._port.call(
            "decide", context, tenant, messages, seconds=seconds
        )
        return outcome


class SupervisorHandle:
    def __init__(self, port: Port) -> None:
        self._port = port

    async def decide(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        completed: tuple[Message, ...],
        current: tuple[Message, ...],
        summary: Summary | None,
        active_agent: str | None,
        seconds: float = POLICY.nodes.supervisor,
    ) -> RoutingOutcome:
        outcome: RoutingOutcome = await self._port.call(
            "decide",
            context,
            tenant,
            completed,
            current,
            summary,
            active_agent,
            seconds=seconds,
        )
        return outcome


class MemoryHandle:
    def __init__(self, port: Port) -> None:
        self._port = port

    async def update(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        messages: tuple[Message, ...],
        known: tuple[Fact, ...],
        seconds: float = POLICY.nodes.memory,
    ) -> MemoryOutcome:
        outcome: MemoryOutcome = await self._port.call(
            "update", context, tenant, messages, known, seconds=seconds
        )
        return outcome


class SpecialistHandle:
    """Any specialist: a stream of public events with the outcome as its last item."""

    def __init__(self, name: str, port: Port) -> None:
        self.name = name
        self._port = port

    def run(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        request: SpecialistRequest,
        seconds: float = POLICY.nodes.specialist,
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        return self._port.stream("run", context, tenant, request, seconds=seconds)


class ResearcherHandle:
    def __init__(self, port: Port) -> None:
        self._port = port

    def run(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        question: str,
        messages: tuple[Message, ...],
        seconds: float = POLICY.nodes.knowledge,
    ) -> AsyncGenerator[Event | KnowledgeAnswer, None]:
        return self._port.stream("run", context, tenant, question, messages, seconds=seconds)


class RetrieverHandle:
    def __init__(self, port: Port) -> None:
        self._port = port

    async def search(
        self,
        tenant: str,
        query: str,
        limit: int = POLICY.research.passages,
        *,
        collection: PassageCollection = DOCUMENTS,
        programme: str | None = None,
    ) -> list[Passage]:
        """The nearest passages of one collection, of one study programme where one is named."""
        passages: list[Passage] = await self._port.call(
            "search",
            tenant,
            query,
            limit,
            collection,
            programme,
            seconds=POLICY.research.source_seconds,
        )
        return passages

    async def search_records(
        self,
        tenant: str,
        kind: RecordKind,
        query: str,
        filters: RecordFilters,
        *,
        limit: int = POLICY.records.results,
        exclude: tuple[str, ...] = (),
    ) -> list[RecordHit]:
        """The nearest records of ``kind`` that fulfil ``filters``, best first."""
        hits: list[RecordHit] = await self._port.call(
            "search_records",
            tenant,
            kind,
            query,
            filters,
            limit,
            exclude,
            seconds=POLICY.records.seconds,
        )
        return hits

    async def record(self, tenant: str, kind: RecordKind, record_id: str) -> Record:
        """One record; raises NotFound when the tenant has none of that id."""
        found: Record = await self._port.call(
            "record", tenant, kind, record_id, seconds=POLICY.records.seconds
        )
        return found

    async def knowledge(self, tenant: TenantConfig) -> Readiness:
        """Whether there is anything to research for ``tenant`` now; no page is requested."""
        return Readiness(
            documents=await self.readiness(tenant.tenant, tenant.chatbot.rag.enabled),
            web_sources=len(tenant.web.active_sources),
        )

    async def readiness(self, tenant: str, enabled: bool) -> ReadinessStatus:
        """A retriever that does not answer in time is unavailable, which stops no turn."""
        seconds = POLICY.research.readiness_seconds + HOP_SECONDS
        try:
            status: ReadinessStatus = await self._port.call(
                "readiness", tenant, enabled, seconds=seconds
            )
        except MantaError as error:
            log.warning("readiness_failed", extra={"tenant": tenant, "code": error.code})
            return "unavailable"
        return status


class CrawlerHandle:
    """The cell's pool of crawlers; a host's pages go to the few that share its connections."""

    def __init__(self, ports: list[Port]) -> None:
        self._ports = ports
        self._pool = CrawlerPool(len(ports))

    async def fetch(self, request: PageRequest) -> FetchedPage:
        with self._pool.member_for(request.url) as member:
            page: FetchedPage = await self._ports[member].call("fetch", request)
        return page


class PageCacheHandle:
    def __init__(self, port: Port) -> None:
        self._port = port

    async def begin(self, key: PageKey, max_age_seconds: float, lease: str) -> CacheAnswer:
        answer: CacheAnswer = await self._port.call("begin", key, max_age_seconds, lease)
        return answer

    async def complete(self, key: PageKey, lease: str, page: FetchedPage) -> None:
        await self._port.call("complete", key, lease, page)

    async def fail(
        self, key: PageKey, lease: str, code: str, status: int | None, trail: tuple[str, ...]
    ) -> None:
        await self._port.call("fail", key, lease, code, status, trail)

    async def abandon(self, key: PageKey, lease: str) -> None:
        await self._port.call("abandon", key, lease)


@dataclass(frozen=True, slots=True)
class CellHandles:
    """The roles that a turn calls. What they call themselves is their own business."""

    guardrail: GuardrailHandle
    memory: MemoryHandle
    supervisor: SupervisorHandle
    specialists: dict[str, SpecialistHandle]
    researcher: ResearcherHandle
    ports: dict[str, Port]

    @classmethod
    def over(cls, ports: dict[str, Port], specialists: tuple[str, ...]) -> CellHandles:
        return cls(
            guardrail=GuardrailHandle(ports["guardrail"]),
            memory=MemoryHandle(ports["memory"]),
            supervisor=SupervisorHandle(ports["supervisor"]),
            specialists={name: SpecialistHandle(name, ports[name]) for name in specialists},
            researcher=ResearcherHandle(ports["researcher"]),
            ports=ports,
        )
