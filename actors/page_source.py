"""Where a research gets a page: the tenant's cache first, else one fetch by a crawler."""

from __future__ import annotations

import asyncio

from actors.role_handles import CrawlerHandle, PageCacheHandle
from config.tenants import WebConfig
from crawler.cache import Hit, PageKey
from crawler.pages import FetchedPage, PageRequest
from domain.errors import MantaError, PageFailed


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
        answer = await self._cache.begin(key, self._web.refresh_interval_seconds)
        if isinstance(answer, Hit):
            return answer.page
        lease, stale = answer.lease, answer.stale
        try:
            validators = stale.validators if stale is not None else None
            page = await self._crawlers.fetch(request.model_copy(update={"validators": validators}))
            if page.not_modified:
                if stale is None:
                    raise PageFailed("http_error", status=304)
                page = page.renewing(stale)
        except MantaError as error:
            fields = error.fields
            await self._cache.fail(
                key, lease, error.code, fields.get("status"), fields.get("trail", ())
            )
            raise
        except BaseException:
            # Followers must not fail with a cancelled leader: one of them leads next.
            await asyncio.shield(self._cache.abandon(key, lease))
            raise
        await self._cache.complete(key, lease, page)
        return page
