"""Routing that needs no classifier: what goes on with a list, who somebody with a name is, and
what a user only tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from providers.interface import Decision, Question
from providers.offline_facts import besides, tells_of_author
from providers.offline_listing import (
    asks_for_more,
    is_about_one,
    is_named,
    searches_elsewhere,
)
from providers.offline_people import full_name

ROUTING = "supervisor_decision"
LISTING = {
    "search_opportunities": "opportunity_search",
    "search_trainings": "training_search",
    "search_people": "talent_search",
}
"""Tools whose results are lists that a user goes on with, and whose they are."""
PERSON = "person_disambiguation"
CAREER = "career_chat"

_WHO = re.compile(
    r"""^\W*(?:who(?:'s|\s+is|\s+exactly\s+is)|(?:c'est\s+)?qui(?:\s+est|,)
      |wer(?:\s+genau)?\s+ist(?:\s+(?:denn|eigentlich))?)\s""",
    re.IGNORECASE | re.VERBOSE,
)


def stay(question: Question, evidence: str, latest: str) -> Decision | None:
    """Where a message goes that only makes sense with what was shown before, or that asks who
    somebody of a full name is, or that only tells of its author: an encoder of meaning knows none
    of it."""
    if question.name != ROUTING:
        return None
    choices = {choice.value for choice in question.choices}
    seen = json.loads(evidence)
    chosen = _listed(seen.get("recent_messages") or (), latest)
    current = seen.get("current_agent")
    if chosen is None and current in LISTING.values() and _goes_on(latest):
        chosen = current
    if chosen is None and _WHO.match(latest.replace("’", "'")) and full_name(latest):
        chosen = PERSON
    if chosen is None and tells_of_author(latest) and not besides(latest):
        chosen = CAREER
    return Decision(value=chosen, probabilities={chosen: 1.0}) if chosen in choices else None


def _goes_on(text: str) -> bool:
    return asks_for_more(text) or is_about_one(text) or searches_elsewhere(text)


def _listed(recent: Sequence[dict[str, Any]], latest: str) -> str | None:
    """The specialist that showed the record which a message names by its id or title."""
    for message in reversed(recent):
        specialist = LISTING.get(str(message.get("tool", "")))
        if specialist and any(
            is_named(latest, str(record["id"]), str(record["title"]))
            for record in _results(str(message.get("text", "")))
        ):
            return specialist
    return None


def _results(text: str) -> Iterator[dict[str, Any]]:
    """The records of a search's result; a limit's error text holds none."""
    try:
        result = json.loads(text)
    except json.JSONDecodeError:
        return
    if isinstance(result, dict):
        yield from result.get("results") or ()
