"""What an offline policy decides, and what it reads to decide it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from providers.labelled_data import begins_turn, is_labelled, read_labelled


@dataclass(frozen=True, slots=True)
class Step:
    """Either tool calls or a text; ``also`` are further calls at the same time."""

    text: str = ""
    call: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    also: tuple[tuple[str, dict[str, Any]], ...] = ()


REPLY = Step(call="reply_to_user")
"""No tool is needed now; the text follows in the next step."""


def users(messages: Sequence[BaseMessage]) -> list[str]:
    """What the user said, without labelled data."""
    return [
        message.text
        for message in messages
        if isinstance(message, HumanMessage) and not is_labelled(message)
    ]


def questions(messages: Sequence[BaseMessage]) -> list[str]:
    """What the user began turns with, without the answers to pauses."""
    return [message.text for message in messages if begins_turn(message)]


def language_of(messages: Sequence[BaseMessage]) -> str:
    """The requested language."""
    return str((read_labelled(messages, "request") or {}).get("language", "en"))


def results_of(messages: Sequence[BaseMessage], tool: str) -> list[dict[str, Any]]:
    """The JSON results of a tool in the current turn."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if begins_turn(message):
            found = []
        if isinstance(message, ToolMessage) and message.name == tool:
            found.append(read_result(message))
    return found


def earlier_results(messages: Sequence[BaseMessage], tool: str) -> list[dict[str, Any]]:
    """The JSON results of a tool in the whole conversation that is seen."""
    return [
        read_result(message)
        for message in messages
        if isinstance(message, ToolMessage) and message.name == tool
    ]


def read_result(message: ToolMessage) -> dict[str, Any]:
    """The JSON result of a tool, or an error where it gave none."""
    try:
        result = json.loads(message.text)
    except json.JSONDecodeError:
        # A limit's error text is no result of the tool.
        return {"error": "not_executed"}
    return result if isinstance(result, dict) else {"error": "not_executed"}
