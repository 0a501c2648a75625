"""What the offline model remembers: the user's own sentences, taken over word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.messages import BaseMessage

from providers.embedding import Embedder
from providers.labelled_data import read_labelled
from providers.offline_facts import (
    facts_in,
    is_retraction,
    lasting_rule,
    retracted,
    sentences,
    single_matters,
)
from providers.offline_steps import Step

SAME_MATTER = 0.62
"""From which similarity a new sentence replaces a fact."""

SAME_FRAME = 0.40
"""From which similarity it replaces one that the same rule found: "I moved to Brest" and "I moved
to Falmouth" differ in the one word that weighs most."""

MEANT = 0.40
"""From which similarity a retraction means a fact; the nearest one alone is dropped."""

_BESIDES = re.compile(r"\b(?:also|too|as\s+well|aussi|également|auch|außerdem)\b", re.IGNORECASE)
"""Says that something comes beside what was told before."""


class MemoryPolicy:
    """Keeps, replaces and drops whole sentences by how near they are."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def updated(self, messages: Sequence[BaseMessage]) -> Step:
        facts: list[dict[str, Any]] = list(read_labelled(messages, "facts") or [])
        about = read_labelled(messages, "conversation") or {}
        new = {"language": str(about.get("language", "en")), "since": str(about.get("date", ""))}
        for sentence in sentences(str(about.get("latest_user_text", ""))):
            if is_retraction(sentence):
                facts = await self._without(facts, retracted(sentence))
            elif lasting_rule(sentence) is not None:
                for fact in facts_in(sentence):
                    facts = await self._replaced(facts, {"text": fact, **new})
        return Step(call="FactList", arguments={"facts": facts})

    async def _without(self, facts: list[dict[str, Any]], matter: str) -> list[dict[str, Any]]:
        if not matter:
            return []
        near = await self._nearness(facts, matter)
        nearest = max(near, default=0.0)
        if nearest < MEANT:
            return facts
        return [fact for fact, one in zip(facts, near, strict=True) if one < nearest]

    async def _replaced(
        self, facts: list[dict[str, Any]], new: dict[str, Any]
    ) -> list[dict[str, Any]]:
        text = str(new["text"])
        if any(fact["text"] == text for fact in facts):
            return facts
        if _BESIDES.search(text):
            return [*facts, new]
        matters = single_matters(text)
        facts = [one for one in facts if not _said_anew(single_matters(str(one["text"])), matters)]
        near = await self._nearness(facts, text)
        rule = lasting_rule(text)
        kept = [
            fact
            for fact, one in zip(facts, near, strict=True)
            if one < (SAME_FRAME if lasting_rule(str(fact["text"])) == rule else SAME_MATTER)
        ]
        return [*kept, new]

    async def _nearness(self, facts: list[dict[str, Any]], sentence: str) -> list[float]:
        if not facts:
            return []
        texts = [sentence, *(str(fact["text"]) for fact in facts)]
        vectors = np.asarray(await self._embedder.embed(texts), dtype=np.float64)
        return [float(vector @ vectors[0]) for vector in vectors[1:]]


def _said_anew(before: set[str], now: set[str]) -> bool:
    """Whether all that a fact says of single matters is said anew, in whatever language."""
    return bool(before) and before <= now
