"""The rows of the collection of passages: what is written, what is found."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retrieval.tenancy import DOCUMENTS, PassageCollection, check_collection, check_tenant


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """One row as it is written. ``file`` is the path inside ``source``, ``file_hash`` the hash of
    the whole file, ``page`` 0 where there are no pages."""

    source: str
    file: str
    file_hash: str
    position: int
    title: str
    heading: str
    page: int
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One row as a search finds it; ``score`` is a cosine or a raw BM25 score, higher is nearer."""

    id: str
    score: float
    chunk: StoredChunk

    @property
    def languages(self) -> tuple[str, ...]:
        return (self.chunk.language,)


def chunk_id(tenant: str, chunk: StoredChunk, collection: PassageCollection = DOCUMENTS) -> str:
    """The same content at the same place of the same file of a tenant has the same id, in each of
    the tenant's collections another."""
    parts = [tenant, chunk.source, chunk.file, str(chunk.position), chunk.heading, chunk.text]
    if collection != DOCUMENTS:
        # Documents are identified as they were before there were other collections.
        parts.append(collection)
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]


def row_of(
    tenant: str,
    chunk: StoredChunk,
    vector: Sequence[float],
    collection: PassageCollection = DOCUMENTS,
) -> dict[str, Any]:
    """The row to write. ``words`` is what BM25 reads; ``text`` stays verbatim."""
    check_tenant(tenant)
    check_collection(collection)
    return {
        "id": chunk_id(tenant, chunk, collection),
        "tenant": tenant,
        "kind": collection,
        "source": chunk.source,
        "file": chunk.file,
        "file_hash": chunk.file_hash,
        "position": chunk.position,
        "title": chunk.title,
        "heading": chunk.heading,
        "page": chunk.page,
        "language": chunk.language,
        "text": chunk.text,
        "words": "\n".join(part for part in (chunk.title, chunk.heading, chunk.text) if part),
        "dense": list(vector),
    }


def chunk_of(row: dict[str, Any]) -> StoredChunk:
    """What a row that was read says."""
    return StoredChunk(
        source=row["source"],
        file=row["file"],
        file_hash=row["file_hash"],
        position=row["position"],
        title=row["title"],
        heading=row["heading"],
        page=row["page"],
        language=row["language"],
        text=row["text"],
    )
