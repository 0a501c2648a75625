"""One collection of a Milvus server: its connection, its calls and their failures.

The server is reached over its protocol, so that Milvus Lite, Milvus and a managed service are one.
Whose rows a filter names is the business of the stores that are built on this.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from domain.errors import StoreUnavailable
from retrieval.tenancy import literal

if TYPE_CHECKING:
    from pymilvus import AsyncMilvusClient

    from providers.embedding import Embedder

T = TypeVar("T")

WRITE_SECONDS = 60.0
CONNECT_SECONDS = 5.0
CREATE_SECONDS = 30.0
ROWS_PER_READ = 1_000
ROWS_PER_WRITE = 200
_MISSING, _RELEASED = 100, 101
"""Milvus's codes of a collection that does not exist and of one that is not loaded."""


class Making(Protocol):
    """Says what a new collection looks like: its schema and its indexes."""

    def __call__(self, dimensions: int) -> tuple[Any, Any]: ...


def collection_name(what: str, embedder: Embedder) -> str:
    """Rows of two embedding models are never compared, so each has a collection."""
    name = re.sub(r"\W+", "_", embedder.name.lower())
    return f"manta_{what}_{name}_{embedder.dimensions}"


class Collection:
    """Belongs to one event loop; safe for many tasks of it.

    Args:
        what: names the store in errors, without addresses.
        name: of the collection.
        making: the schema and the indexes, for the first write.
        seconds: wall clock of one read.

    Raises:
        StoreUnavailable: by every method, when the server does not answer in time or refuses.
    """

    def __init__(
        self,
        uri: str,
        token: str | None,
        *,
        what: str,
        name: str,
        dimensions: int,
        making: Making,
        seconds: float,
    ) -> None:
        self.name = name
        self._what = what
        self._dimensions = dimensions
        self._making = making
        self._uri = uri
        self._token = token or ""
        self._seconds = seconds
        self._client: AsyncMilvusClient | None = None
        self._opening = asyncio.Lock()
        self._writing = asyncio.Lock()

    async def search(
        self, data: list[float] | str, field: str, clause: str, limit: int, fields: list[str]
    ) -> list[dict[str, Any]]:
        """The nearest rows that ``clause`` admits, with their ``id`` and ``score``: a cosine of
        ``dense``, BM25 of ``sparse``; higher is nearer."""
        found: list[list[dict[str, Any]]] = await self._call(
            lambda client: client.search(
                self.name,
                data=[data],
                anns_field=field,
                filter=clause,
                limit=limit,
                output_fields=fields,
                timeout=self._seconds,
            ),
            missing=[[]],
        )
        # Milvus Lite gives BM25 as a negative distance, Milvus as a positive score.
        return [
            {
                "id": hit["id"],
                "score": abs(hit["distance"]) if field == "sparse" else hit["distance"],
                **hit["entity"],
            }
            for hit in found[0]
        ]

    async def query(
        self, clause: str, fields: list[str], limit: int, seconds: float | None = None
    ) -> list[dict[str, Any]]:
        """At most ``limit`` rows that ``clause`` admits, in no order."""
        return await self._query(clause, fields, limit, seconds or self._seconds)

    async def pages(
        self, clause: str, fields: list[str]
    ) -> AsyncGenerator[list[dict[str, Any]], None]:
        """All rows that ``clause`` admits, by id, the latest writes included."""
        last = ""
        while True:
            rows = await self._query(
                f"{clause} and id > {literal(last)}",
                fields,
                ROWS_PER_READ,
                self._seconds,
                # The server sorts by id for an iterator only.
                iterator="True",
                reduce_stop_for_best="True",
                consistency_level="Strong",
            )
            if rows:
                yield rows
            if len(rows) < ROWS_PER_READ:
                return
            last = max(str(row["id"]) for row in rows)

    async def upsert(self, rows: Sequence[dict[str, Any]]) -> None:
        """Insert or replace ``rows`` in their order.

        Milvus Lite allows one writer at a time a collection; writes of one store are in turn.
        """
        async with self._writing:
            await self._ensure()
            for start in range(0, len(rows), ROWS_PER_WRITE):
                await self._upsert(list(rows[start : start + ROWS_PER_WRITE]))

    async def delete(self, clause: str) -> None:
        async with self._writing:
            await self._call(
                lambda client: client.delete(self.name, filter=clause, timeout=WRITE_SECONDS),
                missing={},
            )

    async def flush(self) -> None:
        """Write what was inserted into indexed segments: searches of unflushed rows are slow."""
        async with self._writing:
            await self._call(
                lambda client: client.flush(self.name, timeout=WRITE_SECONDS), missing=None
            )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _upsert(self, rows: list[dict[str, Any]]) -> None:
        await self._call(lambda client: client.upsert(self.name, rows, timeout=WRITE_SECONDS))

    async def _query(
        self, clause: str, fields: list[str], limit: int, seconds: float, **order: str
    ) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = await self._call(
            lambda client: client.query(
                self.name,
                filter=clause,
                output_fields=fields,
                limit=limit,
                timeout=seconds,
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
            await client.load_collection(self.name, timeout=self._seconds)
            return await ask(client)
        except MilvusException as error:
            if error.code == _MISSING and "missing" in missing:
                return missing["missing"]
            # The cause is cut off: its text holds the server's address and the filter.
            raise StoreUnavailable(self._what, f"its server gave error {error.code}") from None

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
                    raise StoreUnavailable(self._what, "its server does not answer") from error
                self._client = client
            return self._client

    async def _ensure(self) -> None:
        """Create the collection unless it is there."""
        exists = await self._call(
            lambda client: client.has_collection(self.name, timeout=self._seconds)
        )
        if not exists:
            await asyncio.to_thread(self._create)

    def _create(self) -> None:
        """Create the collection with its indexes and load it.

        This uses the blocking client, because the asynchronous one waits for an index through a
        call that Milvus Lite does not have.
        """
        from pymilvus import MilvusClient
        from pymilvus.exceptions import MilvusException

        schema, indexes = self._making(self._dimensions)
        try:
            client = MilvusClient(
                uri=self._uri, token=self._token, timeout=CREATE_SECONDS, dedicated=True
            )
            try:
                client.create_collection(
                    self.name, schema=schema, index_params=indexes, timeout=CREATE_SECONDS
                )
            finally:
                client.close()
        except MilvusException as error:
            raise StoreUnavailable(
                self._what, f"its server gave error {error.code} for a new collection"
            ) from None
