"""Routing that needs no classifier: what goes on with a list, who somebody with a name is, and
what a user only tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from providers.interface import Decision, Question
from providers.offline_documents import reads_document
from providers.offline_facts import asks_what_is_remembered, besides, tells_of_author
from providers.offline_listing import (
    asks_for_more,
    ids_in,
    is_about_one,
    is_about_them,
    is_named,
    letters_of,
    searches_elsewhere,
)
from providers.offline_people import CHOOSE, FIND, full_name

ROUTING = "supervisor_decision"
LISTING = {
    "search_opportunities": "opportunity_search",
    "search_trainings": "training_search",
    "search_people": "talent_search",
}
"""Tools whose results are lists that a user goes on with, and whose they are."""
PERSON = "person_disambiguation"
TALENT = "talent_search"
SHOWING = {FIND: PERSON, CHOOSE: PERSON, "get_public_profile": TALENT}
"""Tools whose results are people that a user asks more about, and whose they are."""
CAREER = "career_chat"

_WHO = re.compile(
    r"""^\W*(?:who(?:'s|\s+is|\s+exactly\s+is)|(?:c'est\s+)?qui(?:\s+est|,)
      |wer(?:\s+genau)?\s+ist(?:\s+(?:denn|eigentlich))?)\s""",
    re.IGNORECASE | re.VERBOSE,
)


def stay(question: Question, evidence: str, latest: str) -> Decision | None:
    """Where a message goes that only makes sense with what was shown before, or that asks who
    somebody of a full name is, or that only tells of its author, or that asks what is remembered
    or what a document says: an encoder of meaning knows none of it."""
    if question.name != ROUTING:
        return None
    choices = {choice.value for choice in question.choices}
    seen = json.loads(evidence)
    recent = seen.get("recent_messages") or ()
    current = seen.get("current_agent")
    chosen = _listed(recent, latest) or _numbered_alike(recent, latest)
    if chosen is None and is_about_them(latest) and current == _person_shown(recent):
        chosen = current
    if chosen is None and current in LISTING.values() and _goes_on(latest):
        chosen = current
    if chosen is None and _WHO.match(latest.replace("’", "'")) and full_name(latest):
        chosen = PERSON
    told = tells_of_author(latest) and not besides(latest)
    if chosen is None and (told or asks_what_is_remembered(latest) or reads_document(latest)):
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


def _numbered_alike(recent: Sequence[dict[str, Any]], latest: str) -> str | None:
    """The specialist of the catalogue whose shown ids begin like one that a message names."""
    asked = {letters_of(one) for one in ids_in(latest)}
    for message in reversed(recent if asked else ()):
        tool = str(message.get("tool", ""))
        specialist = TALENT if tool == FIND else LISTING.get(tool)
        shown = _results(str(message.get("text", "")))
        if specialist and asked & {letters_of(str(record["id"])) for record in shown}:
            return specialist
    return None


def _person_shown(recent: Sequence[dict[str, Any]]) -> str | None:
    """The specialist that showed a person last."""
    tools = (SHOWING.get(str(message.get("tool", ""))) for message in reversed(recent))
    return next((specialist for specialist in tools if specialist), None)


def _results(text: str) -> Iterator[dict[str, Any]]:
    """The records or people of a search's result; a limit's error text holds none."""
    try:
        result = json.loads(text)
    except json.JSONDecodeError:
        return
    if isinstance(result, dict):
        yield from result.get("results") or result.get("people") or ()
