"""The state of the page cache: least recently used pages per tenant, and one fetch at a time.

The cache fetches nothing. Whoever gets a :class:`Lead` fetches and reports the outcome; everybody
else who asks for the same page meanwhile waits for that outcome. A leader that gives up, or whose
lease runs out because its process died, is succeeded by one of those who wait.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from config.policy import POLICY
from crawler.limits import PARSE
from crawler.pages import FetchedPage
from domain.errors import PageFailed, PageRejected

_REJECTIONS: Final = frozenset(
    {
        "invalid_url",
        "non_public_address",
        "out_of_scope",
        "redirect_out_of_scope",
        "redirect_missing_location",
    }
)
_LEASE_SECONDS: Final = POLICY.page.seconds + PARSE.seconds + 2.0


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class PageKey(_Frozen):
    """Whose page, under which web configuration, at which canonical URL."""

    tenant: str
    fingerprint: str
    url: str


class Hit(_Frozen):
    """A page that is young enough to serve."""

    page: FetchedPage


class Lead(_Frozen):
    """The caller fetches, and reports with ``lease``; ``stale`` may be renewed, never served."""

    lease: str
    stale: FetchedPage | None = None


CacheAnswer = Hit | Lead


@dataclass(slots=True)
class _Entry:
    page: FetchedPage
    stored: float


@dataclass(frozen=True, slots=True)
class _Failure:
    code: str
    status: int | None
    trail: tuple[str, ...]

    def error(self) -> PageRejected | PageFailed:
        error: PageRejected | PageFailed
        if self.code in _REJECTIONS:
            error = PageRejected(self.code)
        else:
            error = PageFailed(self.code, status=self.status)
        error.fields["trail"] = self.trail
        return error


@dataclass(slots=True)
class _Flight:
    lease: str
    until: float
    outcome: asyncio.Future[FetchedPage | _Failure | None]
    """``None`` means that nobody leads any more and that a follower may."""


class PageCache:
    """Pages of all tenants of one process.

    Args:
        pages_per_tenant: how many pages one tenant may keep.
        lease_seconds: how long a leader may take before a follower takes over.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        *,
        pages_per_tenant: int = POLICY.page.cached_pages_per_tenant,
        lease_seconds: float = _LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capacity = pages_per_tenant
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._tenants: dict[str, OrderedDict[PageKey, _Entry]] = {}
        self._flights: dict[PageKey, _Flight] = {}

    async def begin(
        self, key: PageKey, max_age_seconds: float, lease: str | None = None
    ) -> CacheAnswer:
        """A page of at most ``max_age_seconds``, or the task of fetching it.

        Args:
            lease: the name of a lease, if one is given; a caller that names it itself can abandon
                it even when this answer never reached it.

        Raises:
            PageFailed, PageRejected: what the leader that was waited for got.
        """
        while True:
            entry = self._entry(key)
            if entry is not None and self._clock() - entry.stored < max_age_seconds:
                return Hit(page=entry.page)
            flight = self._flights.get(key)
            if flight is None or flight.until <= self._clock():
                return self._lead(key, flight, entry, lease)
            outcome = await self._outcome(flight)
            if isinstance(outcome, FetchedPage):
                return Hit(page=outcome)
            if outcome is not None:
                raise outcome.error()

    async def complete(self, key: PageKey, lease: str, page: FetchedPage) -> None:
        """Store what the leader fetched, or renewed; a lease that was taken over is ignored."""
        flight = self._landed(key, lease)
        if flight is None:
            return
        pages = self._tenants.setdefault(key.tenant, OrderedDict())
        pages[key] = _Entry(page, self._clock())
        pages.move_to_end(key)
        while len(pages) > self._capacity:
            pages.popitem(last=False)
        flight.outcome.set_result(page)

    async def fail(
        self,
        key: PageKey,
        lease: str,
        code: str,
        status: int | None,
        trail: tuple[str, ...] = (),
    ) -> None:
        """Tell those who wait why there is no page; an expired one is forgotten with it."""
        flight = self._landed(key, lease)
        if flight is None:
            return
        pages = self._tenants.get(key.tenant)
        if pages is not None:
            pages.pop(key, None)
            if not pages:
                del self._tenants[key.tenant]
        flight.outcome.set_result(_Failure(code, status, trail))

    async def abandon(self, key: PageKey, lease: str) -> None:
        """The leader was cancelled: one of those who wait leads on."""
        flight = self._landed(key, lease)
        if flight is not None:
            flight.outcome.set_result(None)

    def count(self, tenant: str) -> int:
        """How many pages a tenant keeps now."""
        return len(self._tenants.get(tenant, ()))

    def _entry(self, key: PageKey) -> _Entry | None:
        pages = self._tenants.get(key.tenant)
        entry = pages.get(key) if pages is not None else None
        if pages is not None and entry is not None:
            pages.move_to_end(key)
        return entry

    def _lead(
        self, key: PageKey, expired: _Flight | None, entry: _Entry | None, lease: str | None
    ) -> Lead:
        lease = lease or secrets.token_urlsafe(12)
        flight = _Flight(
            lease,
            self._clock() + self._lease_seconds,
            asyncio.get_running_loop().create_future(),
        )
        self._flights[key] = flight
        if expired is not None and not expired.outcome.done():
            expired.outcome.set_result(None)
        return Lead(lease=lease, stale=entry.page if entry is not None else None)

    async def _outcome(self, flight: _Flight) -> FetchedPage | _Failure | None:
        try:
            async with asyncio.timeout(max(0.0, flight.until - self._clock())):
                return await asyncio.shield(flight.outcome)
        except TimeoutError:
            return None

    def _landed(self, key: PageKey, lease: str) -> _Flight | None:
        flight = self._flights.get(key)
        if flight is None or flight.lease != lease:
            return None
        del self._flights[key]
        return flight
