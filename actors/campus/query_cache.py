"""What a query found on a tenant's pages, kept in the store as long as pages may be kept.

Keys hold a hash of the query, never its words; the pages are public. A page itself is kept by the
page cache, which asks its server whether it has changed and is read anew only then.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import Any

import redis.asyncio as redis
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from config.tenants import TenantConfig
from crawler.session import PageWindow
from domain.errors import StoreUnavailable
from retrieval.redis_errors import redis_errors

log = logging.getLogger("manta.campus")
PREFIX = "manta:query"


class CachedPage(BaseModel):
    """The first window of a page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    title: str
    text: str

    @classmethod
    def of(cls, window: PageWindow) -> CachedPage:
        return cls(url=window.url, title=window.title, text=window.text)


_PAGES = TypeAdapter(list[CachedPage])


class QueryCache:
    """Lives with the process; a store that fails costs the cache and nothing else."""

    def __init__(self, client: redis.Redis) -> None:
        self._client: Any = client

    async def read(self, tenant: TenantConfig, query: str) -> list[CachedPage] | None:
        """The pages of an earlier search in the same words; ``None`` when there was none."""
        if tenant.web.refresh_interval_seconds == 0:
            return None
        try:
            with redis_errors():
                kept = await self._client.get(_key(tenant, query))
        except StoreUnavailable as error:
            log.warning("query_cache_unread", extra={"tenant": tenant.tenant, "code": error.code})
            return None
        if kept is None:
            return None
        try:
            return _PAGES.validate_json(kept)
        except ValidationError:
            # Another version of ours may have written it.
            log.warning("query_cache_malformed", extra={"tenant": tenant.tenant})
            return None

    async def write(self, tenant: TenantConfig, query: str, pages: list[CachedPage]) -> None:
        seconds = tenant.web.refresh_interval_seconds
        if seconds == 0 or not pages:
            return
        body = json.dumps([page.model_dump() for page in pages], ensure_ascii=False)
        try:
            with redis_errors():
                await self._client.set(_key(tenant, query), body, ex=seconds)
        except StoreUnavailable as error:
            log.warning("query_cache_unset", extra={"tenant": tenant.tenant, "code": error.code})


def _key(tenant: TenantConfig, query: str) -> str:
    words = " ".join(query.casefold().split())
    digest = hashlib.sha256(words.encode()).hexdigest()[:32]
    return f"{PREFIX}:{tenant.tenant}:{tenant.web.fingerprint()}:{digest}"
