"""Request data beside instructions: one labelled form for everything untrusted.

Summaries, preferences, decisions and the request's own facts are supplied as user data in this
form, never inside the system instructions; ``untrusted.md`` tells models what the form means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

_BLOCK = re.compile(r'<data label="([a-z_]+)">\n(.*?)\n</data>', re.DOTALL)


def labelled(label: str, payload: Any) -> HumanMessage:
    """``payload`` as JSON in a labelled block; ``<`` is escaped so that no content can close it."""
    body = json.dumps(payload, ensure_ascii=False).replace("<", "\\u003c")
    return HumanMessage(f'<data label="{label}">\n{body}\n</data>')


def read_labelled(messages: Iterable[BaseMessage], label: str) -> Any:
    """The payload of the last block with ``label`` in a human message; ``None`` without one."""
    found = None
    for message in messages:
        if isinstance(message, HumanMessage) and isinstance(message.content, str):
            match = _BLOCK.fullmatch(message.content)
            if match and match[1] == label:
                found = json.loads(match[2])
    return found


def is_labelled(message: BaseMessage) -> bool:
    return isinstance(message.content, str) and bool(_BLOCK.fullmatch(message.content))
