"""Messages of ours to LangChain's and back, and the bounded view that a model call gets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    filter_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately

from config.policy import POLICY
from domain.messages import Message, ToolCall, latest_user_text
from providers.labelled_data import INTERACTION


def to_langchain(messages: Sequence[Message]) -> list[AnyMessage]:
    """The same conversation for LangChain; artifacts stay beside the text, unseen by models."""
    converted: list[AnyMessage] = []
    for message in messages:
        if message.role == "user":
            marked = {INTERACTION: message.interaction} if message.interaction else {}
            converted.append(HumanMessage(message.text, additional_kwargs=marked))
        elif message.role == "assistant":
            calls = [
                {"id": call.id, "name": call.name, "args": dict(call.arguments)}
                for call in message.tool_calls
            ]
            converted.append(AIMessage(message.text, tool_calls=calls))
        else:
            converted.append(
                ToolMessage(
                    message.text,
                    tool_call_id=message.tool_call_id or "",
                    name=message.tool_name,
                    artifact=message.artifact,
                )
            )
    return converted


def from_langchain(messages: Sequence[BaseMessage]) -> tuple[Message, ...]:
    """Assistant and tool messages that an agent added."""
    converted: list[Message] = []
    for message in messages:
        if isinstance(message, AIMessage):
            calls = tuple(
                ToolCall(id=call["id"] or "", name=call["name"], arguments=call["args"])
                for call in message.tool_calls
            )
            converted.append(Message(role="assistant", text=message.text, tool_calls=calls))
        elif isinstance(message, ToolMessage):
            artifact = message.artifact if isinstance(message.artifact, dict) else None
            converted.append(
                Message(
                    role="tool",
                    text=message.text,
                    tool_call_id=message.tool_call_id,
                    tool_name=message.name,
                    artifact=artifact,
                )
            )
    return tuple(converted)


def bounded_history(
    messages: Sequence[Message], own_tools: frozenset[str] = frozenset()
) -> list[AnyMessage]:
    """Completed turns trimmed to the policy's size, starting on a human message.

    The current turn (from the last user message on that answers no pause) stays whole even when it
    alone exceeds the targets. Of completed turns only the tool calls of ``own_tools`` are kept,
    with their results: another specialist's searches and transfers are none of this one's business
    (seed "Conversation size management"). Only the model's copy is trimmed.
    """
    start = current_turn(messages)
    past = _without_foreign_tools(to_langchain(messages[:start]), own_tools)
    current = to_langchain(messages[start:])
    limits = POLICY.specialist
    room = max(0, limits.history_messages - len(current))
    past = past[-room:] if room else []
    tokens = max(0, limits.history_tokens - count_tokens_approximately(current))
    kept: list[Any] = trim_messages(
        past,
        max_tokens=tokens,
        token_counter=count_tokens_approximately,
        strategy="last",
        start_on="human",
        allow_partial=False,
    )
    return [*kept, *current]


def current_turn(messages: Sequence[Message]) -> int:
    """Where the current turn begins: an answer to a pause belongs to the turn that paused."""
    return max(
        (
            index
            for index, message in enumerate(messages)
            if message.role == "user" and message.interaction is None
        ),
        default=0,
    )


def _without_foreign_tools(past: list[AnyMessage], own: frozenset[str]) -> list[AnyMessage]:
    foreign = {
        str(call["id"])
        for message in past
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["name"] not in own
    }
    kept: list[Any] = filter_messages(past, exclude_tool_calls=sorted(foreign))
    return kept


def evidence_json(messages: Sequence[Message], **facts: Any) -> str:
    """Conversation evidence of a decision about the latest text: that text whole and recent texts.

    The last ten non-empty human and assistant texts are kept; tool outputs never enter
    (seed "Pre-supervisor decisions").
    """
    texts = [
        {"role": message.role, "text": message.text}
        for message in messages
        if message.role != "tool" and message.text.strip()
    ]
    asked = bool(texts) and texts[-1]["role"] == "user"
    return _evidence(messages, texts[-POLICY.gate.recent_messages - asked :], facts)


def routing_evidence_json(messages: Sequence[Message], **facts: Any) -> str:
    """Evidence of a routing decision: texts, and tool calls and results as mere records.

    They tell what a conversation is about and are never executed (seed "Supervisor and handoffs").
    """
    records: list[dict[str, Any]] = []
    for message in messages:
        record: dict[str, Any] = {"role": message.role, "text": message.text}
        if message.tool_calls:
            record["tool_calls"] = [
                {"name": call.name, "arguments": call.arguments} for call in message.tool_calls
            ]
        if message.tool_name:
            record["tool"] = message.tool_name
        if message.text.strip() or message.tool_calls:
            records.append(record)
    return _evidence(messages, records[-POLICY.summary.trigger_messages :], facts)


def _evidence(
    messages: Sequence[Message], records: list[dict[str, Any]], facts: dict[str, Any]
) -> str:
    """The latest user text apart, and the records that came before it."""
    latest = latest_user_text(tuple(messages))
    if records and records[-1]["role"] == "user":
        records = records[:-1]
    return json.dumps(
        {"latest_user_text": latest, "recent_messages": records, **facts}, ensure_ascii=False
    )
