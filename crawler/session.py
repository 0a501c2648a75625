"""One research's way through its sources: handles, budgets, depth and https, enforced in code.

A model never names a URL. It copies a handle that this session made for a link that this session
found; every boundary is checked before anything is fetched.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from config.policy import POLICY, ExecutionPolicy
from config.tenants import WebConfig
from crawler.extract import ExtractedPage
from crawler.journal import Journal
from crawler.pages import FetchedPage, PageRequest
from crawler.quiet import url_hash
from crawler.scope import Scope, WebSource
from crawler.windows import (
    OfferedLink,
    PageWindow,
    ReadRefused,
    SectionEntry,
    SourceBudget,
    SourceOutcome,
    WebBudget,
    cut,
    start_of,
)
from domain.errors import MantaError, PageFailed, PageRejected

Fetch = Callable[[PageRequest], Awaitable[FetchedPage]]

_HANDLE_BYTES: Final = 12

__all__ = ["BrowsingSession", "PageWindow", "ReadRefused", "SourceOutcome", "WebBudget"]


@dataclass(slots=True)
class _Source:
    ordinal: int
    source: WebSource
    host: str = ""
    entry: str | None = None
    attempts: int = 0


@dataclass(slots=True)
class _Target:
    """What a handle stands for."""

    page_id: str
    source: _Source
    url: str
    fragment: str
    depth: int


@dataclass(slots=True)
class _Known:
    """A page that was attempted: its content, or the code of its failure."""

    url: str
    depth: int
    page: ExtractedPage | None = None
    failure: PageFailed | PageRejected | None = None
    links: tuple[OfferedLink, ...] | None = field(default=None)


class BrowsingSession:
    """The web sources of one research; lives with it.

    Args:
        web: the tenant's configuration.
        fetch: fetches one page, through the cache or not.
        limits: the execution policy.
        request_id: correlates the log records.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        web: WebConfig,
        fetch: Fetch,
        *,
        limits: ExecutionPolicy = POLICY,
        request_id: str = "-",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._web = web
        self._fetch = fetch
        self._limits = limits
        self._journal = Journal(request_id)
        self._clock = clock
        self._deadline = clock() + limits.research.seconds
        self._sources = [
            _Source(ordinal, WebSource(source.url, source.allowed_path_prefixes))
            for ordinal, source in enumerate(web.active_sources, 1)
        ]
        self._targets: dict[str, _Target] = {}
        self._handles: dict[tuple[int, str, str], str] = {}
        self._known: dict[str, _Known] = {}
        self._failed_hashes: dict[str, PageFailed | PageRejected] = {}
        self._secure_hosts: set[str] = set()
        self._attempts = 0
        self._reads = 0
        self._reading = asyncio.Lock()
        self._outcomes: list[SourceOutcome] | None = None

    async def discover(self, seconds: float) -> list[SourceOutcome]:
        """Read the entry pages of all sources at once, for at most ``seconds``.

        Completed pages are kept, one failed source hides no other, and a second call repeats the
        outcomes without fetching. Children are cancelled and drained before it returns.
        """
        async with self._reading:
            if self._outcomes is not None:
                return list(self._outcomes)
            tasks = [asyncio.create_task(self._enter(source)) for source in self._sources]
            try:
                if tasks:
                    await asyncio.wait(tasks, timeout=max(0.0, min(seconds, self._seconds_left())))
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            outcomes = [
                self._outcome(source, task)
                for source, task in zip(self._sources, tasks, strict=True)
            ]
            self._outcomes = outcomes
            self._journal.discovered(outcomes, self._attempts)
            return list(outcomes)

    async def read(
        self, page_id: str, *, section_id: str | None = None, offset: int | None = None
    ) -> PageWindow:
        """Read a page that a handle names, a section of it, or its continuation.

        Raises:
            ReadRefused: with its reason; nothing was used up.
            PageFailed, PageRejected: the page could not be read, now or earlier in this run.
        """
        async with self._reading:
            target = self._targets.get(page_id) if isinstance(page_id, str) else None
            try:
                if target is None:
                    raise ReadRefused("unknown_page")
                return await self._read(target, section_id, offset)
            except ReadRefused as refusal:
                self._journal.refused(
                    refusal.reason,
                    target.source.ordinal if target else None,
                    target.page_id if target else None,
                    self._attempts,
                    self._reads,
                )
                raise

    def web_budget(self) -> WebBudget:
        """Used and remaining attempts and reads of this run."""
        left = max(0, self._web.max_pages - self._attempts)
        return WebBudget(
            used=self._attempts,
            remaining=left,
            per_source=tuple(
                SourceBudget(
                    source=source.ordinal,
                    used=source.attempts,
                    remaining=min(left, max(0, self._web.max_pages_per_source - source.attempts)),
                )
                for source in self._sources
            ),
            remaining_reads=max(0, self._limits.research.reads - self._reads),
        )

    async def _enter(self, source: _Source) -> PageWindow:
        url = Scope(source.source).admit_source()
        source.host = _host(url)
        known = await self._page(source, url, depth=0)
        source.entry = self._handle(source, known.url, "", 0)
        return self._window(self._targets[source.entry], known, None, None)

    def _outcome(self, source: _Source, task: asyncio.Task[PageWindow]) -> SourceOutcome:
        code = "timeout"
        if not task.cancelled():
            error = task.exception()
            if error is None:
                return SourceOutcome(source=source.ordinal, status="read", window=task.result())
            code = str(error.code) if isinstance(error, MantaError) else "unexpected"
            if not isinstance(error, MantaError):
                self._journal.unexpected(source.ordinal, type(error).__name__)
        return SourceOutcome(source=source.ordinal, status="failed", code=code)

    async def _read(
        self, target: _Target, section_id: str | None, offset: int | None
    ) -> PageWindow:
        if self._seconds_left() <= 0:
            raise ReadRefused("deadline")
        if self._reads >= self._limits.research.reads:
            raise ReadRefused("read_limit")
        if target.depth > self._web.max_depth:
            raise ReadRefused("depth_limit")
        known = self._known.get(self._current_url(target.source, target.url))
        if known is not None and known.page is not None:
            start_of(known.page, section_id, offset, "")
        elif known is None:
            self._check_attempts(target.source)
        self._reads += 1
        if known is None:
            known = await self._page(target.source, target.url, target.depth)
        elif known.failure is not None:
            raise known.failure
        window = self._window(target, known, section_id, offset)
        self._journal.read(window, url_hash(known.url), target.depth, self._attempts, self._reads)
        return window

    def _check_attempts(self, source: _Source) -> None:
        if self._attempts >= self._web.max_pages:
            raise ReadRefused("page_limit")
        if source.attempts >= self._web.max_pages_per_source:
            raise ReadRefused("source_page_limit")

    async def _page(self, source: _Source, url: str, depth: int) -> _Known:
        """The page at ``url``, fetched at most once in this run."""
        url = self._current_url(source, url)
        known = self._known.get(url)
        if known is not None:
            if known.failure is not None:
                raise known.failure
            known.depth = min(known.depth, depth)
            return known
        earlier = self._failed_hashes.get(url_hash(url))
        if earlier is not None:
            raise earlier
        self._check_attempts(source)
        self._attempts += 1
        source.attempts += 1
        attempt = self._attempts
        request = PageRequest(
            source=source.source, url=url, secure=source.host in self._secure_hosts
        )
        try:
            async with asyncio.timeout(max(0.0, self._seconds_left())):
                fetched = await self._fetch(request)
            if fetched.page is None:
                raise PageFailed("unexpected", error_type="NoContent")
        except asyncio.CancelledError:
            # Nothing is retried in a run, and a cancelled attempt was one.
            self._fail(url, depth, PageFailed("timeout", error_type="Cancelled"))
            raise
        except Exception as error:  # noqa: BLE001 - isolation: a source's fault is a code, never more
            failure = _translated(error)
            self._fail(url, depth, failure)
            self._journal.failed(failure, source.ordinal, attempt, url_hash(url), depth)
            raise failure from None
        if fetched.secure:
            self._secure_hosts.add(source.host)
        known = self._known.get(fetched.url)
        if known is None or known.page is None:
            known = _Known(fetched.url, depth, page=fetched.page)
            self._known[fetched.url] = known
        self._known[url] = known
        return known

    def _fail(self, url: str, depth: int, failure: PageFailed | PageRejected) -> None:
        self._known[url] = _Known(url, depth, failure=failure)
        for digest in failure.fields.get("trail", ()):
            self._failed_hashes[digest] = failure

    def _current_url(self, source: _Source, url: str) -> str:
        """The URL as it is asked for now: https as soon as https was used for its host."""
        if source.host in self._secure_hosts and url.startswith("http:"):
            return Scope(source.source, secure=True).admit_link(url, url)
        return url

    def _handle(self, source: _Source, url: str, fragment: str, depth: int) -> str:
        key = (source.ordinal, url, fragment)
        page_id = self._handles.get(key)
        if page_id is None:
            page_id = self._handles[key] = secrets.token_urlsafe(_HANDLE_BYTES)
            self._targets[page_id] = _Target(page_id, source, url, fragment, depth)
        target = self._targets[page_id]
        target.depth = min(target.depth, depth)
        return page_id

    def _window(
        self, target: _Target, known: _Known, section_id: str | None, offset: int | None
    ) -> PageWindow:
        page = known.page
        assert page is not None
        start, section = start_of(page, section_id, offset, unquote(target.fragment))
        text, following = cut(page.text, start, self._limits.page.window_chars)
        if known.links is None:
            known.links = self._offered(target.source, known, page)
        return PageWindow(
            page_id=target.page_id,
            source=target.source.ordinal,
            url=known.url,
            title=page.title,
            text=text,
            offset=start,
            next_offset=following,
            section_id=section,
            headings=tuple(
                SectionEntry(section_id=entry.section_id, title=entry.title, level=entry.level)
                for entry in page.headings
            ),
            links=known.links,
            truncated=page.truncated,
            language=page.language,
        )

    def _offered(
        self, source: _Source, known: _Known, page: ExtractedPage
    ) -> tuple[OfferedLink, ...]:
        if not self._web.follow_links or known.depth >= self._web.max_depth:
            return ()
        offered = []
        for link in page.links:
            url = self._current_url(source, link.url)
            if url == known.url:
                continue
            page_id = self._handle(source, url, link.fragment, known.depth + 1)
            path = "/" + url.split("/", 3)[3]
            if link.fragment:
                path = f"{path}#{link.fragment}"
            offered.append(
                OfferedLink(page_id=page_id, label=link.label, path=path, context=link.context)
            )
        return tuple(offered)

    def _seconds_left(self) -> float:
        return self._deadline - self._clock()


def _host(url: str) -> str:
    return url.split("/", 3)[2]


def _translated(error: Exception) -> PageFailed | PageRejected:
    if isinstance(error, (PageFailed, PageRejected)):
        return error
    if isinstance(error, TimeoutError):
        return PageFailed("timeout", error_type="TimeoutError")
    if isinstance(error, MantaError):
        return PageFailed(str(error.code), error_type=type(error).__name__)
    return PageFailed("unexpected", error_type=type(error).__name__)
