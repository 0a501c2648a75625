"""What a turn knows: the persisted state, and the request's own context beside it."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from actors.role_handles import CellHandles
from config.tenants import TenantConfig
from domain.budgets import Spent
from domain.messages import Message
from domain.requests import RequestContext

PlainMessage = dict[str, Any]
"""A :class:`domain.messages.Message` as plain data, so that checkpoints depend on no class."""


class TurnState(TypedDict, total=False):
    """Channels of the graph.

    ``history`` holds the acknowledged turns only: it grows once, in the last node. All the others
    belong to the current turn; its input resets them, so nothing of a turn that failed is ever
    seen again.
    """

    history: Annotated[list[PlainMessage], operator.add]
    active_agent: str | None
    incoming: list[PlainMessage]
    entry: str | None
    gate: dict[str, Any] | None
    specialist: str | None
    draft: list[PlainMessage]
    handoff: dict[str, Any] | None
    knowledge: dict[str, Any] | None
    reply: dict[str, Any] | None


@dataclass(slots=True)
class TurnContext:
    """The request's context; it lives with the request and is never checkpointed."""

    request: RequestContext
    tenant: TenantConfig
    roles: CellHandles
    spent: Spent = field(default_factory=Spent)
    running: set[asyncio.Task[Any]] = field(default_factory=set)
    """The tasks of nodes that have not ended yet."""

    def add(self, spent: Spent) -> None:
        """Add what a role used; seconds of the turn are measured once, at its end."""
        self.spent = self.spent + spent.model_copy(update={"seconds": 0.0})


def turn_input(messages: Sequence[Message], entry: str | None = None) -> TurnState:
    """The input of one turn; ``messages`` end with the user's."""
    return TurnState(
        incoming=plain(messages),
        entry=entry,
        gate=None,
        specialist=None,
        draft=[],
        handoff=None,
        knowledge=None,
        reply=None,
    )


def plain(messages: Sequence[Message]) -> list[PlainMessage]:
    return [message.model_dump(mode="json", exclude_defaults=True) for message in messages]


def conversation(state: TurnState) -> tuple[Message, ...]:
    """History, this turn's input and what this turn has added so far."""
    parts = [*state.get("history", ()), *state["incoming"], *state.get("draft", ())]
    return tuple(Message.model_validate(part) for part in parts)
