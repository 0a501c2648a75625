"""Whether a finding answers its question at all, and whether a second one belongs beside it.

The chance is a logistic function of two measures: how near the best sentence is in meaning, and
how much of the question's telling words its place holds. It was fitted on about 130 questions with
and without an answer, in three languages, about a company's handbook and a software manual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from providers.extractive import Finding
from providers.extractive_words import STEM_CHARS, stem, words

MEANING_FACTOR, HELD_FACTOR, OFFSET = 4.6, 5.8, -5.1

ANSWER = 0.43
"""The chance from which a finding is quoted: of the questions that the sources do not answer
about one in eight is answered all the same, of those that they do answer about two in three are."""

SURE = 0.85
"""The chance from which a finding only needs to be compared with what other pages say."""

OTHER_WITHIN, SAME_WITHIN = 0.12, 0.04
"""How near the score of a second finding must be, from another source and from the same one: pages
that disagree are quoted together, while a page's own next paragraph seldom adds anything."""

SECOND = 0.50
"""The chance that a second finding needs: it is shown beside an answer and must not dilute it."""

OUTDATED_MARGIN = 0.15
"""By how much a finding of a page that calls itself archived may be better and still lose against
an answer of a current one."""
SUCCESSOR_MARGIN = 0.40
"""The same for the page that the archived one names as its successor."""

_PLAIN_NAMES = frozenset({"guide", "page", "pages", "version", "document", "current", "seite"})


def chance(finding: Finding) -> float:
    """The estimated probability that the finding answers the question."""
    evidence = MEANING_FACTOR * finding.meaning + HELD_FACTOR * finding.held + OFFSET
    return 1.0 / (1.0 + math.exp(-evidence))


def quotable(found: Sequence[Finding]) -> list[Finding]:
    """The best finding, if it answers, and a second one that may be as good.

    Args:
        found: best first.
    """
    first = _first(found)
    if first is None:
        return []
    chosen = [first]
    for other in found[found.index(first) + 1 :]:
        if len(chosen) > 1:
            break
        if other.unit.source.outdated:
            continue
        same = other.unit.source.source_id == chosen[0].unit.source.source_id
        near = other.score >= chosen[0].score - (SAME_WITHIN if same else OTHER_WITHIN)
        if near and chance(other) >= SECOND and not _repeats(other, chosen[0]):
            chosen.append(other)
    return chosen


def _first(found: Sequence[Finding]) -> Finding | None:
    """The best finding if it answers; of an archived page only when no current one is near."""
    if not found or chance(found[0]) < ANSWER:
        return None
    if found[0].unit.source.outdated:
        current = [
            other
            for other in found[1:]
            if not other.unit.source.outdated and chance(other) >= ANSWER
        ]
        successors = [other for other in current if _succeeds(other, found[0])]
        for others, margin in ((successors, SUCCESSOR_MARGIN), (current, OUTDATED_MARGIN)):
            if others and others[0].score >= found[0].score - margin:
                return others[0]
    return found[0]


def _succeeds(one: Finding, archived: Finding) -> bool:
    """Whether the archived page names the other's title as what replaced it."""
    named = {stem(w) for w in words(archived.unit.source.successor) if w not in _PLAIN_NAMES}
    title = {stem(w) for w in words(one.unit.source.title)}
    return any(len(shared) >= STEM_CHARS for shared in named & title)


def _repeats(one: Finding, other: Finding) -> bool:
    first, second = (" ".join(finding.unit.text.split()) for finding in (one, other))
    return first in second or second in first
