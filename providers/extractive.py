"""Finding the verbatim span of delivered text that answers a question best.

The offline model never writes: it chooses. A candidate is a sentence or a line, or two that follow
each other; its score blends the meaning (cosine of embeddings, the heading read along) with how
much of the question's rarer words it and its heading hold. Scores of different questions are
comparable, so thresholds can tell an answer from a miss.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from providers.embedding import Embedder

LEXICAL_WEIGHT = 0.30
STEM_CHARS = 5
MIN_WORD_CHARS = 3
MAX_SPAN_CHARS = 420
MIN_SPAN_CHARS = 12
MAX_UNITS = 400
_UNIT = re.compile(r"[^\n.!?…]+(?:[.!?…]+(?!\s)[^\n.!?…]+)*[.!?…]*[»”\")]*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Delivered:
    """Text that tools delivered under one source id; ``context`` is its title and heading."""

    source_id: str
    context: str
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """A verbatim piece of a delivered text."""

    source_id: str
    text: str
    score: float
    dense: float
    lexical: float


async def rank_spans(embedder: Embedder, question: str, sources: Sequence[Delivered]) -> list[Span]:
    """All candidate spans, best first; empty without any text."""
    units = [(source, text) for source in sources for text in _candidates(source.text)][:MAX_UNITS]
    if not units:
        return []
    texts = [f"{source.context}: {text}" if source.context else text for source, text in units]
    vectors = np.asarray(
        await embedder.embed([question, *texts, *(text for _, text in units)]), dtype=np.float32
    )
    asked = vectors[0]
    with_context = vectors[1 : 1 + len(units)] @ asked
    alone = vectors[1 + len(units) :] @ asked
    dense: NDArray[np.float32] = 0.5 * with_context + 0.5 * alone
    lexical = _coverage(question, texts)
    spans = [
        Span(
            source.source_id,
            text,
            float(dense[index]) + LEXICAL_WEIGHT * lexical[index],
            float(dense[index]),
            lexical[index],
        )
        for index, (source, text) in enumerate(units)
    ]
    return sorted(spans, key=lambda span: span.score, reverse=True)


async def rank_texts(embedder: Embedder, question: str, texts: Sequence[str]) -> list[float]:
    """The same score for short texts that are not answers themselves, such as link contexts."""
    if not texts:
        return []
    vectors = np.asarray(await embedder.embed([question, *texts]), dtype=np.float32)
    lexical = _coverage(question, texts)
    dense = vectors[1:] @ vectors[0]
    return [float(d) + LEXICAL_WEIGHT * word for d, word in zip(dense, lexical, strict=True)]


def _candidates(text: str) -> list[str]:
    """Sentences and lines, and each with the one after it, exactly as they stand in the text."""
    spans = [
        (
            match.start() + len(match[0]) - len(match[0].lstrip()),
            match.start() + len(match[0].rstrip()),
        )
        for match in _UNIT.finditer(text)
        if match[0].strip()
    ]
    found: list[str] = []
    for index, (start, end) in enumerate(spans):
        for stop in spans[index : index + 2]:
            piece = text[start : stop[1]]
            if MIN_SPAN_CHARS <= len(piece) <= MAX_SPAN_CHARS and "\n\n" not in piece:
                found.append(piece)
    return found


def _coverage(question: str, texts: Sequence[str]) -> list[float]:
    """For each text the share of the question's words that it holds, rarer words counting more.

    How rare a word is, is taken from the texts themselves: no language's stop words are needed.
    """
    wanted = _stems(question)
    held = [_stems(text) for text in texts]
    document_frequency = Counter(stem for stems in held for stem in stems & wanted)
    count = len(texts)
    weights = {
        stem: math.log(1.0 + count / (1.0 + document_frequency.get(stem, 0))) for stem in wanted
    }
    total = sum(weights.values()) or 1.0
    return [sum(weights[stem] for stem in stems & wanted) / total for stems in held]


def _stems(text: str) -> set[str]:
    """Words folded to their first letters, without case and accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return {
        word[:STEM_CHARS]
        for word in _WORD.findall(plain)
        if len(word) >= MIN_WORD_CHARS or word.isdigit()
    }
