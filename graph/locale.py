"""The language of a reply: the request's locale, else the detected one, else the tenant's."""

from __future__ import annotations

import re
from typing import cast

from config.tenants import Locale
from retrieval.languages import UNKNOWN, language_of
from retrieval.stopwords import STOP_WORDS

CERTAIN = 0.6
CERTAIN_OF_ONE_WORD = 0.8
"""From which certainty a detected language decides. One word says little: "Moin" looks French."""

_WORD = re.compile(r"[^\W\d_]+")


def reply_locale(requested: Locale | None, text: str, default: Locale) -> Locale:
    if requested is not None:
        return requested
    words = _WORD.findall(text)
    # A capital inside a sentence begins a name: "Wer ist Marie Le Gall?" asks in German.
    small = [word.casefold() for place, word in enumerate(words) if not place or word[0].islower()]
    spoken = _by_small_words(small)
    if spoken is None:
        certainty = CERTAIN if len(words) > 1 else CERTAIN_OF_ONE_WORD
        spoken = language_of(text, certainty)
    return default if spoken == UNKNOWN else cast(Locale, spoken)


def _by_small_words(words: list[str]) -> str | None:
    """The language most of whose small words are used. In "Qu'est-ce que dpkg ?" they are all there
    is; a detector that weighs letters takes the name for German."""
    counts = sorted(
        (
            (sum(word in small for word in words), language)
            for language, small in STOP_WORDS.items()
        ),
        reverse=True,
    )
    (most, language), (second, _) = counts[0], counts[1]
    return language if most >= second + (2 if second else 1) else None
