"""One turn of the campus advisor: scripted models, chosen cosines, a site of pages from values."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fake_redis import FakeRedis
from fake_requests import context_of, tenant_of
from fake_roles import FakeRetriever, cache_handle
from model_server import ModelServer
from scripted_replies import Calls, Reply, call

from actors.campus.advisor import CampusAdvisor
from actors.campus.query_cache import QueryCache
from actors.handles import LocalPort
from actors.role_handles import CrawlerHandle, RetrieverHandle
from config.settings import Settings
from crawler.cache import PageCache
from crawler.extract import ExtractedPage, Link
from crawler.pages import FetchedPage, PageRequest, PageValidators
from domain.errors import ModelUnavailable, PageFailed
from domain.events import Activity, TextDelivered, TextDelta, Verdict
from domain.messages import Message, user
from domain.outcomes import SpecialistOutcome
from domain.requests import SpecialistRequest
from providers.openai_protocol import OpenAIModels

AGENT = "manta.campus_advisor"
GRADER = "manta.campus_advisor.grading"
JUDGE = "manta.campus_advisor.judge"
EVIDENCE = "manta.campus_advisor.evidence"
SUBAGENT = "manta.campus_advisor.subagent"
SITE = "http://www.uni.example/en/"
SEARCH = call("search_documents", query="deadline")
WEB = call("search_web", query="deadline", about="general")


def cite(source_id: str = "d1", quote: str = "15 July") -> Calls:
    return call("select_evidence", citations=[{"source_id": source_id, "quote": quote}])


class ChosenEmbedder:
    """Vectors whose cosine with every other text is chosen: a text that holds a key of ``near``
    has that cosine with a text that holds none. An error is raised."""

    name = "chosen"
    dimensions = 2

    def __init__(self, near: dict[str, float] | None = None, error: Exception | None = None):
        self.near = near or {}
        self.error = error
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.error is not None:
            raise self.error
        self.embedded += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        cosine = next((value for key, value in self.near.items() if key in text), 1.0)
        return [cosine, math.sqrt(max(0.0, 1.0 - cosine * cosine))]


class PagesCrawler:
    """Serves pages by URL; what is missing fails. Counts what was fetched; ``slow`` URLs take long,
    and what was cancelled meanwhile is counted."""

    def __init__(self, pages: dict[str, ExtractedPage] | None = None) -> None:
        self.pages = pages or {}
        self.fetched: list[str] = []
        self.slow: set[str] = set()
        self.cancelled = 0

    async def fetch(self, request: PageRequest) -> FetchedPage:
        self.fetched.append(request.url)
        if request.url in self.slow:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        page = self.pages.get(request.url)
        if page is None:
            raise PageFailed("http_error", status=404)
        return FetchedPage(
            requested_url=request.url,
            url=request.url,
            secure=False,
            not_modified=False,
            page=page,
            validators=PageValidators(etag=None, url=request.url),
        )


def page_of(text: str, title: str = "Page", **links: str) -> ExtractedPage:
    """A page whose links lead to paths below the site, by label."""
    return ExtractedPage(
        title=title,
        text=text,
        headings=(),
        links=tuple(
            Link(url=SITE + path, label=label, context="", fragment="")
            for label, path in links.items()
        ),
        truncated=False,
        language="en",
    )


class CampusBench:
    """What the advisor works with, and how a turn is run.

    ``web`` changes the tenant's configuration of its one site, ``chatbot`` the rest of it.
    """

    def __init__(
        self,
        server: ModelServer,
        *,
        passages: Any = (),
        pages: dict[str, ExtractedPage] | None = None,
        near: dict[str, float] | None = None,
        embedding: Exception | None = None,
        redis: Any = None,
        retriever: Any = None,
        settings: dict[str, Any] | None = None,
        web: dict[str, Any] | None = None,
        chatbot: dict[str, Any] | None = None,
        name: str = "acme",
        **campus: Any,
    ) -> None:
        self.server = server
        self.retriever = retriever or FakeRetriever(passages)
        self.crawler = PagesCrawler(pages)
        self.embedder = ChosenEmbedder(near, embedding)
        self.redis = redis or FakeRedis()
        self.cache = PageCache()
        site = {"enabled": bool(pages), "sources": [{"url": SITE}] if pages else [], **(web or {})}
        given = {"rag": {"enabled": True}, "knowledge_base": {"web": site}, **(chatbot or {})}
        self.tenant = tenant_of(name, **given, campus=campus)
        self.settings = Settings.load(
            provider="compatible", openai_base_url=server.url, **(settings or {})
        )

    @asynccontextmanager
    async def advisor(self) -> AsyncIterator[CampusAdvisor]:
        models = OpenAIModels(self.settings, self.embedder)  # type: ignore[arg-type]
        advisor = CampusAdvisor(
            models,
            self.settings,
            RetrieverHandle(LocalPort("retriever", self.retriever)),
            cache_handle(self.cache),
            CrawlerHandle([LocalPort("crawler_1", self.crawler)]),
            QueryCache(self.redis),
        )
        try:
            yield advisor
        finally:
            await advisor.close()
            await models.close()

    async def run(
        self,
        *replies: Reply,
        question: str = "When is the deadline?",
        messages: tuple[Message, ...] = (),
        context: dict[str, Any] | None = None,
        request: dict[str, Any] | None = None,
        **scripts: Sequence[Reply],
    ) -> tuple[list[Any], SpecialistOutcome]:
        """Events and outcome; ``replies`` are the agent's and the writer's, in order."""
        self.server.script(AGENT, *replies)
        for name, scripted in scripts.items():
            self.server.script(f"{AGENT}.{name}", *scripted)
        asked = SpecialistRequest(messages=messages or (user(question),), **(request or {}))
        where = context_of(**{"tenant": self.tenant.tenant, **(context or {})})
        async with self.advisor() as advisor:
            items = [item async for item in advisor.run(where, self.tenant, asked)]
        assert isinstance(items[-1], SpecialistOutcome)
        return items[:-1], items[-1]


def text_of(events: Sequence[Any]) -> str:
    """What the user's stream was told."""
    return "".join(e.text for e in events if isinstance(e, TextDelta | TextDelivered))


def activities(events: Sequence[Any]) -> list[str]:
    return [e.code for e in events if isinstance(e, Activity)]


def results(server: ModelServer, turn: int = -1) -> list[dict[str, Any]]:
    """The tool results that an agent's call saw, by default its last one's."""
    messages = server.asked(AGENT)[turn]["messages"]
    return [
        {"id": m["tool_call_id"], **json.loads(m["content"])}
        for m in messages
        if m["role"] == "tool"
    ]


def verdicts(events: Sequence[Any]) -> list[tuple[str, str, str]]:
    return [(e.step, e.decision, e.reason) for e in events if isinstance(e, Verdict)]


DOWN = ModelUnavailable("the embedding model", "timeout")
