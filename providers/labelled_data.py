"""Request data beside instructions: one labelled form for everything untrusted.

Summaries, preferences, decisions and the request's own facts are supplied as user data in this
form, never inside the system instructions; ``untrusted.md`` tells models what the form means.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

INTERACTION = "manta_interaction"
"""Marks a human message that answers a pause, beside its text, where no provider sends it."""

LABEL, PAYLOAD = "manta_label", "manta_payload"
"""What a block is, beside its text: a person's text that looks like one is not one."""


def labelled(label: str, payload: Any) -> HumanMessage:
    """``payload`` as JSON in a labelled block; ``<`` is escaped so that no content can close it."""
    plain = json.dumps(payload, ensure_ascii=False)
    body = plain.replace("<", "\\u003c")
    return HumanMessage(
        f'<data label="{label}">\n{body}\n</data>',
        additional_kwargs={LABEL: label, PAYLOAD: plain},
    )


def read_labelled(messages: Iterable[BaseMessage], label: str) -> Any:
    """The payload of the last block with ``label``; ``None`` without one."""
    found = None
    for message in messages:
        if message.additional_kwargs.get(LABEL) == label:
            found = json.loads(message.additional_kwargs[PAYLOAD])
    return found


def is_labelled(message: BaseMessage) -> bool:
    return LABEL in message.additional_kwargs


def begins_turn(message: BaseMessage) -> bool:
    """Whether a turn begins here: with what a person wrote, and not in answer to a pause."""
    return (
        isinstance(message, HumanMessage)
        and not is_labelled(message)
        and INTERACTION not in message.additional_kwargs
    )
