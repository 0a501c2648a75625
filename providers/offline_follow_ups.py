"""Messages that mean something only with the question before them.

"Try again" and "that is wrong" ask the earlier question once more; "and for part-timers?" asks it
of something else. What the assistant said in between is no evidence and is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SHORT_WORDS = 5
CONTINUATION_WORDS = 9
_MIN_ADDED_WORDS = 3

_RETRY = re.compile(
    r"""(?:
        (?:please\s+)?(?:try|look|check|search|ask)\s+(?:it\s+)?(?:up\s+)?(?:once\s+)?(?:again|more)
      | (?:that|this|it)(?:'s|\s+is|\s+was)\s+(?:wrong|incorrect|not\s+(?:right|true|correct|it
          |what\s+i\s+(?:asked|meant|wanted)(?:\s+for)?|the\s+(?:right\s+)?answer))
      | (?:that|this|it)\s+(?:isn't|wasn't|does(?:n't|\s+not)\s+(?:help|answer\s+my\s+question))
      | (?:are\s+you\s+sure|wrong\s+answer|not\s+what\s+i\s+(?:asked|meant)|once\s+more)
      | (?:ré)?essaie[rz]?\s+(?:encore|à\s+nouveau|de\s+nouveau)|réessaie[rz]?
      | (?:re)?(?:cherche|vérifie|regarde)[rz]?\s+(?:encore|à\s+nouveau|de\s+nouveau|mieux)
      | (?:c'est|c'était)\s+(?:faux|incorrect|pas\s+(?:ça|juste|vrai|ma\s+question|ce\s+que\s+je))
      | ce\s+n'est\s+pas\s+(?:ça|juste|vrai|correct|ma\s+question|la\s+(?:bonne\s+)?réponse
          |ce\s+que\s+(?:je|j'ai)\s*\w*)
      | (?:tu\s+es|vous\s+êtes)\s+sûre?|mauvaise\s+réponse|encore\s+une\s+fois
      | (?:das|es)\s+(?:stimmt|ist)\s+(?:so\s+)?(?:nicht(?:\s+richtig)?|falsch)
      | (?:das\s+)?(?:war|ist|meinte)\s+(?:\w+\s+){0,2}nicht\s+(?:gemeint|gefragt|meine\s+frage)
      | (?:versuch|such|schau|prüf|frag)\w*\s+(?:\w+\s+)?(?:noch\s*(?:ein)?mal|erneut)(?:\s+nach)?
      | noch\s*(?:ein)?mal(?:\s+bitte)?|bist\s+du\s+sicher|falsche\s+antwort
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LEAD = re.compile(
    r"\s*(?:(?:no|nope|but|please|sorry|hm+|non|mais|pardon|nein|aber|bitte)[\s,.!:;–-]+)*",
    re.IGNORECASE,
)
_CONTINUATION = re.compile(
    r"\s*(?:and|what about|how about|or|et|qu'en est-il|ou|und|oder|wie ist es|was ist mit)\b",
    re.IGNORECASE,
)
_WHOLE_QUESTION = re.compile(
    r"""\s*(?:how|what|when|where|who|whom|which|why|can|may|do|does|is|are|must|should
      |comment|que|quoi|quand|où|qui|quels?|quelles?|pourquoi|combien|puis-je|peut-on|est-ce|à\ qui
      |wie|was|wann|wo|wer|wem|welche[rsn]?|warum|kann|darf|muss|ist|gibt|bis\ wann)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def is_retry(text: str) -> bool:
    """Whether the user rejects an answer or wants the same once more, right from the start."""
    plain = text.replace("’", "'")
    lead = _LEAD.match(plain)
    starts = bool(_RETRY.match(plain, lead.end() if lead else 0))
    return starts and len(added(text).split()) <= CONTINUATION_WORDS


def is_continuation(text: str) -> bool:
    """Whether a short message leans on the question before it."""
    count = len(text.split())
    if _leans(text):
        return count <= CONTINUATION_WORDS
    return count <= SHORT_WORDS and not _WHOLE_QUESTION.match(text)


def added(text: str) -> str:
    """What a retry says beyond asking again, empty when that is little."""
    rest = " ".join(_RETRY.sub(" ", text.replace("’", "'")).split()).strip(" ,.;:!?–-")
    return rest if len(re.findall(r"\w+", rest)) >= _MIN_ADDED_WORDS else ""


def earlier_questions(asked: Sequence[str]) -> list[str]:
    """The user's earlier messages that stand for themselves, the most recent first."""
    return [text for text in reversed(asked[:-1]) if not is_retry(text) and not _leans(text)]


def _leans(text: str) -> bool:
    return bool(_CONTINUATION.match(text.replace("’", "'")))
