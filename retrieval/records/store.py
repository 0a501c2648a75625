"""The records of all tenants in Milvus: one collection an embedding model.

As with passages, no tenant can reach another's rows: tenant and kind are arguments of every public
method, filters are built from values only, and every row that comes back is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from config.policy import POLICY
from domain.errors import NotFound
from domain.records import Record, RecordFilters, RecordKind
from retrieval.milvus import Collection, collection_name
from retrieval.records.conditions import conditions
from retrieval.records.entries import FoundRecord, found_record, row_id
from retrieval.records.folding import folded
from retrieval.records.schema import OUTPUT_FIELDS, records
from retrieval.tenancy import one_of, only, own

if TYPE_CHECKING:
    from providers.embedding import Embedder

WHAT = "the record store"
_NOTHING = RecordFilters()


class RecordStore:
    """The rows of one embedding model. Belongs to one event loop; safe for many tasks of it.

    Raises:
        StoreUnavailable: by every method, when the server does not answer in time or refuses.
    """

    def __init__(
        self,
        uri: str,
        embedder: Embedder,
        token: str | None = None,
        seconds: float = POLICY.records.seconds,
    ) -> None:
        self._rows = Collection(
            uri,
            token,
            what=WHAT,
            name=collection_name("records", embedder),
            dimensions=embedder.dimensions,
            making=records,
            seconds=seconds,
        )

    async def nearest(
        self,
        tenant: str,
        kind: RecordKind,
        filters: RecordFilters,
        exclude: tuple[str, ...],
        vector: list[float],
        limit: int,
        ids: Sequence[str] | None = None,
    ) -> list[FoundRecord]:
        """The ``limit`` rows with the highest cosine, optionally among the keys ``ids`` only."""
        clause = conditions(tenant, kind, filters, exclude)
        if ids is not None:
            clause += f" and {one_of('id', ids)}"
        rows = await self._rows.search(vector, "dense", clause, limit, OUTPUT_FIELDS)
        return _found(tenant, kind, rows)

    async def lexical(
        self,
        tenant: str,
        kind: RecordKind,
        filters: RecordFilters,
        exclude: tuple[str, ...],
        text: str,
        limit: int,
    ) -> list[FoundRecord]:
        """The ``limit`` rows with the highest BM25 score of ``text``."""
        clause = conditions(tenant, kind, filters, exclude)
        rows = await self._rows.search(folded(text), "sparse", clause, limit, OUTPUT_FIELDS)
        return _found(tenant, kind, rows)

    async def listed(
        self,
        tenant: str,
        kind: RecordKind,
        filters: RecordFilters,
        exclude: tuple[str, ...],
        limit: int,
    ) -> list[FoundRecord]:
        """The first ``limit`` rows that fulfil ``filters``: by date, undated ones last, then id."""
        clause = conditions(tenant, kind, filters, exclude)
        keys: list[tuple[bool, int, str, str]] = []
        fields = ["id", "tenant", "kind", "record_id", "starts"]
        async for rows in self._rows.pages(clause, fields):
            keys += [
                (row["starts"] == 0, row["starts"], row["record_id"], row["id"])
                for row in own(tenant, rows, kind)
            ]
        wanted = [key[-1] for key in sorted(keys)[:limit]]
        if not wanted:
            return []
        clause = f"{only(tenant, kind=kind)} and {one_of('id', wanted)}"
        rows = await self._rows.query(clause, OUTPUT_FIELDS, len(wanted))
        found = {row.id: row for row in _found(tenant, kind, rows)}
        return [found[key] for key in wanted if key in found]

    async def record(self, tenant: str, kind: RecordKind, record_id: str) -> Record:
        """Raises NotFound when the tenant has none of that id."""
        clause = only(tenant, kind=kind, id=row_id(tenant, kind, record_id))
        rows = await self._rows.query(clause, OUTPUT_FIELDS, 1)
        for found in _found(tenant, kind, rows):
            return found.record
        raise NotFound("the record")

    async def digests(self, tenant: str, kind: RecordKind) -> dict[str, str]:
        """The digest of each stored record, by its id."""
        digests: dict[str, str] = {}
        fields = ["id", "tenant", "kind", "record_id", "digest"]
        async for rows in self._rows.pages(conditions(tenant, kind, _NOTHING), fields):
            for row in own(tenant, rows, kind):
                digests[row["record_id"]] = row["digest"]
        return digests

    async def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Insert or replace rows that :func:`retrieval.records.entries.row_of` made."""
        await self._rows.upsert(rows)

    async def forget(self, tenant: str, kind: RecordKind, record_ids: Iterable[str]) -> None:
        keys = sorted(row_id(tenant, kind, record_id) for record_id in record_ids)
        if keys:
            await self._rows.delete(f"{only(tenant, kind=kind)} and {one_of('id', keys)}")

    async def flush(self) -> None:
        await self._rows.flush()

    async def close(self) -> None:
        await self._rows.close()


def _found(tenant: str, kind: RecordKind, rows: Sequence[dict[str, Any]]) -> list[FoundRecord]:
    return [found_record(row) for row in own(tenant, rows, kind)]
