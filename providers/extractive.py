"""Finding the verbatim piece of delivered text that answers a question best.

The offline model never writes: it chooses. A piece is ranked by what it means, beside its heading
and alone, and by how many of the question's rarer words it holds. Whether the best piece is an
answer at all is judged apart, because the same cosine is high for one question and low for another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from providers.extractive_units import Delivered, Unit, units_of
from providers.extractive_words import WantedWords, languages_of, stem, words
from providers.offline_vectors import RememberedVectors

LITERAL_WEIGHT = 0.10
SOFT_WEIGHT = 0.30
LANGUAGE_BONUS = 0.12
NUMBER_BONUS = 0.10
"""What words, language and form add to a cosine. Set on about a hundred questions about a company's
handbook and a software manual; the ranking changes little around these values."""

TOPIC_BONUS = 0.30
TOPIC_WORDS, TOPIC_PIECES = 2, 2
"""What the beginning of a page has over everything else when the question is no more than a word
or two of its title: nobody knows what else is asked about them."""

MAX_UNITS = 500
"""Pieces that are compared at all: about 0.4 s of CPU when none was seen before."""

SHORTLIST = 24
"""Pieces whose sentences and words are looked at; the others are too far from the question."""

_NUMBER = re.compile(r"\d")
_ASKS_NUMBER = re.compile(
    r"""\b(?:how\s+(?:many|much|long|far|full|strong|old|often|high|late|soon|big|heavy|deep|fast)
      | what\s+(?:\w+\s+)?(?:price|amount|date|time|percentage|fee|rate|cost)
      | (?:since|until|by|at)\s+(?:when|what)|when\b|worth|costs?\b|maximum|at\s+most|deadline
      | combien|quel(?:le)?\s+(?:\w+\s+)?(?:prix|montant|date|délai|plafond|quantité|durée|somme
        |taux|âge|fréquence|heure|valeur)
      | jusqu.(?:à|où)|quand\b|vaut\b|coûte
      | wie\s*(?:viele?|hoch|lange|oft|weit|alt|schwer|stark|spät|groß|schnell)
      | wann\b|(?:bis|ab|seit)\s+wann|kostet?\b|höchstens|frist\b)""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A quotable piece and how it relates to the question.

    ``meaning`` is the cosine of its nearest sentence, ``held`` the weighted share of the question's
    words that it and its headings hold; ``score`` ranks the pieces of one question.
    """

    unit: Unit
    score: float
    meaning: float
    held: float


def asks_number(question: str) -> bool:
    """Whether the answer is a number, a date or a time."""
    return bool(_ASKS_NUMBER.search(question))


async def findings(
    vectors: RememberedVectors, question: str, sources: Sequence[Delivered], language: str
) -> list[Finding]:
    """The nearest pieces, best first; empty without any text."""
    units = [unit for source in sources for unit in units_of(source)][:MAX_UNITS]
    if not units:
        return []
    framed = [_framed(unit) for unit in units]
    titled = [f"{unit.source.title} {text}" for unit, text in zip(units, framed, strict=True)]
    wanted = WantedWords(question, titled)
    asked = (await vectors.of([question]))[0]
    paragraph = (await vectors.of(framed)) @ asked
    literal = wanted.literal()
    bonus = _bonuses(question, units, language)
    rough = paragraph + LITERAL_WEIGHT * literal + bonus
    shortlist = [int(index) for index in np.argsort(-rough)[:SHORTLIST]]
    near = [units[index] for index in shortlist]
    meanings = await _meanings(vectors, asked, near)
    matches = await wanted.matches(vectors, [titled[index] for index in shortlist])
    found: list[Finding] = []
    for index, unit, meaning, matched in zip(shortlist, near, meanings, matches, strict=True):
        held = wanted.covered(matched)
        score = meaning + LITERAL_WEIGHT * float(literal[index]) + SOFT_WEIGHT * held
        found.append(Finding(unit, score + float(bonus[index]), meaning, held))
    return sorted(found, key=lambda finding: finding.score, reverse=True)


async def _meanings(
    vectors: RememberedVectors, asked: NDArray[np.float32], units: Sequence[Unit]
) -> list[float]:
    """The best sentence's cosine of each unit, the mean of it alone and beside its context."""
    sentences = [sentence for unit in units for sentence in unit.sentences]
    beside = [f"{unit.context}: {sentence}" for unit in units for sentence in unit.sentences]
    both = (await vectors.of([*sentences, *beside])) @ asked
    means = 0.5 * both[: len(sentences)] + 0.5 * both[len(sentences) :]
    found: list[float] = []
    at = 0
    for unit in units:
        found.append(float(means[at : at + len(unit.sentences)].max()))
        at += len(unit.sentences)
    return found


def _framed(unit: Unit) -> str:
    return f"{unit.context}: {unit.text}" if unit.context else unit.text


def _bonuses(question: str, units: Sequence[Unit], language: str) -> NDArray[np.float64]:
    """What form and language add: the question's own language, and a number where one is asked."""
    guessed = languages_of(unit.source.text for unit in units)
    number = asks_number(question) or len(question.split()) <= TOPIC_WORDS
    return np.array(
        [
            LANGUAGE_BONUS * ((unit.source.language or guess) == language)
            + NUMBER_BONUS * (number and bool(_NUMBER.search(unit.text)))
            + TOPIC_BONUS * opens
            for unit, guess, opens in zip(units, guessed, _opens(question, units), strict=True)
        ]
    )


def _opens(question: str, units: Sequence[Unit]) -> list[bool]:
    """Whether each piece begins a page whose title names the bare topic of a question."""
    topic = {stem(word) for word in words(question)}
    if not topic or len(question.split()) > TOPIC_WORDS:
        return [False] * len(units)
    seen: Counter[str] = Counter()
    opens: list[bool] = []
    for unit in units:
        source = unit.source
        named = topic <= {stem(word) for word in words(source.title)}
        opens.append(named and seen[source.source_id] < TOPIC_PIECES)
        seen[source.source_id] += 1
    return opens
