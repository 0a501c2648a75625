"""The search over a tenant's documents, and whether there is anything to search."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from config.policy import POLICY, ResearchLimits
from domain.errors import StoreUnavailable
from domain.passages import Passage, ReadinessStatus
from providers.embedding import Embedder
from retrieval.fusion import distinct, fused, lexical_part, speaks
from retrieval.languages import language_of
from retrieval.rows import Hit
from retrieval.stopwords import ALL_STOP_WORDS, STOP_WORDS

CANDIDATES = 20
"""Passages that each of the two searches gives to the fusion."""

LANGUAGE_CERTAINTY = 0.6
SHORT_CERTAINTY = 0.9
"""How sure the detection must be of a question, and of one or two words, which are often names."""


class Passages(Protocol):
    """What the search needs of a store; :class:`retrieval.store.PassageStore` has it."""

    async def nearest(
        self, tenant: str, vector: Sequence[float], limit: int, ids: Sequence[str] | None = None
    ) -> list[Hit]: ...

    async def lexical(self, tenant: str, text: str, limit: int) -> list[Hit]: ...

    async def any_id(self, tenant: str, seconds: float) -> str | None: ...


class DocumentSearch:
    """Hybrid search over the documents of one tenant at a time. Lives with the process.

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
        self, tenant: str, query: str, limit: int | None = None, language: str | None = None
    ) -> list[Passage]:
        """The passages nearest to ``query``, best first, without near repetitions.

        Args:
            limit: at most the policy's number of passages, which is the default.
            language: of the query (``en``, ``fr``, ``de``); detected when not given.

        Raises:
            StoreUnavailable: Milvus did not answer.
            ModelUnavailable: the embedding model did not answer.
        """
        query = query.strip()[: self._limits.query_chars]
        if not query:
            return []
        wanted = self._limits.passages if limit is None else min(limit, self._limits.passages)
        spoken_in = language
        if spoken_in is None:
            spoken_in = await asyncio.to_thread(query_language, query)
        words = lexical_query(query, spoken_in)
        try:
            async with asyncio.TaskGroup() as group:
                by_meaning = group.create_task(self._by_meaning(tenant, query))
                by_words = group.create_task(self._by_words(tenant, words))
        except ExceptionGroup as failed:
            # The first failure cancelled the other search; callers know errors, not groups.
            raise failed.exceptions[0] from None
        vector, near = by_meaning.result()
        spoken = [hit for hit in by_words.result() if speaks(spoken_in, hit.chunk.language)]
        near += await self._cosines(tenant, vector, near, spoken)
        bm25 = {hit.id: hit.score for hit in spoken}
        passages = [_passage(hit, bm25.get(hit.id, 0.0), spoken_in) for hit in near]
        passages.sort(key=lambda passage: (-passage.score, passage.chunk_id))
        return distinct(passages, wanted)

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

    async def _by_meaning(self, tenant: str, query: str) -> tuple[list[float], list[Hit]]:
        [vector] = await self._embedder.embed([query])
        return vector, await self._store.nearest(tenant, vector, CANDIDATES)

    async def _by_words(self, tenant: str, words: str) -> list[Hit]:
        return await self._store.lexical(tenant, words, CANDIDATES) if words else []

    async def _cosines(
        self, tenant: str, vector: list[float], near: list[Hit], spoken: list[Hit]
    ) -> list[Hit]:
        """The passages that only the words found, with their cosine."""
        known = {hit.id for hit in near}
        missing = [hit.id for hit in spoken if hit.id not in known]
        if not missing:
            return []
        return await self._store.nearest(tenant, vector, len(missing), ids=missing)


def query_language(query: str) -> str:
    """The language of a question, or ``UNKNOWN`` where names outweigh its words."""
    is_short = len(query.split()) < 3
    return language_of(query, SHORT_CERTAINTY if is_short else LANGUAGE_CERTAINTY)


@lru_cache(maxsize=256)
def lexical_query(query: str, language: str) -> str:
    """The words of ``query`` that say what it is about; empty when it has none.

    Only the stop words of its language are left out, since one language's is another's noun; all
    of them are when the language is not known.
    """
    stop_words = STOP_WORDS.get(language, ALL_STOP_WORDS)
    words = re.findall(r"\w+", query.lower())
    return " ".join(word for word in words if word not in stop_words and len(word) > 1)


def _passage(hit: Hit, bm25: float, language: str) -> Passage:
    chunk = hit.chunk
    lexical = lexical_part(bm25)
    same = speaks(language, chunk.language)
    return Passage(
        chunk_id=hit.id,
        title=chunk.title,
        heading=chunk.heading or None,
        page=chunk.page or None,
        text=chunk.text,
        language=chunk.language,
        score=fused(hit.score, lexical, same_language=same),
        dense=hit.score,
        lexical=lexical,
    )
