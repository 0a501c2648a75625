"""The retriever role: passages of a tenant's documents, and whether there are any."""

from __future__ import annotations

from domain.passages import Passage, ReadinessStatus
from providers.embedding import Embedder, prepare_embedder
from retrieval.search import DocumentSearch
from retrieval.store import PassageStore


class Retriever:
    """A thin role over :class:`retrieval.search.DocumentSearch`; it owns the store."""

    def __init__(self, store: PassageStore, search: DocumentSearch, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._search = search

    async def prepare(self) -> None:
        """Load the embedding model before the first request needs it."""
        await prepare_embedder(self._embedder)

    async def search(self, tenant: str, query: str, limit: int) -> list[Passage]:
        return await self._search.search(tenant, query, limit=limit)

    async def readiness(self, tenant: str, enabled: bool) -> ReadinessStatus:
        return await self._search.readiness(tenant, enabled)

    async def close(self) -> None:
        await self._store.close()
