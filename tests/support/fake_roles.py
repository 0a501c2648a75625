"""Roles that a test scripts; they stand behind the same handles as the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from actors.handles import LocalPort
from actors.role_handles import CellHandles, CrawlerHandle, PageCacheHandle, RetrieverHandle
from crawler.cache import PageCache
from crawler.extract import ExtractedPage
from crawler.pages import FetchedPage, PageRequest, PageValidators
from domain.errors import NotFound
from domain.outcomes import MemoryOutcome
from domain.passages import Passage, ReadinessStatus
from domain.records import Record, RecordFilters, RecordHit, RecordKind


def passage(text: str, title: str = "Leave", chunk_id: str = "c1", score: float = 0.8) -> Passage:
    return Passage(
        chunk_id=chunk_id,
        title=title,
        heading="Days",
        page=2,
        text=text,
        language="en",
        score=score,
        dense=score,
        lexical=0.0,
    )


class FakeRetriever:
    """Passages and records from lists; an error instead of them is raised.

    ``passages`` may be a dictionary of a list a collection. The collection and the study programme
    of each search are in ``searched_in``.

    Records come in the order of the list, of the asked kind and without the excluded ids; what was
    asked is in ``record_searches``, filters included, and is for the test to look at.
    """

    def __init__(
        self, passages: Any = (), readiness: ReadinessStatus = "ready", records: Any = ()
    ) -> None:
        self.passages = passages
        self.records = records
        self.record_searches: list[tuple[str, RecordKind, str, RecordFilters, int, Any]] = []
        self.status = readiness
        self.searched: list[tuple[str, str, int]] = []
        self.searched_in: list[tuple[str, str | None]] = []
        self.asked: list[tuple[str, bool]] = []

    async def search(
        self,
        tenant: str,
        query: str,
        limit: int,
        collection: str = "document",
        programme: str | None = None,
    ) -> list[Passage]:
        self.searched.append((tenant, query, limit))
        self.searched_in.append((collection, programme))
        found = self.passages
        if isinstance(found, dict):
            found = found.get(collection, ())
        if isinstance(found, Exception):
            raise found
        return list(found)[:limit]

    async def search_records(
        self,
        tenant: str,
        kind: RecordKind,
        query: str,
        filters: RecordFilters,
        limit: int,
        exclude: tuple[str, ...],
    ) -> list[RecordHit]:
        self.record_searches.append((tenant, kind, query, filters, limit, exclude))
        if isinstance(self.records, Exception):
            raise self.records
        found = [each for each in self.records if each.kind == kind and each.id not in exclude]
        return [RecordHit(record=each, score=0.8) for each in found[:limit]]

    async def record(self, tenant: str, kind: RecordKind, record_id: str) -> Record:
        if isinstance(self.records, Exception):
            raise self.records
        for each in self.records:
            if (each.kind, each.id) == (kind, record_id):
                found: Record = each
                return found
        raise NotFound("the record")

    async def readiness(self, tenant: str, enabled: bool) -> ReadinessStatus:
        self.asked.append((tenant, enabled))
        return self.status

    @property
    def handle(self) -> RetrieverHandle:
        return RetrieverHandle(LocalPort("retriever", self))


def fetched(
    url: str, text: str = "", *, not_modified: bool = False, etag: str | None = None
) -> FetchedPage:
    content = ExtractedPage(
        title="Page", text=text, headings=(), links=(), truncated=False, language="en"
    )
    return FetchedPage(
        requested_url=url,
        url=url,
        secure=True,
        not_modified=not_modified,
        page=None if not_modified else content,
        validators=PageValidators(etag=etag, url=url),
    )


class FakeCrawler:
    """Answers with scripted pages or errors, one a fetch; a callable may wait first."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[PageRequest] = []

    async def fetch(self, request: PageRequest) -> FetchedPage:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            answer = fetched(request.url, "after waiting")
        if isinstance(answer, Exception):
            raise answer
        page: FetchedPage = answer
        return page

    @property
    def handle(self) -> CrawlerHandle:
        return CrawlerHandle([LocalPort("crawler_1", self)])


def cache_handle(cache: PageCache) -> PageCacheHandle:
    return PageCacheHandle(LocalPort("page_cache", cache))


class FakeDecider:
    """A guardrail or a supervisor: one scripted outcome a call, errors are raised."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[tuple[Any, ...]] = []

    async def decide(self, *args: Any) -> Any:
        self.calls.append(args)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class FakeRunner:
    """A specialist or a researcher: each call streams one scripted list of items.

    An error among the items is raised, a number is waited for, a callable is called. ``cleaned``
    counts the invocations that have ended, clean-up included.
    """

    def __init__(self, *runs: Sequence[Any], clean_up: float = 0.0) -> None:
        self.runs = [list(run) for run in runs]
        self.calls: list[tuple[Any, ...]] = []
        self.cleaned = 0
        self._clean_up = clean_up

    async def run(self, *args: Any) -> AsyncGenerator[Any, None]:
        self.calls.append(args)
        try:
            for item in self.runs.pop(0):
                if isinstance(item, Exception):
                    raise item
                if isinstance(item, int | float):
                    await asyncio.sleep(item)
                elif isinstance(item, Callable):  # type: ignore[arg-type]
                    item()
                else:
                    yield item
        finally:
            await asyncio.sleep(self._clean_up)
            self.cleaned += 1


class FakeMemory:
    """A memory role: one scripted outcome a call, errors are raised, a number is waited for first.
    Without a script it changes nothing."""

    def __init__(self, *outcomes: Any, seconds: float = 0.0) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[tuple[Any, ...]] = []
        self.cancelled = 0
        self._seconds = seconds

    async def update(self, *args: Any) -> MemoryOutcome:
        self.calls.append(args)
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        outcome = self.outcomes.pop(0) if self.outcomes else MemoryOutcome()
        if isinstance(outcome, Exception):
            raise outcome
        kept: MemoryOutcome = outcome
        return kept


def cell_of(
    guardrail: Any,
    supervisor: Any,
    career_chat: Any,
    researcher: Any,
    task_guidance: Any = None,
    memory: Any = None,
) -> CellHandles:
    """The handles of a turn over fake roles in this process."""
    roles = {
        "guardrail": guardrail,
        "memory": memory or FakeMemory(),
        "supervisor": supervisor,
        "career_chat": career_chat,
        "task_guidance": task_guidance or FakeRunner(),
        "researcher": researcher,
    }
    ports = {name: LocalPort(name, role) for name, role in roles.items()}
    return CellHandles.over(dict(ports), ("career_chat", "task_guidance"))
