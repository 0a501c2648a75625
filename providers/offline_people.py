"""What the offline model does with a name: find its people, and let the user choose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from config import prompt_files
from config.prompt_files import phrase
from providers.offline_listing import is_about_them
from providers.offline_records import line
from providers.offline_steps import REPLY, Step, language_of, questions, read_result, results_of

FIND = "find_person"
CHOOSE = "choose_person"
_NAME_WORD = re.compile(r"[^\W\d_][\w'’.-]*")
_AFFIX = re.compile(r"^(?:[dl]|qu)['’](?=\w)|['’]s$", re.IGNORECASE)
"""What French puts before a name and English after it."""
_ARTICLE = re.compile(r"\b(?:the|our|le|la|les|l|der|die|das|unser\w*)\W*$", re.IGNORECASE)
_OFFICE = re.compile(r"(?<!van )(?<!von )\b(?:der|den|des|du)\b", re.IGNORECASE)
"""Makes an office of two nouns: "Vorsitzender des Betriebsrats", "Leiter der Werft"."""
_MIN_WORD_CHARS = 4
_PARTICLES = frozenset({"le", "la", "de", "du", "des", "van", "von", "der", "den", "zu", "al"})


def next_person_step(messages: Sequence[BaseMessage], tools: frozenset[str]) -> Step:
    """Look the name up; of several people let the user choose where the client can."""
    locale = language_of(messages)
    chosen = results_of(messages, "choose_person")
    if chosen and "chosen" in chosen[-1]:
        return REPLY if tools else Step(text=_chosen(chosen[-1]["chosen"], locale))
    found = results_of(messages, "find_person")
    asked = questions(messages)
    latest = asked[-1] if asked else ""
    shown = _shown_before(messages) if is_about_them(latest) and not found else ""
    if shown:
        return REPLY if tools else Step(text=f"{phrase('offline_person', locale)}\n\n{shown}")
    people = _narrowed(found[-1].get("people", []) if found else [], latest)
    if tools:
        if found:
            if len(people) > 1 and "choose_person" in tools and not chosen:
                ids = [str(one["id"]) for one in people]
                return Step(call="choose_person", arguments={"person_ids": ids})
            return REPLY
        name = name_in(latest)
        if name and "find_person" in tools:
            return Step(call="find_person", arguments={"name": name})
        return REPLY
    if not found:
        return Step(text=phrase("offline_which_name", locale))
    if not people:
        return Step(text=phrase("offline_no_person", locale))
    intro = "offline_person" if len(people) == 1 else "offline_people"
    return Step(text="\n".join([phrase(intro, locale), "", *(line(one) for one in people)]))


def _shown_before(messages: Sequence[BaseMessage]) -> str:
    """The record of the person who was chosen, or found alone; empty when there was none."""
    for message in reversed(messages):
        if not isinstance(message, ToolMessage) or message.name not in (CHOOSE, FIND):
            continue
        result = read_result(message)
        if message.name == FIND:
            people = result.get("people") or []
            return line(people[0]) if len(people) == 1 else ""
        if result.get("chosen"):
            return _record(result["chosen"])
    return ""


def _narrowed(people: Sequence[dict[str, Any]], question: str) -> list[dict[str, Any]]:
    """Those whose role, team or place the question names; all where it names none of them."""
    asked = set(_words(question))
    told = [
        asked & (_words_of(one, ("role", "team", "place")) - _words_of(one, ("title",)))
        for one in people
    ]
    return [one for one, words in zip(people, told, strict=True) if words] or list(people)


def _words_of(person: dict[str, Any], fields: Sequence[str]) -> set[str]:
    return {word for field in fields for word in _words(str(person.get(field, "")))}


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) >= _MIN_WORD_CHARS]


def name_in(text: str) -> str:
    """The longest run of words that can be a name, particles inside it included.

    Capital letters tell a name; a message without any may be written in small letters throughout,
    and then what remains of it without the words of every such question is the name.
    """
    runs = _runs(text, capitals=True)
    if not runs and text == text.lower():
        runs = _runs(text, capitals=False)
    return max(runs, key=lambda name: len(name.split()), default="")


def full_name(text: str) -> str:
    """A name of two words at least that ends a message, as in "Who is Jory Nance?".

    "Who is the Data Protection Officer?" has an article before it and names nobody.
    """
    name = max(_runs(text, capitals=True), key=lambda run: len(run.split()), default="")
    before, _, after = text.partition(name) if name else ("", "", "")
    articled = re.search(
        r"\b(?:the|our|le|la|les|l|der|die|das|unser\w*)\W*$", before, re.IGNORECASE
    )
    ends = not re.search(r"\w", after)
    office = _OFFICE.search(name)
    return name if len(name.split()) > 1 and ends and not articled and not office else ""


def _runs(text: str, *, capitals: bool) -> list[str]:
    no_names = frozenset(prompt_files.table("names")["no_names"])
    runs: list[list[str]] = [[]]
    for word in _NAME_WORD.findall(text):
        bare = _AFFIX.sub("", word.strip(".'’-"))
        folded = bare.casefold().replace("’", "'")
        big = bare[:1].isupper() or not capitals
        named = big and folded not in no_names
        joins = folded in _PARTICLES and (big or bool(runs[-1]))
        if named or joins:
            runs[-1].append(bare)
        elif runs[-1]:
            runs.append([])
    names = [_without_trailing_particles(run) for run in runs]
    return [" ".join(name) for name in names if name]


def _without_trailing_particles(run: list[str]) -> list[str]:
    while run and run[-1].casefold() in _PARTICLES:
        run = run[:-1]
    return run


def _chosen(person: dict[str, Any] | None, locale: str) -> str:
    if person is None:
        return phrase("offline_none_of_them", locale)
    return f"{phrase('offline_person', locale)}\n\n{_record(person)}"


def _record(person: dict[str, Any]) -> str:
    text = person.get("text")
    return f"{line(person)}\n\n{text}" if text else line(person)
