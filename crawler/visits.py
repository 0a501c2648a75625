"""The pages that one research attempted: each once, counted, and never again after a failure.

The budgets of page attempts are enforced here, and so is https: once it was used for a host, a
page of that host is asked for by https for the rest of the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from config.tenants import WebConfig
from crawler.extract import ExtractedPage
from crawler.handles import SourceState
from crawler.journal import Journal
from crawler.pages import FetchedPage, PageRequest
from crawler.quiet import url_hash
from crawler.scope import Scope
from crawler.windows import ReadRefused, SourceBudget
from domain.errors import MantaError, PageFailed, PageRejected

Fetch = Callable[[PageRequest], Awaitable[FetchedPage]]


@dataclass(slots=True)
class Visit:
    """A page that was attempted: its content, or the failure that it ended with."""

    url: str
    depth: int
    page: ExtractedPage | None = None
    failure: PageFailed | PageRejected | None = None


class Visits:
    """Fetches pages for one session.

    Args:
        web: the tenant's configuration, for its page budgets.
        fetch: fetches one page, through the cache or not.
        journal: where failures are recorded.
        seconds_left: of the whole research.
    """

    def __init__(
        self, web: WebConfig, fetch: Fetch, journal: Journal, seconds_left: Callable[[], float]
    ) -> None:
        self._web = web
        self._fetch = fetch
        self._journal = journal
        self._seconds_left = seconds_left
        self._visits: dict[str, Visit] = {}
        self._failed_hashes: dict[str, PageFailed | PageRejected] = {}
        self._secure_hosts: set[str] = set()
        self.attempts = 0
        """Page attempts of all sources, failed ones included."""

    def current_url(self, source: SourceState, url: str) -> str:
        """The URL as it is asked for now: https as soon as https was used for its host."""
        if source.host in self._secure_hosts and url.startswith("http:"):
            return Scope(source.source, secure=True).admit_link(url, url)
        return url

    def known(self, source: SourceState, url: str) -> Visit | None:
        """The visit of ``url``, if there was one."""
        return self._visits.get(self.current_url(source, url))

    def check_budget(self, source: SourceState) -> None:
        """Whether one more page of ``source`` may be attempted.

        Raises:
            ReadRefused: ``page_limit``, ``source_page_limit``.
        """
        if self.attempts >= self._web.max_pages:
            raise ReadRefused("page_limit")
        if source.attempts >= self._web.max_pages_per_source:
            raise ReadRefused("source_page_limit")

    @property
    def remaining(self) -> int:
        """Page attempts left in the whole run."""
        return max(0, self._web.max_pages - self.attempts)

    def budget(self, source: SourceState) -> SourceBudget:
        """Page attempts of one source, used and left."""
        left = max(0, self._web.max_pages_per_source - source.attempts)
        return SourceBudget(
            source=source.ordinal,
            used=source.attempts,
            remaining=min(self.remaining, left),
        )

    async def page(self, source: SourceState, url: str, depth: int) -> Visit:
        """The page at ``url``, fetched at most once in this run.

        Raises:
            ReadRefused: ``page_limit``, ``source_page_limit``; nothing was used up.
            PageFailed, PageRejected: it could not be read, now or earlier.
        """
        url = self.current_url(source, url)
        visit = self._visits.get(url)
        if visit is not None:
            if visit.failure is not None:
                raise visit.failure
            visit.depth = min(visit.depth, depth)
            return visit
        earlier = self._failed_hashes.get(url_hash(url))
        if earlier is not None:
            raise earlier
        self.check_budget(source)
        self.attempts += 1
        source.attempts += 1
        attempt = self.attempts
        try:
            fetched, page = await self._fetched(source, url)
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
        visit = self._visits.get(fetched.url)
        if visit is None or visit.page is None:
            visit = self._visits[fetched.url] = Visit(fetched.url, depth, page=page)
        self._visits[url] = visit
        return visit

    async def _fetched(self, source: SourceState, url: str) -> tuple[FetchedPage, ExtractedPage]:
        secure = source.host in self._secure_hosts
        request = PageRequest(source=source.source, url=url, secure=secure)
        async with asyncio.timeout(max(0.0, self._seconds_left())):
            fetched = await self._fetch(request)
        if fetched.page is None:
            raise PageFailed("unexpected", error_type="NoContent")
        return fetched, fetched.page

    def _fail(self, url: str, depth: int, failure: PageFailed | PageRejected) -> None:
        self._visits[url] = Visit(url, depth, failure=failure)
        for digest in failure.fields.get("trail", ()):
            self._failed_hashes[digest] = failure


def _translated(error: Exception) -> PageFailed | PageRejected:
    if isinstance(error, (PageFailed, PageRejected)):
        return error
    if isinstance(error, TimeoutError):
        return PageFailed("timeout", error_type="TimeoutError")
    if isinstance(error, MantaError):
        return PageFailed(str(error.code), error_type=type(error).__name__)
    return PageFailed("unexpected", error_type=type(error).__name__)
