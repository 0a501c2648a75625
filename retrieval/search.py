"""The search over a tenant's passages, and whether there are documents to search."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from config.policy import POLICY, ResearchLimits
from domain.errors import StoreUnavailable
from domain.passages import Passage, ReadinessStatus
from providers.embedding import Embedder
from retrieval.fusion import distinct
from retrieval.hybrid import Ranked, query_language, ranked
from retrieval.languages import language_of
from retrieval.rows import Hit
from retrieval.tenancy import DOCUMENTS, PassageCollection, check_collection


class Passages(Protocol):
    """What the search needs of a store; :class:`retrieval.store.PassageStore` has it."""

    async def nearest(
        self,
        tenant: str,
        vector: Sequence[float],
        limit: int,
        ids: Sequence[str] | None = None,
        *,
        collection: PassageCollection = DOCUMENTS,
        programme: str | None = None,
    ) -> list[Hit]: ...

    async def lexical(
        self,
        tenant: str,
        text: str,
        limit: int,
        *,
        collection: PassageCollection = DOCUMENTS,
        programme: str | None = None,
    ) -> list[Hit]: ...

    async def any_id(self, tenant: str, seconds: float) -> str | None: ...


class DocumentSearch:
    """Hybrid search over one collection of one tenant at a time. Lives with the process.

    Args:
        store: where the passages are; closed by its owner.
        embedder: the one that embedded the passages.
        limits: how many passages a search gives and how long readiness may take.
    """

    def __init__(
        self, store: Passages, embedder: Embedder, limits: ResearchLimits = POLICY.research
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._limits = limits

    async def warm(self) -> None:
        """Load the encoder and the languages, so that the first question need not wait."""
        await self._embedder.embed(["ready"])
        for text in ("Where is it?", "Où est-ce ?", "Wo ist das?"):
            await asyncio.to_thread(language_of, text)

    async def search(
        self,
        tenant: str,
        query: str,
        limit: int | None = None,
        language: str | None = None,
        *,
        collection: PassageCollection = DOCUMENTS,
        programme: str | None = None,
    ) -> list[Passage]:
        """The passages nearest to ``query``, best first, without near repetitions.

        Args:
            limit: at most the policy's number of passages, which is the default.
            language: of the query (``en``, ``fr``, ``de``); detected when not given.
            collection: what is searched; nothing else is found.
            programme: a study programme, whose folder and the general one are searched only.

        Raises:
            InvalidInput: there is no such collection.
            StoreUnavailable: Milvus did not answer.
            ModelUnavailable: the embedding model did not answer.
        """
        check_collection(collection)
        query = query.strip()[: self._limits.query_chars]
        if not query:
            return []
        wanted = self._limits.passages if limit is None else min(limit, self._limits.passages)
        if language is None:
            language = await asyncio.to_thread(query_language, query)
        found = await ranked(
            query,
            language,
            self._embedder,
            partial(self._store.nearest, tenant, collection=collection, programme=programme),
            partial(self._store.lexical, tenant, collection=collection, programme=programme),
        )
        return distinct([_passage(result) for result in found], wanted)

    async def readiness(self, tenant: str, enabled: bool) -> ReadinessStatus:
        """Whether the tenant has documents: one chunk id at most, no embedding, two seconds.

        A store that fails or is too slow is "unavailable", never "empty".
        """
        if not enabled:
            return "disabled"
        seconds = self._limits.readiness_seconds
        try:
            async with asyncio.timeout(seconds):
                found = await self._store.any_id(tenant, seconds)
        except (StoreUnavailable, TimeoutError):
            return "unavailable"
        return "ready" if found else "empty"


def _passage(result: Ranked[Hit]) -> Passage:
    chunk = result.row.chunk
    return Passage(
        chunk_id=result.row.id,
        title=chunk.title,
        heading=chunk.heading or None,
        page=chunk.page or None,
        text=chunk.text,
        language=chunk.language,
        score=result.score,
        dense=result.dense,
        lexical=result.lexical,
    )
