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
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately

from config.policy import POLICY
from domain.messages import Message, ToolCall


def to_langchain(messages: Sequence[Message]) -> list[AnyMessage]:
    """The same conversation for LangChain; artifacts stay beside the text, unseen by models."""
    converted: list[AnyMessage] = []
    for message in messages:
        if message.role == "user":
            converted.append(HumanMessage(message.text))
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


def bounded_history(messages: Sequence[Message]) -> list[AnyMessage]:
    """Completed turns trimmed to the policy's size, starting on a human message.

    The current turn (from the last human message on) stays whole even when it alone exceeds the
    targets (seed "Conversation size management"). Only the model's copy is trimmed.
    """
    converted = to_langchain(messages)
    start = max(
        (index for index, message in enumerate(converted) if isinstance(message, HumanMessage)),
        default=0,
    )
    past, current = converted[:start], converted[start:]
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


def evidence_json(messages: Sequence[Message], **facts: Any) -> str:
    """Conversation evidence of a decision: the latest user text whole and recent texts.

    The last ten non-empty human and assistant texts are kept; tool outputs never enter
    (seed "Pre-supervisor decisions").
    """
    texts = [
        {"role": message.role, "text": message.text}
        for message in messages
        if message.role != "tool" and message.text.strip()
    ]
    latest = next((item["text"] for item in reversed(texts) if item["role"] == "user"), "")
    if texts and texts[-1]["role"] == "user":
        texts.pop()
    earlier = texts[-POLICY.gate.recent_messages :]
    return json.dumps(
        {"latest_user_text": latest, "recent_messages": earlier, **facts}, ensure_ascii=False
    )
