"""Where a research gets a page: the tenant's cache first, else one fetch by a crawler."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Coroutine
from typing import Any

from actors.role_handles import CrawlerHandle, PageCacheHandle
from config.tenants import WebConfig
from crawler.cache import Hit, PageKey
from crawler.pages import FetchedPage, PageRequest
from domain.errors import ActorUnavailable, MantaError, PageFailed

log = logging.getLogger("manta.research")


class PageSource:
    """Bound to one tenant and its web configuration; lives with the request."""

    def __init__(
        self, tenant: str, web: WebConfig, cache: PageCacheHandle, crawlers: CrawlerHandle
    ) -> None:
        self._tenant = tenant
        self._web = web
        self._cache = cache
        self._crawlers = crawlers

    async def fetch(self, request: PageRequest) -> FetchedPage:
        """The cached page, or a fresh one that is then cached for everyone of the tenant.

        The cache tells one caller to lead and lets the others wait for its outcome. An expired
        page is revalidated and never served when that fails.
        """
        key = PageKey(tenant=self._tenant, fingerprint=self._web.fingerprint(), url=request.url)
        lease = secrets.token_urlsafe(12)
        try:
            answer = await self._cache.begin(key, self._web.refresh_interval_seconds, lease)
        except asyncio.CancelledError:
            # The lease may have been given while its answer was on the way.
            await self._report(self._cache.abandon(key, lease))
            raise
        except ActorUnavailable as error:
            # Without its cache a page is only dearer to read.
            log.warning("cache_unavailable", extra={"code": error.code})
            return await self._fetched(request, None)
        if isinstance(answer, Hit):
            return answer.page
        try:
            page = await self._fetched(request, answer.stale)
        except MantaError as error:
            status, trail = error.fields.get("status"), error.fields.get("trail", ())
            await self._report(self._cache.fail(key, lease, error.code, status, trail))
            raise
        except BaseException:
            # Followers must not fail with a cancelled leader: one of them leads next.
            await self._report(self._cache.abandon(key, lease))
            raise
        await self._report(self._cache.complete(key, lease, page))
        return page

    async def _fetched(self, request: PageRequest, stale: FetchedPage | None) -> FetchedPage:
        validators = stale.validators if stale is not None else None
        page = await self._crawlers.fetch(request.model_copy(update={"validators": validators}))
        if not page.not_modified:
            return page
        if stale is None:
            raise PageFailed("http_error", status=304)
        return page.renewing(stale)

    async def _report(self, report: Coroutine[Any, Any, None]) -> None:
        """Tell the cache how the fetch ended, whatever happens to the caller meanwhile: until it
        knows, those who follow wait. A cache that fails costs this caller nothing."""
        task = asyncio.ensure_future(report)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise
        except MantaError as error:
            log.warning("cache_report_failed", extra={"code": error.code})
