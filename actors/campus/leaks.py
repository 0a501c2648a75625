"""Text that is really a tool call, which some models write out instead of making it.

It must never be shown as an answer. A stream is held back wherever a call may be beginning, until
it is sure that none is, and at its start a little longer, because some models announce their calls.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import product

from actors.campus.offered_tools import DOCUMENTS, TASK, TROUBLESHOOTING, WEB
from actors.campus.selecting import SELECT
from config.policy import POLICY

_NAMES = (DOCUMENTS, WEB, SELECT)
_PLAIN_NAMES = (TROUBLESHOOTING, TASK)
"""These are also words of a heading: a parenthesis alone does not make them calls."""
_PARAMETERS = ("query=", "subagent=", "request=", "{", '"', "'")
_KEYS = (
    *("name", "tool", "tool_name", "tool_call", "tool_calls", "function", "function_call"),
    *("recipient_name", "arguments", "parameters", "query", "subagent", "citations"),
)
_TAGS = (
    *("<tool", "<|tool", "<｜tool", "<function", "<|function", "<invoke", "<|python_tag|>"),
    *("[tool_call", "[toolcall"),
)
_OBJECTS = (
    *(f"{{{mark}{key}{mark}:" for key, mark in product(_KEYS, "\"'")),
    *('{"type":"function"', '{"id":"call_'),
)
_CALLS = (
    *(f"{name}{bracket}" for name, bracket in product(_NAMES, "({[")),
    *(f"{name}({parameter}" for name, parameter in product(_PLAIN_NAMES, _PARAMETERS)),
)
_LINES = (
    *_CALLS,
    *(f"{before}{call}" for before, call in product(("print(", "function.", "functions."), _CALLS)),
    *("toolcall:", "tool_call:", "functioncall:", "function_call:"),
    *(f"action:{name}" for name in (*_NAMES, *_PLAIN_NAMES)),
)
_BARE = (*_TAGS, *_OBJECTS, *(f"[{opened}" for opened in _OBJECTS), *_LINES)
_FENCES = ("```", "```json", "```xml", "```python", "```py", "```tool_code", "```tool_call")
_OPENERS = (*_BARE, *(f"{fence}{opened}" for fence, opened in product(_FENCES, _BARE)))
"""How written-out calls begin, in lower case and without white space."""
_PLACES = re.compile(r"\n\s*\S|[<\[{`]")
"""Where one may begin: at the first letter of a line, and at a bracket anywhere."""
_SEEN = 200


class LeakedCall(Exception):
    """The reply turned out to be a written-out tool call."""


def is_leaked_call(text: str) -> bool:
    """Whether ``text`` is, or goes over into, a written-out tool call."""
    return _suspect(f"\n{text}")[1]


async def without_leaks(texts: AsyncIterator[str]) -> AsyncGenerator[str, None]:
    """The pieces of a reply without the written-out call that it goes over into, and without white
    space at its ends.

    The source is read to its end in any case: what it used is known only then.

    Raises:
        LeakedCall: it is a call, announced or not; nothing of it was passed on.
    """
    held = "\n"
    """What is not passed on yet; it begins with the white space that stands before it."""
    shown = leaked = False
    async for text in texts:
        if leaked:
            continue
        held += text
        at, leaked = _suspect(held)
        ready = held[:at].rstrip()
        if shown or at > POLICY.campus.held_chars:
            if ready:
                yield ready if shown else ready.lstrip()
            shown = shown or bool(ready)
            held = held[len(ready) :]
    if leaked and not shown:
        raise LeakedCall
    rest = "" if leaked else held.rstrip()
    if rest:
        yield rest if shown else rest.lstrip()


def _suspect(text: str) -> tuple[int, bool]:
    """Where a call begins or may be beginning, and whether it is sure; else the end of ``text``."""
    for place in _PLACES.finditer(text):
        at = place.end() - 1
        begun = "".join(text[at : at + _SEEN].split()).casefold()
        if begun.startswith(_OPENERS):
            return at, True
        if any(opener.startswith(begun) for opener in _OPENERS):
            return at, False
    return len(text), False
