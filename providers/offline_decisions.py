"""Decisions of the offline model: explicit rules, then a classifier fitted from the examples.

People in distress come before everything but a rule against harm to others: they are never refused.
A rule of a choice that matches decides at once, in the order of the question; a rule of the
ordinary choice, the first, only makes that choice weigh more. Another choice of the gate wins with
a margin alone, because a wrong refusal costs a user more than a missed nuance where no model
writes anything of its own.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from providers.embedding import Embedder
from providers.interface import Decision, Question
from providers.offline_classifier import ExampleClassifier
from providers.offline_distress import in_distress
from providers.offline_openings import substance
from providers.offline_vectors import RememberedVectors

MARGINS = {
    "guardrail_decision": {"doubt": 0.20, "block": 0.08},
    "supervisor_decision": dict.fromkeys(
        (
            "opportunity_search",
            "training_search",
            "talent_search",
            "person_disambiguation",
            "profile_analysis",
            "task_guidance",
        ),
        0.08,
    ),
    "knowledge_intent": {"distress": 0.15},
}
"""By how much a choice must exceed the ordinary one. Set on questions that are not among the
examples, so that at most two in a hundred ordinary ones are refused."""

SENTENCE_MARGIN = 0.30
"""What is added to the margin where a single sentence of a longer text decides."""

ORDINARY_RULE = 0.45
"""What a matching rule of the ordinary choice adds to its score."""

JOINT_MARGIN = 0.60
"""By how much all other choices together must exceed the ordinary one. A text between doubt and
block belongs to one of them, although neither is far ahead. Only where a question has margins."""

HARM = "block"
"""The choice whose rules come even before distress: a message may want both."""

DISTRESS_IS_ORDINARY = frozenset({"guardrail_decision", "supervisor_decision"})
"""Questions whose ordinary choice belongs to people in distress: allowed, and to career chat."""

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_MIN_SENTENCE_CHARS = 12


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A question's classifier and its rules, compiled."""

    classifier: ExampleClassifier
    rules: dict[str, tuple[re.Pattern[str], ...]]


class OfflineDecider:
    """Lives with the process; a question's examples are embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # Tenants choose among different specialists: what two questions share is embedded once.
        self._examples = RememberedVectors(embedder)
        self._prepared: dict[str, _Prepared] = {}
        self._preparing = asyncio.Lock()

    async def decide(self, question: Question, latest: str) -> Decision:
        prepared = await self._prepare(question)
        text = substance(latest)
        ordinary = question.choices[0].value
        ruled = _ruled(prepared, latest)
        suffers = question.name in DISTRESS_IS_ORDINARY and in_distress(_plain(latest))
        if suffers and HARM not in ruled:
            return Decision(value=ordinary, probabilities={ordinary: 1.0})
        for value in ruled:
            if value != ordinary:
                return Decision(value=value, probabilities={value: 1.0})
        scores = await self._scores(prepared, text)
        bonus = ORDINARY_RULE if ordinary in ruled else 0.0
        values = [choice.value for choice in question.choices]
        margins = MARGINS.get(question.name, {})
        leads = {
            value: _lead(scores, column) - bonus
            for column, value in enumerate(values)
            if column > 0
        }
        far = [value for value in leads if leads[value] > margins.get(value, 0.0)]
        joint = scores[0, 1:].sum() - scores[0, 0] - bonus
        if not far and margins and joint > JOINT_MARGIN:
            far = list(leads)
        chosen = max(far, key=leads.__getitem__, default=ordinary)
        return Decision(value=chosen, probabilities=_shares(values, scores[0]))

    async def _scores(self, prepared: _Prepared, text: str) -> NDArray[np.float64]:
        """Scores of the whole text, and in the rows after it of each of its sentences."""
        sentences = [s for s in _SENTENCE.split(text.strip()) if len(s) > _MIN_SENTENCE_CHARS]
        texts = [text] if len(sentences) < 2 else [text, *sentences]
        vectors = np.asarray(await self._embedder.embed(texts), dtype=np.float64)
        return prepared.classifier.scores(vectors)

    async def _prepare(self, question: Question) -> _Prepared:
        key = f"{question.name}:{','.join(choice.value for choice in question.choices)}"
        async with self._preparing:
            if key not in self._prepared:
                texts: list[str] = []
                labels: list[int] = []
                for label, choice in enumerate(question.choices):
                    examples = choice.examples or (choice.description,)
                    texts += examples
                    labels += [label] * len(examples)
                vectors = np.asarray(await self._examples.of(texts), dtype=np.float64)
                classifier = ExampleClassifier(vectors, labels, len(question.choices))
                rules = {
                    value: tuple(re.compile(pattern) for pattern in patterns)
                    for value, patterns in question.rules.items()
                }
                self._prepared[key] = _Prepared(classifier, rules)
        return self._prepared[key]


def _ruled(prepared: _Prepared, text: str) -> list[str]:
    """The choices that have a matching rule, in the order of the question's rules."""
    plain = _plain(text)
    return [
        value
        for value, patterns in prepared.rules.items()
        if any(pattern.search(plain) for pattern in patterns)
    ]


def _plain(text: str) -> str:
    """What rules are matched with: lower case, plain apostrophes, single blanks."""
    return " ".join(text.lower().replace("’", "'").split())


def _lead(scores: NDArray[np.float64], column: int) -> float:
    """How far a choice is ahead of the ordinary one, in the whole text or in one sentence."""
    leads = scores[:, column] - scores[:, 0]
    leads[1:] -= SENTENCE_MARGIN
    return float(leads.max())


def _shares(values: list[str], scores: NDArray[np.float64]) -> dict[str, float]:
    """Scores as shares of one, for logs only."""
    floored = np.maximum(scores, 0.0)
    total = float(floored.sum()) or 1.0
    return {
        value: round(float(score) / total, 4) for value, score in zip(values, floored, strict=True)
    }
