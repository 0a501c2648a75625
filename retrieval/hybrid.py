"""A search by meaning and by words at once, over whatever rows a store has."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from providers.embedding import Embedder
from retrieval.fusion import fused, lexical_part, speaks
from retrieval.languages import language_of
from retrieval.stopwords import ALL_STOP_WORDS, STOP_WORDS

CANDIDATES = 20
"""Rows that each of the two searches gives to the fusion."""

LANGUAGE_CERTAINTY = 0.6
SHORT_CERTAINTY = 0.9
"""How sure the detection must be of a question, and of one or two words, which are often names."""


class Scored(Protocol):
    """A row as a store finds it: ``score`` is a cosine or a raw BM25 score; ``languages`` are
    those that its words are written in."""

    @property
    def id(self) -> str: ...

    @property
    def score(self) -> float: ...

    @property
    def languages(self) -> tuple[str, ...]: ...


Row = TypeVar("Row", bound=Scored)


@dataclass(frozen=True, slots=True)
class Ranked(Generic[Row]):
    """A row with its fused score in [0, 1] and the parts of it."""

    row: Row
    score: float
    dense: float
    lexical: float


async def ranked(
    query: str,
    language: str,
    embedder: Embedder,
    nearest: Callable[[list[float], int, Sequence[str] | None], Awaitable[list[Row]]],
    lexical: Callable[[str, int], Awaitable[list[Row]]],
    candidates: int = CANDIDATES,
) -> list[Ranked[Row]]:
    """The rows nearest to ``query``, best first.

    Args:
        language: of the query; words count only in rows of that language.
        nearest: rows by cosine, optionally among some ids.
        lexical: rows by BM25.
    """
    words = lexical_query(query, language)

    async def by_meaning() -> tuple[list[float], list[Row]]:
        [vector] = await embedder.embed([query])
        return vector, await nearest(vector, candidates, None)

    async def by_words() -> list[Row]:
        return await lexical(words, candidates) if words else []

    try:
        async with asyncio.TaskGroup() as group:
            meaning = group.create_task(by_meaning())
            spoken = group.create_task(by_words())
    except ExceptionGroup as failed:
        # The first failure cancelled the other search; callers know errors, not groups.
        raise failed.exceptions[0] from None
    vector, near = meaning.result()
    bm25 = {row.id: row.score for row in spoken.result() if _speaks(language, row)}
    known = {row.id for row in near}
    # The rows that only the words found get their cosine, too.
    missing = [row_id for row_id in bm25 if row_id not in known]
    if missing:
        near = near + await nearest(vector, len(missing), missing)
    results = [_ranked(row, bm25.get(row.id, 0.0), language) for row in near]
    results.sort(key=lambda result: (-result.score, result.row.id))
    return results


def _ranked(row: Row, bm25: float, language: str) -> Ranked[Row]:
    part = lexical_part(bm25)
    score = fused(row.score, part, same_language=_speaks(language, row))
    return Ranked(row, score, row.score, part)


def _speaks(language: str, row: Scored) -> bool:
    return any(speaks(language, own) for own in row.languages)


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
