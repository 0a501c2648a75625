"""What a question to a catalogue looks for: its content words, and the conditions that it names."""

from __future__ import annotations

import calendar
import re
from datetime import date
from functools import cache
from typing import Any

from config import prompt_files

_WORD = re.compile(r"[\w'’+#-]+")
_ELISION = re.compile(r"^(?:qu|[dljmnst])['’](?=\w)", re.IGNORECASE)
_ABBREVIATION = re.compile(r"[A-ZÄÖÜ]{2,5}")
_PLACE = re.compile(
    r"\b(?:in|at|near|à|au|bei|nach|aus)\s+((?:[A-ZÀ-ÖØ-Þ][\w'’-]+)(?:\s+[A-ZÀ-ÖØ-Þ][\w'’-]+)*)"
)
_ONLY_FROM = frozenset({"from", "starting", "dès", "partir", "ab", "seit", "since"})


def content(question: str) -> str:
    """A question's words without those that every question to a catalogue has.

    Capital letters tell the abbreviation "IT" from the word "it".
    """
    kept = []
    for word in _WORD.findall(question):
        bare = _ELISION.sub("", word)
        if _ABBREVIATION.fullmatch(bare) or bare.casefold() not in _noise():
            kept.append(bare)
    return " ".join(kept)


def possible_place(question: str) -> str:
    """What a question names with a capital letter after "in" or "à"; empty where it names nothing.

    It need not be a place: German writes every noun so. Whoever asks checks it against the data.
    """
    found = _PLACE.search(question)
    return found[1] if found and found.start() > 0 and not _month_in(found[0]) else ""


def without(text: str, words: str) -> str:
    """``text`` without the given words."""
    gone = set(words.casefold().split())
    return " ".join(word for word in text.split() if word.casefold() not in gone)


def period(question: str, today: str) -> tuple[dict[str, str], str]:
    """The filter for a month that a question names, and the words that named it.

    A month without a year is the next one of its name. "From March" has no end.
    """
    found = _months().search(question)
    if not found or not today:
        return {}, ""
    month = _month_in(found[0])
    asked = date.fromisoformat(today)
    year = int(found["year"]) if found["year"] else asked.year + (month < asked.month)
    first = date(year, month, 1)
    fields = {"starts_from": first.isoformat()}
    if found["lead"].casefold().split()[-1] not in _ONLY_FROM:
        last = calendar.monthrange(year, month)[1]
        fields["starts_to"] = first.replace(day=last).isoformat()
    return fields, f"{found['name']} {found['year'] or ''}".strip()


def spoken(question: str) -> tuple[str, str]:
    """The language that a person shall speak, and the word that named it; empty where none is."""
    plain = question.casefold()
    if not re.search(_catalogue()["speaking"], plain):
        return "", ""
    for code, names in _catalogue()["languages"].items():
        for name in names:
            if re.search(rf"\b{name}\b", plain):
                return code, name
    return "", ""


def _month_in(text: str) -> int:
    words = re.findall(r"\w+", text.casefold())
    names = _catalogue()["months"]
    return next((at for at, month in enumerate(names, 1) if set(month) & set(words)), 0)


@cache
def _months() -> re.Pattern[str]:
    names = "|".join(name for month in _catalogue()["months"] for name in month)
    return re.compile(
        rf"\b(?P<lead>in|from|starting(?:\s+in)?|since|en|dès|à\s+partir\s+de|im|ab|seit)\s+"
        rf"(?P<name>{names})\b(?:\s+(?P<year>20\d\d))?",
        re.IGNORECASE,
    )


@cache
def _noise() -> frozenset[str]:
    return frozenset(_catalogue()["noise"])


def _catalogue() -> dict[str, Any]:
    return prompt_files.table("catalogue")
