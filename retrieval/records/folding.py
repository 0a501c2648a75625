"""How a filter's word meets a record's: without case, accents and punctuation, by whole words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

RUN_WORDS = 6
"""The longest run of a value's words that is matched beside the whole value."""

_LETTERS = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d"})
# C++ and C# are skills: the signs stay.
_WORD = re.compile(r"[\w+#]+")


def folded(text: str) -> str:
    """``text`` as it is compared: its words in lower case without accents, one space apart; empty
    when it has no letter or digit."""
    # Decomposed first: a letter may only then show that it has a lower case.
    lower = unicodedata.normalize("NFKD", text).casefold().translate(_LETTERS)
    plain = unicodedata.normalize("NFKD", lower)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(_WORD.findall(plain))


def runs(values: Iterable[str]) -> list[str]:
    """What a filter may say to find one of ``values``: the whole, or words that follow each other
    in it, so that "Brest" finds "Ponton 4, Brest" and "welding" finds "MIG welding"."""
    found: set[str] = set()
    for value in values:
        words = folded(value).split()
        found.add(" ".join(words))
        for start in range(len(words)):
            for end in range(start + 1, min(start + RUN_WORDS, len(words)) + 1):
                found.add(" ".join(words[start:end]))
    return sorted(found - {""})
