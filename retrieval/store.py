"""The passages of all tenants in Milvus: one collection of Milvus an embedding model.

No tenant can reach another's rows: the tenant is the partition key and the first argument of every
public method, filters are built here from values only, and every row that comes back is checked.
The same holds for a tenant's own collections (documents, FAQ, troubleshooting), which are told
apart by the rows' ``kind``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from config.policy import POLICY
from retrieval.milvus import Collection, collection_name
from retrieval.rows import Hit, StoredChunk, chunk_of, row_of
from retrieval.schema import OUTPUT_FIELDS, passages
from retrieval.tenancy import (
    DOCUMENTS,
    PassageCollection,
    check_collection,
    is_of_programme,
    literal,
    of_programme,
    one_of,
    only,
    own,
)

if TYPE_CHECKING:
    from providers.embedding import Embedder

WHAT = "the document store"
_FIELDS = [*OUTPUT_FIELDS, "kind"]


class PassageStore:
    """The rows of one embedding model. Belongs to one event loop; safe for many tasks of it.

    Args:
        uri: ``http://host:port`` or ``https://host``.
        token: the server's token, if it wants one.
        embedder: names the collection and says how many dimensions it has.
        seconds: wall clock of one read.

    Raises:
        StoreUnavailable: by every method, when the server does not answer in time or refuses.
    """

    def __init__(
        self,
        uri: str,
        embedder: Embedder,
        token: str | None = None,
        seconds: float = POLICY.research.source_seconds,
    ) -> None:
        self._rows = Collection(
            uri,
            token,
            what=WHAT,
            name=collection_name("passages", embedder),
            dimensions=embedder.dimensions,
            making=passages,
            seconds=seconds,
        )

    async def nearest(
        self,
        tenant: str,
        vector: Sequence[float],
        limit: int,
        ids: Sequence[str] | None = None,
        *,
        collection: PassageCollection = DOCUMENTS,
        programme: str | None = None,
    ) -> list[Hit]:
        """The ``limit`` rows with the highest cosine, optionally among ``ids`` only.

        Args:
            programme: only what is in this folder, or in the one of all programmes.
        """
        clause = _clause(tenant, collection, programme)
        if ids is not None:
            clause += f" and {one_of('id', ids)}"
        rows = await self._rows.search(list(vector), "dense", clause, limit, _FIELDS)
        return _hits(tenant, collection, programme, rows)

    async def lexical(
        self,
        tenant: str,
        text: str,
        limit: int,
        *,
        collection: PassageCollection = DOCUMENTS,
        programme: str | None = None,
    ) -> list[Hit]:
        """The ``limit`` rows with the highest BM25 score of ``text``."""
        clause = _clause(tenant, collection, programme)
        rows = await self._rows.search(text, "sparse", clause, limit, _FIELDS)
        return _hits(tenant, collection, programme, rows)

    async def any_id(self, tenant: str, seconds: float) -> str | None:
        """At most one id of a document's chunk, within ``seconds``; ``None`` without documents."""
        rows = await self._rows.query(only(tenant), ["id", "tenant"], limit=1, seconds=seconds)
        found = own(tenant, rows)
        return str(found[0]["id"]) if found else None

    async def files(
        self, tenant: str, source: str, collection: PassageCollection = DOCUMENTS
    ) -> dict[str, set[str]]:
        """The hashes that are stored of each file of ``source``; more than one after a crash.

        A file counts once its first chunk is stored, which :meth:`write` stores last.
        """
        files: dict[str, set[str]] = {}
        clause = only(tenant, kind=collection, source=source, position=0)
        async for rows in self._rows.pages(clause, ["id", "tenant", "file", "file_hash"]):
            for row in own(tenant, rows):
                files.setdefault(row["file"], set()).add(row["file_hash"])
        return files

    async def write(
        self,
        tenant: str,
        chunks: Sequence[StoredChunk],
        vectors: Sequence[Sequence[float]],
        collection: PassageCollection = DOCUMENTS,
    ) -> None:
        """Insert or replace the chunks of one file, its first chunk last."""
        rows = [
            row_of(tenant, chunk, vector, collection)
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]
        rows.sort(key=lambda row: row["position"] == 0)
        await self._rows.upsert(rows)

    async def forget(
        self,
        tenant: str,
        source: str,
        file: str,
        keep_hash: str | None = None,
        collection: PassageCollection = DOCUMENTS,
    ) -> None:
        """Delete the rows of one file, but for those of its version ``keep_hash``."""
        clause = only(tenant, kind=collection, source=source, file=file)
        if keep_hash is not None:
            clause += f" and file_hash != {literal(keep_hash)}"
        await self._rows.delete(clause)

    async def flush(self) -> None:
        """Write what was inserted into indexed segments: searches of unflushed rows are slow."""
        await self._rows.flush()

    async def close(self) -> None:
        await self._rows.close()


def _clause(tenant: str, collection: PassageCollection, programme: str | None) -> str:
    check_collection(collection)
    clause = only(tenant, kind=collection)
    return clause if programme is None else f"{clause} and {of_programme(programme)}"


def _hits(
    tenant: str,
    collection: PassageCollection,
    programme: str | None,
    rows: Sequence[dict[str, Any]],
) -> list[Hit]:
    return [
        Hit(row["id"], row["score"], chunk_of(row))
        for row in own(tenant, rows, collection)
        if programme is None or is_of_programme(row["file"], programme)
    ]
