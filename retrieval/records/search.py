"""The search over a tenant's records: by meaning and words, under structured conditions."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Protocol

from config.policy import POLICY, RecordLimits
from domain.records import Record, RecordFilters, RecordHit, RecordKind
from providers.embedding import Embedder
from retrieval.hybrid import CANDIDATES, Ranked, query_language, ranked
from retrieval.records.entries import FoundRecord
from retrieval.records.folding import folded


class Records(Protocol):
    """What the search needs of a store; :class:`retrieval.records.store.RecordStore` has it."""

    async def nearest(
        self,
        tenant: str,
        kind: RecordKind,
        filters: RecordFilters,
        exclude: tuple[str, ...],
        vector: list[float],
        limit: int,
        ids: list[str] | None = None,
    ) -> list[FoundRecord]: ...

    async def lexical(
        self,
        tenant: str,
        kind: RecordKind,
        filters: RecordFilters,
        exclude: tuple[str, ...],
        text: str,
        limit: int,
    ) -> list[FoundRecord]: ...

    async def listed(
        self,
        tenant: str,
        kind: RecordKind,
        filters: RecordFilters,
        exclude: tuple[str, ...],
        limit: int,
    ) -> list[FoundRecord]: ...

    async def record(self, tenant: str, kind: RecordKind, record_id: str) -> Record: ...


class RecordSearch:
    """Hybrid search over one tenant's records of one kind at a time. Lives with the process."""

    def __init__(
        self, store: Records, embedder: Embedder, limits: RecordLimits = POLICY.records
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._limits = limits

    async def search(
        self,
        tenant: str,
        kind: RecordKind,
        query: str,
        filters: RecordFilters,
        limit: int,
        exclude: tuple[str, ...],
    ) -> list[RecordHit]:
        """The nearest records that fulfil ``filters``, best first, without those of ``exclude``.

        An empty query lists what fulfils the filters, by date; each of them scores 1, since it is
        all that was asked for.

        Raises:
            InvalidInput: a filter that no record could fulfil.
            StoreUnavailable: Milvus did not answer.
            ModelUnavailable: the embedding model did not answer.
        """
        if limit < 1:
            return []
        query = query.strip()[: self._limits.query_chars]
        if not query:
            listed = await self._store.listed(tenant, kind, filters, exclude, limit)
            return [RecordHit(record=found.record, score=1.0) for found in listed]
        found = await ranked(
            query,
            await asyncio.to_thread(query_language, query),
            self._embedder,
            partial(self._store.nearest, tenant, kind, filters, exclude),
            partial(self._store.lexical, tenant, kind, filters, exclude),
            candidates=max(CANDIDATES, limit),
        )
        hits = [_hit(query, each) for each in found]
        hits.sort(key=lambda hit: -hit.score)
        return hits[:limit]

    async def record(self, tenant: str, kind: RecordKind, record_id: str) -> Record:
        """Raises NotFound when the tenant has none of that id."""
        return await self._store.record(tenant, kind, record_id)


def _hit(query: str, found: Ranked[FoundRecord]) -> RecordHit:
    """A person whose name holds all of the query is nearer than anyone who only resembles it: the
    encoder blurs names, and all who bear one must come before the others."""
    record = found.row.record
    wanted = set(folded(query).split())
    is_named = record.kind == "people" and wanted and wanted <= set(folded(record.title).split())
    return RecordHit(record=record, score=(1.0 + found.score) / 2 if is_named else found.score)
