"""The retriever role: passages of a tenant's documents, its records, and whether there are any."""

from __future__ import annotations

from domain.passages import Passage, ReadinessStatus
from domain.records import Record, RecordFilters, RecordHit, RecordKind
from providers.embedding import Embedder, prepare_embedder
from retrieval.records.search import RecordSearch
from retrieval.records.store import RecordStore
from retrieval.search import DocumentSearch
from retrieval.store import PassageStore
from retrieval.tenancy import DOCUMENTS, PassageCollection


class Retriever:
    """A thin role over the search in documents and the search in records; it owns their stores."""

    def __init__(self, passages: PassageStore, records: RecordStore, embedder: Embedder) -> None:
        self._passages = passages
        self._records = records
        self._embedder = embedder
        self._documents = DocumentSearch(passages, embedder)
        self._catalogue = RecordSearch(records, embedder)

    async def prepare(self) -> None:
        """Load the embedding model before the first request needs it."""
        await prepare_embedder(self._embedder)

    async def search(
        self,
        tenant: str,
        query: str,
        limit: int,
        collection: PassageCollection = DOCUMENTS,
        programme: str | None = None,
    ) -> list[Passage]:
        return await self._documents.search(
            tenant, query, limit=limit, collection=collection, programme=programme
        )

    async def search_records(
        self,
        tenant: str,
        kind: RecordKind,
        query: str,
        filters: RecordFilters,
        limit: int,
        exclude: tuple[str, ...],
    ) -> list[RecordHit]:
        return await self._catalogue.search(tenant, kind, query, filters, limit, exclude)

    async def record(self, tenant: str, kind: RecordKind, record_id: str) -> Record:
        return await self._catalogue.record(tenant, kind, record_id)

    async def readiness(self, tenant: str, enabled: bool) -> ReadinessStatus:
        return await self._documents.readiness(tenant, enabled)

    async def close(self) -> None:
        await self._passages.close()
        await self._records.close()
