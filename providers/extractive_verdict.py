"""Whether a finding answers its question at all, and whether a second one belongs beside it.

The chance is a logistic function of two measures: how near the best sentence is in meaning, and
how much of the question's telling words its place holds. It was fitted on about 130 questions with
and without an answer, in three languages, about a company's handbook and a software manual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from providers.extractive import Finding

MEANING_FACTOR, HELD_FACTOR, OFFSET = 4.6, 5.8, -5.1

ANSWER = 0.40
"""The chance from which a finding is quoted: about one in ten questions that the sources do not
answer is answered wrongly, and most that they do are answered."""

SURE = 0.85
"""The chance from which nothing more is read."""

SECOND_WITHIN = 0.10
"""How near a second finding's score must be: two pages that disagree are then quoted together."""


def chance(finding: Finding) -> float:
    """The estimated probability that the finding answers the question."""
    evidence = MEANING_FACTOR * finding.meaning + HELD_FACTOR * finding.soft + OFFSET
    return 1.0 / (1.0 + math.exp(-evidence))


def quotable(found: Sequence[Finding]) -> list[Finding]:
    """The best finding, if it answers, and a second one that may be as good.

    Args:
        found: best first.
    """
    chosen = [finding for finding in found[:1] if chance(finding) >= ANSWER]
    for other in found[1:]:
        if not chosen or len(chosen) > 1:
            break
        near = other.score >= chosen[0].score - SECOND_WITHIN
        if near and chance(other) >= ANSWER and not _repeats(other, chosen[0]):
            chosen.append(other)
    return chosen


def _repeats(one: Finding, other: Finding) -> bool:
    first, second = (" ".join(finding.unit.text.split()) for finding in (one, other))
    return first in second or second in first
