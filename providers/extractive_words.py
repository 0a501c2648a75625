"""How much of what a question asks about a text holds, word by word.

A word counts by how rare it is: in the example questions of the prompts, which teach what every
question says ("how", "wie viele", "puis-je"), and in the delivered text, which teaches what every
page of this organisation says. A word is held to the degree that some word of the text means the
same, so that a French question may be answered by an English page.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from config import prompt_files
from providers.offline_vectors import RememberedVectors

STEM_CHARS = 5
MIN_WORD_CHARS = 3
UNRELATED = 0.35
"""The cosine at which two single words have nothing to do with each other in this encoder."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_ELISION = re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)['’]", re.IGNORECASE)
_EXAMPLE_FILES = ("guardrail", "specialists", "knowledge_intent")


def words(text: str) -> list[str]:
    """The words of a text once each, lower-cased, without elided articles and very short ones."""
    found = (_ELISION.sub("", word) for word in _WORD.findall(text.casefold()))
    return [word for word in dict.fromkeys(found) if len(word) >= MIN_WORD_CHARS or word.isdigit()]


@cache
def stem(word: str) -> str:
    """The first letters, without accents."""
    plain = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in plain if not unicodedata.combining(letter))[:STEM_CHARS]


@cache
def _example_counts() -> tuple[dict[str, int], int]:
    """In how many example questions each word stands, and how many there are."""
    texts = {
        example
        for name in _EXAMPLE_FILES
        for entry in prompt_files.table(name).values()
        if isinstance(entry, dict)
        for example in entry.get("examples", ())
    }
    counts = Counter(word for text in texts for word in words(text))
    return dict(counts), max(2, len(texts))


def rarity(word: str) -> float:
    """1 for a word that no example question has, near 0 for one that most have."""
    counts, total = _example_counts()
    return math.log(total / (0.5 + counts.get(word, 0))) / math.log(total / 0.5)


class WantedWords:
    """The words of one question with their weights, against the texts of one research.

    Args:
        question: what is asked.
        texts: all candidates; a stem that most of them hold tells nothing.
    """

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        self.words = words(question)
        self._stems = [stem(word) for word in self.words]
        self._held = [{stem(word) for word in words(text)} for text in texts]
        wanted = set(self._stems)
        frequency = Counter(found for held in self._held for found in held & wanted)
        count = len(texts)
        common = [
            math.log(1.0 + count / (1.0 + frequency[found])) / math.log(1.0 + count)
            for found in self._stems
        ]
        # Squared: a question has many middling words and few that say what it is about.
        self.weights: NDArray[np.float64] = np.array(
            [rarity(word) ** 2 * share for word, share in zip(self.words, common, strict=True)]
        )

    def literal(self) -> NDArray[np.float64]:
        """For each text the weighted share of the words that it holds by their stems."""
        total = float(self.weights.sum()) or 1.0
        shares = [
            sum(w for s, w in zip(self._stems, self.weights, strict=True) if s in held) / total
            for held in self._held
        ]
        return np.array(shares)

    async def matches(
        self, vectors: RememberedVectors, texts: Sequence[str]
    ) -> NDArray[np.float64]:
        """How far each wanted word is held by each text: 1 by its stem, else by its meaning.

        One row a text, one column a word.
        """
        held = [words(text) for text in texts]
        vocabulary = {word: at for at, word in enumerate(dict.fromkeys(w for h in held for w in h))}
        matches = np.zeros((len(texts), len(self.words)))
        if not self.words or not vocabulary:
            return matches
        near = (await vectors.of(self.words)) @ (await vectors.of(list(vocabulary))).T
        meant = np.clip((near - UNRELATED) / (1.0 - UNRELATED), 0.0, 1.0)
        for column, wanted in enumerate(self._stems):
            same = [at for word, at in vocabulary.items() if stem(word) == wanted]
            meant[column, same] = 1.0
        for row, found in enumerate(held):
            if found:
                matches[row] = meant[:, [vocabulary[word] for word in found]].max(axis=1)
        return matches

    def covered(self, matches: NDArray[np.float64]) -> float:
        """The weighted share of the words that is held."""
        total = float(self.weights.sum())
        return float(self.weights @ matches) / total if total else 0.0


def languages_of(texts: Iterable[str]) -> list[str | None]:
    """The language of each text by its commonest words; ``None`` when they do not tell."""
    return [_language(text) for text in texts]


_COMMON = {
    "en": "the and of to is are for with that this you your not from have can will be by or if it "
    "when which their who what how does must may at an on as",
    "fr": "le la les des et est une pour dans vous votre que qui sur par avec pas sont ce cette au "
    "aux du plus ou ne se il elle être comment quel quelle combien mon ma",
    "de": "der die das und ist ein eine für mit sie ihr nicht den dem des von zu im auf werden "
    "wird sich auch oder bei nach wie wenn kann ich wir zum zur wer was welche",
}
"""The commonest words of each language, which are enough to tell it in a paragraph."""


@cache
def _language(text: str) -> str | None:
    found = Counter(re.findall(r"\w+", text.casefold()))
    shares = {name: sum(found[word] for word in common.split()) for name, common in _COMMON.items()}
    ranked = sorted(shares, key=shares.__getitem__, reverse=True)
    return ranked[0] if shares[ranked[0]] > shares[ranked[1]] else None
