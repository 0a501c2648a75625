"""What a turn knows: the persisted state, and the request's own context beside it."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypedDict

from pydantic import SecretStr

from actors.role_handles import CellHandles
from config.tenants import TenantConfig
from domain.budgets import Spent
from domain.messages import Message
from domain.outcomes import Summary
from domain.pauses import Pause, Resumption
from domain.preferences import Fact
from domain.requests import RequestContext

PlainMessage = dict[str, Any]
"""A :class:`domain.messages.Message` as plain data, so that checkpoints depend on no class."""


class TurnState(TypedDict, total=False):
    """Channels of the graph.

    ``history`` holds the acknowledged turns only: it grows once, in the last node. ``pause`` is an
    open pause with the messages of its turn, which are no history yet; only the last node of a turn
    changes it, so a turn that fails leaves it open. ``summary`` stands for the beginning of the
    history. All the others belong to the current turn; its input resets them, so nothing of a turn
    that failed is ever seen again.
    """

    history: Annotated[list[PlainMessage], operator.add]
    active_agent: str | None
    summary: dict[str, Any] | None
    pause: dict[str, Any] | None
    abandoned: list[PlainMessage]
    incoming: list[PlainMessage]
    entry: str | None
    resumption: dict[str, Any] | None
    gate: dict[str, Any] | None
    specialist: str | None
    draft: list[PlainMessage]
    handoff: dict[str, Any] | None
    knowledge: dict[str, Any] | None
    asked: dict[str, Any] | None
    reply: dict[str, Any] | None


class Preferences(Protocol):
    """The durable facts of users; :class:`graph.preferences.PreferenceStore` keeps them."""

    async def read(self, tenant: str, user: str) -> tuple[tuple[Fact, ...], int]:
        """The facts, and the version that a later write must name."""
        ...

    async def write(
        self, tenant: str, user: str, facts: Sequence[Fact], expected_version: int
    ) -> bool:
        """Replace the facts unless somebody else has done so since ``expected_version``."""
        ...


class Keeper(Protocol):
    """Notes that a turn is stored; :class:`graph.keeping.ConversationKeeper` does."""

    async def stored(self, context: TurnContext, first_text: str, *, paused: bool) -> None: ...


@dataclass(slots=True)
class TurnContext:
    """The request's context; it lives with the request and is never checkpointed.

    Without ``preferences`` nothing is remembered about the user, without ``keeper`` no record is
    kept of the conversation.
    """

    request: RequestContext
    tenant: TenantConfig
    roles: CellHandles
    interactive: bool = False
    token: SecretStr | None = None
    preferences: Preferences | None = None
    keeper: Keeper | None = None
    facts: tuple[Fact, ...] = ()
    facts_version: int = 0
    spent: Spent = field(default_factory=Spent)
    running: set[asyncio.Task[Any]] = field(default_factory=set)
    """The tasks of nodes that have not ended yet."""
    remembering: asyncio.Task[None] | None = None
    """The memory's work beside the turn; whoever runs the turn waits for it."""

    def add(self, spent: Spent) -> None:
        """Add what a role used; seconds of the turn are measured once, at its end."""
        self.spent = self.spent + spent.model_copy(update={"seconds": 0.0})


def turn_input(
    messages: Sequence[Message],
    entry: str | None = None,
    abandoned: Sequence[PlainMessage] = (),
) -> TurnState:
    """The input of one turn; ``messages`` end with the user's, or are none at all where the user
    only abandons a pause. ``abandoned`` are the closed messages of an unanswered pause."""
    return TurnState(
        abandoned=list(abandoned),
        incoming=plain(messages),
        entry=entry,
        resumption=None,
        gate=None,
        specialist=None,
        draft=[],
        handoff=None,
        knowledge=None,
        asked=None,
        reply=None,
    )


def resumed_input(open_pause: OpenPause, resumption: Resumption) -> TurnState:
    """The input of a turn that goes on after a pause: where it stopped, with the answers."""
    return TurnState(
        abandoned=[],
        incoming=list(open_pause.incoming),
        entry=open_pause.pause.specialist,
        resumption=resumption.model_dump(mode="json"),
        gate=None,
        specialist=open_pause.pause.specialist,
        draft=list(open_pause.draft),
        handoff=None,
        knowledge=None,
        asked=None,
        reply=None,
    )


@dataclass(frozen=True, slots=True)
class OpenPause:
    """An open pause as it rests in the state, with its turn's messages so far."""

    pause: Pause
    incoming: tuple[PlainMessage, ...]
    draft: tuple[PlainMessage, ...]
    locale: str

    @classmethod
    def of(cls, values: TurnState | dict[str, Any]) -> OpenPause | None:
        kept = values.get("pause")
        if not kept:
            return None
        return cls(
            pause=Pause.model_validate(kept["pause"]),
            incoming=tuple(kept["incoming"]),
            draft=tuple(kept["draft"]),
            locale=kept["locale"],
        )

    def plain(self) -> dict[str, Any]:
        return {
            "pause": self.pause.model_dump(mode="json", exclude_defaults=True),
            "incoming": list(self.incoming),
            "draft": list(self.draft),
            "locale": self.locale,
        }


def plain(messages: Sequence[Message]) -> list[PlainMessage]:
    return [message.model_dump(mode="json", exclude_defaults=True) for message in messages]


def messages_of(parts: Sequence[PlainMessage]) -> tuple[Message, ...]:
    return tuple(Message.model_validate(part) for part in parts)


def summary_of(state: TurnState) -> Summary | None:
    kept = state.get("summary")
    return Summary.model_validate(kept) if kept else None


def completed(state: TurnState) -> tuple[Message, ...]:
    """The completed turns that no summary covers yet."""
    summary = summary_of(state)
    history = state.get("history", ())[summary.covers if summary else 0 :]
    return messages_of([*history, *state.get("abandoned", ())])


def current(state: TurnState) -> tuple[Message, ...]:
    """This turn's input and what this turn has added so far."""
    return messages_of([*state["incoming"], *state.get("draft", ())])


def conversation(state: TurnState) -> tuple[Message, ...]:
    return (*completed(state), *current(state))
