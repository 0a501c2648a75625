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
_ADDRESSED = r"""^\s*(?:and\s+|et\s+|und\s+|but\s+|mais\s+|aber\s+)?
      (?:please,?\s+|bitte\s+|s'il\s+te\s+plaît,?\s+)?
      (?:(?:can|could|would)\s+you\s+(?:please\s+)?)?(?:(?:peux|pourrais)-tu\s+)?"""
_FORGETTING = r"""(?:(?:forget|oublie[rz]?|vergiss)\b(?!\s+(?:nicht|pas))
      |(?:stop|quit)\s+remembering|(?:don't|do\s+not|no\s+longer)\s+remember(?=\s+(?:that|what))
      |ne\s+(?:retiens|retenez|note)\s+(?:plus|pas)|arrête[rz]?\s+de\s+retenir
      |ne\s+te\s+souviens\s+plus
      |merke?\s+dir\s+(?:bitte\s+)?nicht(?:\s+(?:mehr|länger))?
      |(?:behalte|speichere?|notiere?)\s+(?:bitte\s+)?nicht(?:\s+mehr)?(?=,?\s+dass)
      |(?:erase|delete|remove|efface[rz]?|supprime[rz]?|lösche?)
       (?=\s+(?:bitte\s+)?(?:everything|all|what|tout|ce|alles|was)\b.*\b(?:me|moi|mich|mir)\b))"""
_FORGET = re.compile(
    rf"""{_ADDRESSED}{_FORGETTING}
      (?:\s+(?:bitte|please))?,?(?:\s+(?:that|what\s+i\s+(?:said|told\s+you)(?:\s+about)?|about
        |que|ce\s+que\s+j'ai\s+dit\s+(?:sur|de)|dass|was\s+ich\s+(?:über|zu)))?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_ALL = re.compile(
    rf"""{_ADDRESSED}{_FORGETTING}(?:\s+(?:bitte|please|s'il\s+te\s+plaît))?,?\s+
      (?:about\s+)?(?:everything|all(?:\s+(?:of\s+it|of\s+that|you|that|what|about))?\b|tout(?!\s+l)|alles
        |me\W*$|(?:what\s+you|ce\s+que\s+tu|was\s+du)\b.*\b(?:me|moi|mich|mir)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_ABOUT_SOMETHING = re.compile(
    r"\b(?:about|sur|über)\s+(?!(?:me|myself|moi|mich)\b)(.+)$", re.IGNORECASE
)
_ASKS_WHAT = re.compile(
    r"""\b(?:what\s+(?:else\s+)?(?:do|did|have)\s+you\s+(?:\w+\s+)?(?:remember\w*|know|noted|stored|saved|kept)
      |do\s+you\s+(?:\w+\s+)?(?:remember|know)\s+anything
      |(?:que|quoi|qu'est-ce\s+que|ce\s+que)\b.{0,12}\b(?:sais|retiens|connais|souviens|retenu|noté|gardé)
      |te\s+souviens-tu|was\s+(?:weißt|weisst)\s+du|was\s+hast\s+du\s+(?:dir\s+)?(?=.*(?:gemerkt|gespeichert|notiert))
      |(?:woran|was)\s+erinnerst\s+du)\b
      .*\b(?:me|myself|moi|mich|mir)\b(?:\s+(?:noch|alles|gemerkt|gespeichert|notiert|weißt|please|bitte))*\W*$
      |^\W*what\s+do\s+you\s+remember\W*$|^\W*que\s+retiens-tu\W*$|^\W*was\s+hast\s+du\s+dir\s+gemerkt\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_HALVES = re.compile(r"^(i|je|ich)\s+(.+?),?\s+(?:and|et|und)\s+(.+)$", re.IGNORECASE)
_BEGINS = re.compile(r"^(?:i|my|je|j'|mon|ma|mes|ich|mein\w*)\b", re.IGNORECASE)
_VOWEL = re.compile(r"^[aeiouhéèêà]", re.IGNORECASE)
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
    """What a retraction is about, empty when it is about all.

    "Forget all I said about Brest" is about Brest.
    """
    if not _ALL.match(sentence):
        return _FORGET.sub("", sentence)
    something = _ABOUT_SOMETHING.search(sentence)
    return something[1] if something else ""


def asks_what_is_remembered(text: str) -> bool:
    """Whether a message asks for what is remembered about its author."""
    return bool(_ASKS_WHAT.search(text.replace("’", "'")))


def facts_in(sentence: str) -> list[str]:
    """The facts that a sentence tells: "I am Zoe and live in Brest" tells two of them."""
    fact = told(sentence)
    halves = _HALVES.match(fact)
    if halves:
        subject, first, second = halves.groups()
        if not _BEGINS.match(second):
            elided = subject.casefold() == "je" and _VOWEL.match(second)
            second = f"J'{second}" if elided else f"{subject} {second}"
        apart = [f"{subject} {first}", second[:1].upper() + second[1:]]
        rules = [lasting_rule(one) for one in apart]
        if None not in rules and rules[0] != rules[1]:
            return apart
    return [fact]


def single_matters(fact: str) -> set[str]:
    """What a fact says of which a person has one at a time: a home, a name, hours of work."""
    return {name for name, pattern in _singles() if pattern.search(fact)}


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


@cache
def _singles() -> list[tuple[str, re.Pattern[str]]]:
    singles: dict[str, str] = prompt_files.table("memory")["single"]
    return [(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in singles.items()]


def _compiled(patterns: Sequence[str]) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
