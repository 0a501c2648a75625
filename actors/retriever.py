"""The retriever role: passages of a tenant's documents, and whether there are any."""

from __future__ import annotations

from domain.passages import Passage, ReadinessStatus
from retrieval.search import DocumentSearch
from retrieval.store import PassageStore


class Retriever:
    """A thin role over :class:`retrieval.search.DocumentSearch`; it owns the store."""

    def __init__(self, store: PassageStore, search: DocumentSearch) -> None:
        self._store = store
        self._search = search

    async def search(self, tenant: str, query: str, limit: int) -> list[Passage]:
        return await self._search.search(tenant, query, limit=limit)

    async def readiness(self, tenant: str, enabled: bool) -> ReadinessStatus:
        return await self._search.readiness(tenant, enabled)

    async def close(self) -> None:
        await self._store.close()
