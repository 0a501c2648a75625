"""The passages of all tenants in Milvus: one collection an embedding model.

No tenant can reach another's rows: the tenant is the partition key and the first argument of every
public method, filters are built here from values only, and every row that comes back is checked.
The server is reached over its protocol, so that Milvus Lite, Milvus and a managed service are one.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from config.policy import POLICY
from domain.errors import StoreUnavailable
from retrieval.rows import Hit, StoredChunk, chunk_of, row_of
from retrieval.schema import OUTPUT_FIELDS, create_collection
from retrieval.tenancy import literal, only, own

if TYPE_CHECKING:
    from pymilvus import AsyncMilvusClient

    from providers.embedding import Embedder

T = TypeVar("T")

WHAT = "the document store"
WRITE_SECONDS = 60.0
CONNECT_SECONDS = 5.0
ROWS_PER_READ = 1_000
ROWS_PER_WRITE = 200
_MISSING, _RELEASED = 100, 101
"""Milvus's codes of a collection that does not exist and of one that is not loaded."""


def collection_name(embedder: Embedder) -> str:
    """Passages of two embedding models are never compared, so each has a collection."""
    name = re.sub(r"\W+", "_", embedder.name.lower())
    return f"manta_passages_{name}_{embedder.dimensions}"


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
        self.collection = collection_name(embedder)
        self.dimensions = embedder.dimensions
        self._uri = uri
        self._token = token or ""
        self._seconds = seconds
        self._client: AsyncMilvusClient | None = None
        self._opening = asyncio.Lock()
        self._writing = asyncio.Lock()

    async def nearest(
        self, tenant: str, vector: Sequence[float], limit: int, ids: Sequence[str] | None = None
    ) -> list[Hit]:
        """The ``limit`` rows with the highest cosine, optionally among ``ids`` only."""
        return await self._search(tenant, list(vector), "dense", limit, ids)

    async def lexical(self, tenant: str, text: str, limit: int) -> list[Hit]:
        """The ``limit`` rows with the highest BM25 score of ``text``."""
        return await self._search(tenant, text, "sparse", limit, None)

    async def any_id(self, tenant: str, seconds: float) -> str | None:
        """At most one chunk id, within ``seconds``; ``None`` when the tenant has no rows."""
        rows = await self._query(only(tenant), ["id", "tenant"], limit=1, seconds=seconds)
        found = own(tenant, rows)
        return str(found[0]["id"]) if found else None

    async def files(self, tenant: str, source: str) -> dict[str, set[str]]:
        """The hashes that are stored of each file of ``source``; more than one after a crash.

        A file counts once its first chunk is stored, which :meth:`write` stores last.
        """
        fields = ["id", "tenant", "file", "file_hash"]
        files: dict[str, set[str]] = {}
        last = ""
        while True:
            clause = only(tenant, source=source, position=0) + f" and id > {literal(last)}"
            rows = await self._query(clause, fields, limit=ROWS_PER_READ, ordered=True)
            for row in own(tenant, rows):
                files.setdefault(row["file"], set()).add(row["file_hash"])
            if len(rows) < ROWS_PER_READ:
                return files
            last = max(str(row["id"]) for row in rows)

    async def write(
        self, tenant: str, chunks: Sequence[StoredChunk], vectors: Sequence[Sequence[float]]
    ) -> None:
        """Insert or replace the chunks of one file, its first chunk last.

        Milvus Lite allows one writer at a time a collection; writes of one store are in turn.
        """
        rows = [
            row_of(tenant, chunk, vector) for chunk, vector in zip(chunks, vectors, strict=True)
        ]
        rows.sort(key=lambda row: row["position"] == 0)
        async with self._writing:
            await self._ensure()
            for start in range(0, len(rows), ROWS_PER_WRITE):
                await self._upsert(rows[start : start + ROWS_PER_WRITE])

    async def forget(
        self, tenant: str, source: str, file: str, keep_hash: str | None = None
    ) -> None:
        """Delete the rows of one file, but for those of its version ``keep_hash``."""
        clause = only(tenant, source=source, file=file)
        if keep_hash is not None:
            clause += f" and file_hash != {literal(keep_hash)}"
        async with self._writing:
            await self._call(
                lambda client: client.delete(self.collection, filter=clause, timeout=WRITE_SECONDS),
                missing={},
            )

    async def flush(self) -> None:
        """Write what was inserted into indexed segments: searches of unflushed rows are slow."""
        async with self._writing:
            await self._call(
                lambda client: client.flush(self.collection, timeout=WRITE_SECONDS), missing=None
            )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _upsert(self, rows: list[dict[str, Any]]) -> None:
        await self._call(lambda client: client.upsert(self.collection, rows, timeout=WRITE_SECONDS))

    async def _search(
        self,
        tenant: str,
        data: list[float] | str,
        field: str,
        limit: int,
        ids: Sequence[str] | None,
    ) -> list[Hit]:
        clause = only(tenant)
        if ids is not None:
            clause += f" and id in [{', '.join(literal(value) for value in ids)}]"
        found: list[list[dict[str, Any]]] = await self._call(
            lambda client: client.search(
                self.collection,
                data=[data],
                anns_field=field,
                filter=clause,
                limit=limit,
                output_fields=OUTPUT_FIELDS,
                timeout=self._seconds,
            ),
            missing=[[]],
        )
        rows = [{"id": hit["id"], "score": hit["distance"], **hit["entity"]} for hit in found[0]]
        # Milvus Lite gives BM25 as a negative distance, Milvus as a positive score.
        return [
            Hit(row["id"], abs(row["score"]) if field == "sparse" else row["score"], chunk_of(row))
            for row in own(tenant, rows)
        ]

    async def _query(
        self,
        clause: str,
        fields: list[str],
        limit: int,
        seconds: float | None = None,
        ordered: bool = False,
    ) -> list[dict[str, Any]]:
        # The server sorts by id for an iterator only; the reader of files wants its own writes.
        order: dict[str, Any] = {}
        if ordered:
            order = {"iterator": "True", "reduce_stop_for_best": "True"}
            order["consistency_level"] = "Strong"
        rows: list[dict[str, Any]] = await self._call(
            lambda client: client.query(
                self.collection,
                filter=clause,
                output_fields=fields,
                limit=limit,
                timeout=seconds or self._seconds,
                **order,
            ),
            missing=[],
        )
        return list(rows)

    async def _call(self, ask: Callable[[AsyncMilvusClient], Awaitable[T]], **missing: T) -> T:
        """Ask the server, loading a collection that a restart has released.

        A collection that does not exist yet gives ``missing``, if there is one.
        """
        from pymilvus.exceptions import MilvusException

        client = await self._open()
        try:
            try:
                return await ask(client)
            except MilvusException as error:
                if error.code != _RELEASED:
                    raise
            await client.load_collection(self.collection, timeout=self._seconds)
            return await ask(client)
        except MilvusException as error:
            if error.code == _MISSING and "missing" in missing:
                return missing["missing"]
            # The cause is cut off: its text holds the server's address and the filter.
            raise StoreUnavailable(WHAT, f"its server gave error {error.code}") from None

    async def _open(self) -> AsyncMilvusClient:
        if self._client is not None:
            return self._client
        async with self._opening:
            if self._client is None:
                from pymilvus import AsyncMilvusClient
                from pymilvus.exceptions import MilvusException

                # The library logs every error with its traceback and addresses; ours are raised.
                logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
                # A connection of its own: the library's shared one is not tied to an event loop.
                client = AsyncMilvusClient(
                    uri=self._uri, token=self._token, timeout=CONNECT_SECONDS, dedicated=True
                )
                try:
                    await client.list_collections(timeout=CONNECT_SECONDS)
                except MilvusException as error:
                    await client.close()
                    raise StoreUnavailable(WHAT, "its server does not answer") from error
                self._client = client
            return self._client

    async def _ensure(self) -> None:
        """Create the collection unless it is there."""
        exists = await self._call(
            lambda client: client.has_collection(self.collection, timeout=self._seconds)
        )
        if not exists:
            await asyncio.to_thread(
                create_collection, self._uri, self._token, self.collection, self.dimensions
            )
