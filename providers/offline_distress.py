"""Messages of people who want to die, to harm themselves, or who can bear no more.

The gate must never answer them like an attack. What they say is matched by explicit rules, because
a few examples teach a classifier too little for something that must not be missed.
"""

from __future__ import annotations

import re
from functools import cache

from config import prompt_files

INTENT = "distress"

_HARASSED = re.compile(
    r"""\b(?:harassed|harass(?:es|ing)\s+(?:me|us|him|her|them)|bullied|bull(?:ies|ying)\s+(?:me|us
        |him|her|them)|mobbed
      | gemobbt|mobbt\s+mich|mobben\s+mich|belästigt
      | harcelée?s?|(?:fais|fait|font)\s+harceler|me\s+harcèle(?:nt)?)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def in_distress(plain: str) -> bool:
    """Whether a text, lower-cased and with plain apostrophes and blanks, speaks of distress."""
    return any(pattern.search(plain) for pattern in _patterns())


def is_harassed(text: str) -> bool:
    """Whether somebody is harassed or bullied, told as an event and not asked about as a topic."""
    return bool(_HARASSED.search(text))


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    rules = prompt_files.table("knowledge_intent")["rules"]
    return tuple(re.compile(pattern) for pattern in rules[INTENT])
