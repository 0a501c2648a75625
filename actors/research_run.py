"""The state of one research: its budget, its sources, and what the tools deliver.

It lives with the request. The tools that a model calls are in ``research_tools``; everything that
limits them is here, in code.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from actors.evidence import Evidence, Source
from actors.role_handles import RetrieverHandle
from config.policy import POLICY
from config.tenants import TenantConfig
from crawler.session import BrowsingSession, PageWindow, ReadRefused, SourceOutcome
from domain.budgets import Meter
from domain.errors import MantaError
from domain.passages import Passage
from domain.requests import RequestContext

log = logging.getLogger("manta.research")


@dataclass(slots=True)
class ResearchRun:
    """Runtime context of the research agent."""

    context: RequestContext
    tenant: TenantConfig
    meter: Meter
    session: BrowsingSession
    retriever: RetrieverHandle
    evidence: Evidence = field(default_factory=Evidence)
    document_status: str = "disabled"
    failed_sources: list[dict[str, Any]] = field(default_factory=list)
    _pages: list[dict[str, Any]] | None = None

    async def search(self, query: str) -> dict[str, Any]:
        """Documents and, the first time, the entry pages, concurrently.

        One failed source never hides another. Raises AllowanceExhausted beyond the searches.
        """
        self.meter.take("searches")
        discover = self._pages is None
        seconds = self._seconds(POLICY.research.source_seconds)
        documents = asyncio.ensure_future(
            self._documents(query[: POLICY.research.query_chars], seconds)
        )
        pages = asyncio.ensure_future(self._discover()) if discover else None
        children = [task for task in (documents, pages) if task is not None]
        try:
            await asyncio.gather(*children)
        finally:
            for task in children:
                task.cancel()
            await asyncio.gather(*children, return_exceptions=True)
        passages = documents.result()
        log.info(
            "research_search",
            extra={
                **self._correlation(),
                "documents": self.document_status,
                "passages": len(passages),
                "pages": len(self._pages or []),
                "failed_sources": len(self.failed_sources),
            },
        )
        return {
            "documents": {"status": self.document_status, "passages": passages},
            "pages": self._pages if discover else "unchanged, see the first search",
            "failed_sources": self.failed_sources,
            "web_budget": self.web_budget(),
        }

    async def read(
        self, page_id: str, section_id: str | None, offset: int | None
    ) -> dict[str, Any]:
        """One window of a discovered page, or the controlled reason why not."""
        try:
            async with asyncio.timeout(self._seconds(POLICY.research.source_seconds)):
                window = await self.session.read(page_id, section_id=section_id, offset=offset)
        except ReadRefused as refusal:
            return self._refused(refusal.reason)
        except TimeoutError:
            return self._refused("deadline")
        except MantaError as failure:
            self.failed_sources.append({"page": "linked page", "code": failure.code})
            return self._refused(failure.code)
        return {"page": self._delivered(window), "web_budget": self.web_budget()}

    def web_budget(self) -> dict[str, Any]:
        return self.session.web_budget().model_dump()

    def has_failures(self) -> bool:
        """Whether a source that might have answered did not respond."""
        return self.document_status == "unavailable" or bool(self.failed_sources)

    def source_failed(self) -> bool:
        """Whether a whole source did not respond, so that a miss says nothing about it. A dead link
        on a page is no such source."""
        return self.document_status == "unavailable" or any(
            "source" in failed for failed in self.failed_sources
        )

    async def _documents(self, query: str, seconds: float) -> list[dict[str, Any]]:
        if not self.tenant.chatbot.rag.enabled:
            self.document_status = "disabled"
            return []
        try:
            async with asyncio.timeout(seconds):
                passages = await self.retriever.search(self.context.tenant, query)
        except (MantaError, TimeoutError) as failure:
            self.document_status = "unavailable"
            log.warning(
                "document_search_failed",
                extra={**self._correlation(), "code": getattr(failure, "code", "timeout")},
            )
            return []
        self.document_status = "ok" if passages else "empty"
        return [self._passage(passage) for passage in passages]

    async def _discover(self) -> None:
        if not self.tenant.web.active_sources:
            self._pages = []
            return
        seconds = self._seconds(POLICY.research.entry_seconds)
        outcomes: list[SourceOutcome] = await self.session.discover(seconds)
        self._pages = []
        for outcome in outcomes:
            if outcome.window is not None:
                self._pages.append(self._delivered(outcome.window))
            else:
                self.failed_sources.append({"source": outcome.source, "code": outcome.code})

    def _passage(self, passage: Passage) -> dict[str, Any]:
        source = Source(
            kind="document", title=passage.title, heading=passage.heading, page=passage.page
        )
        source_id = self.evidence.deliver(passage.chunk_id, source, passage.text)
        return {
            "source_id": source_id,
            "title": passage.title,
            "heading": passage.heading,
            "page": passage.page,
            "score": round(passage.score, 4),
            "text": passage.text,
        }

    def _delivered(self, window: PageWindow) -> dict[str, Any]:
        source = Source(kind="web", title=window.title, url=window.url)
        source_id = self.evidence.deliver(window.url, source, window.text)
        shown = window.model_dump(exclude={"url"})
        return {"source_id": source_id, **shown}

    def _refused(self, reason: str) -> dict[str, Any]:
        log.info("read_refused", extra={**self._correlation(), "reason": reason})
        return {"error": reason, "web_budget": self.web_budget()}

    def _seconds(self, limit: float) -> float:
        left = self.meter.seconds_left()
        return limit if left is None else min(limit, left)

    def _correlation(self) -> dict[str, Any]:
        return {"request_id": self.context.request_id, "tenant": self.context.tenant}
