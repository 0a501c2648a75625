"""Messages of a conversation, as they travel between layers and rest in checkpoints."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["user", "assistant", "tool"]


class ToolCall(BaseModel):
    """One call that an assistant message asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Message(BaseModel):
    """One message.

    ``artifact`` holds data for code, such as the ids of a search or how a reply was found; no model
    ever sees it. ``interaction`` marks the exchange of a pause: its questions and their answers
    belong to the turn that paused and begin no turn of their own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    artifact: dict[str, Any] | None = None
    interaction: str | None = None


def user(text: str) -> Message:
    return Message(role="user", text=text)


def assistant(text: str) -> Message:
    return Message(role="assistant", text=text)


def latest_user_text(messages: list[Message] | tuple[Message, ...]) -> str:
    """The text of the last user message; empty when there is none."""
    return next((m.text for m in reversed(messages) if m.role == "user"), "")
