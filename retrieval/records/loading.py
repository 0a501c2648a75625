"""A records file into the store of one tenant, again and again.

A load makes the store say what the file says: new and changed records are embedded and written,
those that are gone from the file are removed, and an unchanged file writes nothing. Nothing is
touched before the whole file is read, and nothing is removed before everything new is written.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from config.settings import Settings
from domain.records import RecordKind
from providers.embedding import Embedder, build_embedder, close_embedder
from retrieval.ingest import alone
from retrieval.records.entries import row_of
from retrieval.records.reading import read_records
from retrieval.records.store import RecordStore


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """What a load did, in numbers of records."""

    added: int
    changed: int
    unchanged: int
    removed: int


async def load_records(
    path: Path, kind: RecordKind, tenant: str, settings: Settings, milvus_uri: str
) -> LoadSummary:
    """Make the records of ``kind`` of ``tenant`` what the file at ``path`` holds.

    Args:
        milvus_uri: of a server that runs.

    Raises:
        InvalidInput: a wrong line; nothing was changed.
        StoreUnavailable: Milvus did not answer, or another run is writing.
        ModelUnavailable: the embedding model did not answer; what was stored before stays.
    """
    embedder = build_embedder(settings)
    store = RecordStore(milvus_uri, embedder, settings.milvus_secret)
    try:
        with alone(settings):
            return await replace_records(store, embedder, path, kind, tenant)
    finally:
        await store.close()
        await close_embedder(embedder)


async def replace_records(
    store: RecordStore, embedder: Embedder, path: Path, kind: RecordKind, tenant: str
) -> LoadSummary:
    """The same on a store that its caller owns, who sees to it that nobody else writes."""
    entries = await asyncio.to_thread(read_records, path, kind)
    stored = await store.digests(tenant, kind)
    todo = [entry for entry in entries if stored.get(entry.record.id) != entry.digest]
    gone = set(stored) - {entry.record.id for entry in entries}
    if todo:
        vectors = await embedder.embed([entry.meaning for entry in todo])
        await store.write(
            [row_of(tenant, entry, vector) for entry, vector in zip(todo, vectors, strict=True)]
        )
    await store.forget(tenant, kind, gone)
    if todo or gone:
        await store.flush()
    added = sum(entry.record.id not in stored for entry in todo)
    return LoadSummary(
        added=added,
        changed=len(todo) - added,
        unchanged=len(entries) - len(todo),
        removed=len(gone),
    )
