"""What roles give back to the graph: values, so that a pause or a handoff can cross an actor."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.answers import KnowledgeAnswer
from domain.budgets import Spent
from domain.messages import Message
from domain.pauses import Pause
from domain.preferences import Fact

GateDecision = Literal["allow", "doubt", "block"]


class _Outcome(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    spent: Spent = Field(default_factory=Spent)


class GateOutcome(_Outcome):
    """The guardrail's decision, with the boundary reply unless it is ``allow``."""

    decision: GateDecision
    reply: str = ""


class Summary(BaseModel):
    """What the first ``covers`` messages of a history said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    covers: int


class RoutingOutcome(_Outcome):
    """The specialist that the supervisor chose, and a new summary if one was due."""

    specialist: str
    summary: Summary | None = None


class Handoff(BaseModel):
    """Career chat asks for a research: the call to be answered, and the question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    call_id: str
    question: str


class SpecialistOutcome(_Outcome):
    """The end of a specialist's invocation.

    ``messages`` are the new messages of this invocation in order (tool calls, results and the
    reply); with a ``handoff`` or a ``pause`` the call that waits for its result has none yet. A
    specialist that answers from sources itself says so with ``knowledge``.
    """

    messages: tuple[Message, ...]
    handoff: Handoff | None = None
    pause: Pause | None = None
    knowledge: KnowledgeAnswer | None = None

    @property
    def text(self) -> str:
        waits = self.handoff is not None or self.pause is not None
        return self.messages[-1].text if self.messages and not waits else ""


class MemoryOutcome(_Outcome):
    """What the user's durable facts are from now on; ``None`` leaves them as they are."""

    facts: tuple[Fact, ...] | None = None
