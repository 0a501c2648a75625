"""Decisions of the offline model: nearest examples, and explicit rules for what is blocked.

A text's score for a choice blends its similarity to the nearest example, to the three nearest and
to the description. A choice with a rule that matches wins at once. The first choice of a question
is its ordinary one: another wins only with a margin, because a wrong refusal costs a user more
than a missed nuance where no model writes anything of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from providers.embedding import Embedder
from providers.interface import Decision, Question

NEAREST, NEAR_THREE, DESCRIPTION = 0.6, 0.3, 0.1
MARGIN = {"guardrail": {"doubt": 0.06, "block": 0.04}}
MINIMUM = {"guardrail": {"doubt": 0.38, "block": 0.34}}
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


class OfflineDecider:
    """Lives with the process; a question's examples are embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._examples: dict[str, list[tuple[str, NDArray[np.float32], NDArray[np.float32]]]] = {}

    async def decide(self, question: Question, latest: str) -> Decision:
        lowered = latest.lower()
        for value, patterns in question.rules.items():
            if any(re.search(pattern, lowered) for pattern in patterns):
                return Decision(value=value, probabilities={value: 1.0})
        scores = await self._scores(question, latest)
        ordinary = question.choices[0].value
        chosen = max(scores, key=lambda value: scores[value])
        margin = MARGIN.get(question.name, {}).get(chosen, 0.0)
        minimum = MINIMUM.get(question.name, {}).get(chosen, -1.0)
        if scores[chosen] < max(minimum, scores[ordinary] + margin):
            chosen = ordinary
        return Decision(value=chosen, probabilities=_shares(scores))

    async def _scores(self, question: Question, latest: str) -> dict[str, float]:
        """The best score of the whole text and of each of its sentences, a choice."""
        sentences = [part for part in _SENTENCE.split(latest.strip()) if len(part) > 12]
        texts = [latest] if len(sentences) < 2 else [latest, *sentences]
        vectors = np.asarray(await self._embedder.embed(texts), dtype=np.float32)
        scores: dict[str, float] = {}
        for value, description, examples in await self._prepared(question):
            near = np.sort(examples @ vectors.T, axis=0)[::-1]
            per_text = (
                NEAREST * near[0]
                + NEAR_THREE * near[:3].mean(axis=0)
                + DESCRIPTION * (vectors @ description)
            )
            scores[value] = float(per_text.max())
        return scores

    async def _prepared(
        self, question: Question
    ) -> list[tuple[str, NDArray[np.float32], NDArray[np.float32]]]:
        key = f"{question.name}:{','.join(choice.value for choice in question.choices)}"
        if key not in self._examples:
            prepared = []
            for choice in question.choices:
                texts: Sequence[str] = choice.examples or (choice.description,)
                vectors = np.asarray(
                    await self._embedder.embed([choice.description, *texts]), dtype=np.float32
                )
                prepared.append((choice.value, vectors[0], vectors[1:]))
            self._examples[key] = prepared
        return self._examples[key]


def _shares(scores: dict[str, float]) -> dict[str, float]:
    """Scores as shares of one, for logs only."""
    floored = {value: max(0.0, score) for value, score in scores.items()}
    total = sum(floored.values()) or 1.0
    return {value: round(score / total, 4) for value, score in floored.items()}
