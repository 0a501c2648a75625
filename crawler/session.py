"""One research's way through its sources: what may be read, in which order, and how far.

A model never names a URL. It copies a handle that this session made for a link that this session
found; every boundary is checked before anything is fetched.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from urllib.parse import unquote

from config.policy import POLICY, ExecutionPolicy
from config.tenants import WebConfig
from crawler.extract import Link
from crawler.handles import Handles, SourceState, Target
from crawler.journal import Journal
from crawler.limits import WINDOW, WindowLimits
from crawler.offers import offered_headings, offered_links
from crawler.quiet import url_hash
from crawler.scope import Scope, WebSource
from crawler.visits import Fetch, Visit, Visits
from crawler.windows import (
    OfferedLink,
    PageWindow,
    ReadRefused,
    SectionEntry,
    SourceOutcome,
    WebBudget,
    cut,
    start_of,
)
from domain.errors import MantaError, PageRejected

__all__ = ["BrowsingSession", "Fetch", "PageWindow", "ReadRefused", "SourceOutcome", "WebBudget"]


class BrowsingSession:
    """The web sources of one research; lives with it.

    Args:
        web: the tenant's configuration.
        fetch: fetches one page, through the cache or not.
        limits: the execution policy.
        window: how many links and headings a window offers.
        request_id: correlates the log records.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        web: WebConfig,
        fetch: Fetch,
        *,
        limits: ExecutionPolicy = POLICY,
        window: WindowLimits = WINDOW,
        request_id: str = "-",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._web = web
        self._limits = limits
        self._window_limits = window
        self._journal = Journal(request_id)
        self._clock = clock
        self._deadline = clock() + limits.research.seconds
        self._sources = [
            SourceState(ordinal, WebSource(source.url, source.allowed_path_prefixes))
            for ordinal, source in enumerate(web.active_sources, 1)
        ]
        self._handles = Handles()
        self._visits = Visits(web, fetch, self._journal, self._seconds_left)
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
            self._journal.discovered(outcomes, self._visits.attempts)
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
            target = self._handles.find(page_id)
            try:
                if target is None:
                    raise ReadRefused("unknown_page")
                return await self._read(target, section_id, offset)
            except ReadRefused as refusal:
                self._journal.refused(
                    refusal.reason,
                    target.source.ordinal if target else None,
                    target.page_id if target else None,
                    self._visits.attempts,
                    self._reads,
                )
                raise

    def propose(self, url: str, label: str) -> OfferedLink | None:
        """A link that came from elsewhere, such as a search of the site, as a handle of this run;
        ``None`` unless a configured source may read it."""
        for source in self._sources:
            scope = Scope(source.source)
            try:
                admitted = scope.admit_link(scope.admit_source(), url)
            except PageRejected:
                continue
            target = self._handles.issue(source, admitted, "", 1)
            path = "/" + admitted.split("/", 3)[3]
            return OfferedLink(page_id=target.page_id, label=label, path=path, context="")
        return None

    def web_budget(self) -> WebBudget:
        """Used and remaining attempts and reads of this run."""
        return WebBudget(
            used=self._visits.attempts,
            remaining=self._visits.remaining,
            per_source=tuple(self._visits.budget(source) for source in self._sources),
            remaining_reads=max(0, self._limits.research.reads - self._reads),
        )

    async def _enter(self, source: SourceState) -> PageWindow:
        url = Scope(source.source).admit_source()
        source.host = url.split("/", 3)[2]
        visit = await self._visits.page(source, url, depth=0)
        return self._window(self._handles.issue(source, visit.url, "", 0), visit, None, None)

    def _outcome(self, source: SourceState, task: asyncio.Task[PageWindow]) -> SourceOutcome:
        code = "timeout"
        if not task.cancelled():
            error = task.exception()
            if error is None:
                return SourceOutcome(source=source.ordinal, status="read", window=task.result())
            code = str(error.code) if isinstance(error, MantaError) else "unexpected"
            if not isinstance(error, MantaError):
                self._journal.unexpected(source.ordinal, type(error).__name__)
        return SourceOutcome(source=source.ordinal, status="failed", code=code)

    async def _read(self, target: Target, section_id: str | None, offset: int | None) -> PageWindow:
        if self._seconds_left() <= 0:
            raise ReadRefused("deadline")
        if self._reads >= self._limits.research.reads:
            raise ReadRefused("read_limit")
        if target.depth > self._web.max_depth:
            raise ReadRefused("depth_limit")
        visit = self._visits.known(target.source, target.url)
        if visit is None:
            self._visits.check_budget(target.source)
        elif visit.page is not None:
            start_of(visit.page, section_id, offset, "")
        self._reads += 1
        visit = await self._visits.page(target.source, target.url, target.depth)
        window = self._window(target, visit, section_id, offset)
        self._journal.read(
            window, url_hash(visit.url), target.depth, self._visits.attempts, self._reads
        )
        return window

    def _window(
        self, target: Target, visit: Visit, section_id: str | None, offset: int | None
    ) -> PageWindow:
        page = visit.page
        assert page is not None
        start, section = start_of(page, section_id, offset, unquote(target.fragment))
        text, following = cut(page.text, start, self._limits.page.window_chars)
        headings = offered_headings(
            page.headings, start, start + len(text), self._window_limits.headings
        )
        found = self._links(target.source, visit)
        links = offered_links(found, text, self._window_limits.links)
        return PageWindow(
            page_id=target.page_id,
            source=target.source.ordinal,
            url=visit.url,
            title=page.title,
            text=text,
            offset=start,
            next_offset=following,
            section_id=section,
            headings=tuple(
                SectionEntry(section_id=entry.section_id, title=entry.title, level=entry.level)
                for entry in headings
            ),
            headings_left_out=len(page.headings) - len(headings),
            links=tuple(self._offer(target.source, link, visit.depth + 1) for link in links),
            links_left_out=len(found) - len(links),
            truncated=page.truncated,
            language=page.language,
        )

    def _links(self, source: SourceState, visit: Visit) -> list[Link]:
        """The links of a page that may be followed from here, by the URLs to ask for now."""
        if visit.page is None or not self._web.follow_links or visit.depth >= self._web.max_depth:
            return []
        links = []
        for link in visit.page.links:
            url = self._visits.current_url(source, link.url)
            if url != visit.url:
                links.append(link if url == link.url else link.model_copy(update={"url": url}))
        return links

    def _offer(self, source: SourceState, link: Link, depth: int) -> OfferedLink:
        target = self._handles.issue(source, link.url, link.fragment, depth)
        path = "/" + link.url.split("/", 3)[3]
        if link.fragment:
            path = f"{path}#{link.fragment}"
        return OfferedLink(
            page_id=target.page_id, label=link.label, path=path, context=link.context
        )

    def _seconds_left(self) -> float:
        return self._deadline - self._clock()
