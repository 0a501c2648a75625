"""What remains of a message without its greeting or its thanks.

"Good morning! How do I book a room?" is a question about a room. An opening that is all there is,
stays: then it is the message.
"""

from __future__ import annotations

import re

_MIN_WORDS = 3

_OPENING = re.compile(
    r"""\s*(?:
        (?:(?:hello|hi|hey|good\ (?:morning|afternoon|evening|day)
          |bonjour|bonsoir|salut|coucou|rebonjour
          |hallo|guten\ (?:tag|morgen|abend)|moin(?:\ moin)?|servus|gr(?:ü|ue)(?:ß|ss)\ gott
        )(?:\ (?:there|all|everyone|team|manta|again|à\ tous|zusammen))?)[\s,!.:;–-]+
      | (?:thanks|thank\ you|merci|danke|vielen\ dank)[^.!?]{0,40}[.!]\s+
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def substance(text: str) -> str:
    """``text`` without its openings, where at least three words are left."""
    rest = text
    while match := _OPENING.match(rest):
        rest = rest[match.end() :]
    return rest if len(re.findall(r"\w+", rest)) >= _MIN_WORDS else text
