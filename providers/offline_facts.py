"""Sentences that tell something lasting about their author, or take it back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from config import prompt_files

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_ASKING = re.compile(
    r"""^\s*(?:and\s+|et\s+|und\s+)?(?:please\s+|bitte\s+)?(?:(?:remember|note)\s+(?:that|this)|don't\s+forget\s+that
      |retiens\s+que|souviens-toi\s+que|note\s+que|n'oublie\s+pas\s+que
      |(?:merke?\s+dir|notiere?|vergiss\s+nicht)(?:\s+bitte)?,?\s+dass)[\s:,]+""",
    re.IGNORECASE | re.VERBOSE,
)
_FORGET = re.compile(
    r"""^\s*(?:and\s+|et\s+|und\s+|but\s+|mais\s+|aber\s+)?(?:please\s+|bitte\s+|s'il\s+te\s+plaît,?\s+)?
      (?:(?:can|could|would)\s+you\s+(?:please\s+)?)?(?:(?:peux|pourrais)-tu\s+)?
      (?:forget|oublie[rz]?|vergiss)\b(?!\s+(?:nicht|pas))
      (?:\s+bitte)?,?(?:\s+(?:that|what\s+i\s+(?:said|told\s+you)(?:\s+about)?|about
        |que|ce\s+que\s+j'ai\s+dit\s+(?:sur|de)|dass|was\s+ich\s+(?:über|zu)))?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_ALL = re.compile(r"\b(?:everything|all\s+(?:of\s+it|you\s+know|that)|tout|alles)\b", re.IGNORECASE)
_VERB_LAST = re.compile(r"^ich\s+([^,]+?)\s+(\w+)([.!]?)$", re.IGNORECASE)
_FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i've|i'd|me|my|je|j|mon|ma|mes|moi|ich|mein\w*|mir|mich)\b", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """The sentences of a message, with plain apostrophes."""
    return _SENTENCE.split(text.replace("’", "'").strip())


def is_retraction(sentence: str) -> bool:
    """Whether a sentence asks to forget something; "what if I forget my badge?" does not."""
    return bool(_FORGET.match(sentence))


def retracted(sentence: str) -> str:
    """What a retraction is about, empty when it is about all."""
    matter = _FORGET.sub("", sentence)
    return "" if _ALL.search(matter) else matter


def lasting_rule(sentence: str) -> str | None:
    """The rule by which a sentence is a lasting fact about its author; ``None`` when it is none.

    What is asked to be remembered needs no other rule. Questions are never facts, and some matters
    are never remembered.
    """
    if not _FIRST_PERSON.search(sentence) or sentence.rstrip().endswith("?"):
        return None
    lasting, never = _rules()
    if any(pattern.search(sentence) for pattern in never):
        return None
    matching = (pattern.pattern for pattern in lasting if pattern.search(told(sentence)))
    return next(matching, _ASKING.pattern if _ASKING.match(sentence) else None)


def told(sentence: str) -> str:
    """A sentence as a fact: without "remember that", whose German clause has its verb last."""
    fact = _ASKING.sub("", sentence).strip()
    asking = sentence.strip()[: -len(fact)] if fact else ""
    if re.search(r"dass[\s:,]+$", asking):
        verb_last = _VERB_LAST.match(fact)
        if not verb_last:
            return sentence.strip()
        fact = f"Ich {verb_last[2]} {verb_last[1]}{verb_last[3]}"
    return fact[:1].upper() + fact[1:]


def tells_of_author(text: str) -> bool:
    """Whether a message tells something about its author, or takes it back."""
    return any(_is_about_author(one) for one in sentences(text))


def besides(text: str) -> str:
    """What a message says beside telling something about its author."""
    return " ".join(one for one in sentences(text) if not _is_about_author(one))


def _is_about_author(sentence: str) -> bool:
    return is_retraction(sentence) or lasting_rule(sentence) is not None


@cache
def _rules() -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    table = prompt_files.table("memory")
    return _compiled(table["rules"]["update"]), _compiled(table["unremembered"]["patterns"])


def _compiled(patterns: Sequence[str]) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
