"""What roles give back to the graph: values, so that a pause or a handoff can cross an actor."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.budgets import Spent
from domain.messages import Message

GateDecision = Literal["allow", "doubt", "block"]


class _Outcome(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    spent: Spent = Field(default_factory=Spent)


class GateOutcome(_Outcome):
    """The guardrail's decision, with the boundary reply unless it is ``allow``."""

    decision: GateDecision
    reply: str = ""


class RoutingOutcome(_Outcome):
    """The specialist that the supervisor chose."""

    specialist: str


class Handoff(BaseModel):
    """Career chat asks for a research: the call to be answered, and the question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    call_id: str
    question: str


class SpecialistOutcome(_Outcome):
    """The end of a specialist's invocation.

    ``messages`` are the new messages of this invocation in order (tool calls, results and the
    reply); with a ``handoff`` the last one is the assistant's transfer call without its result.
    """

    messages: tuple[Message, ...]
    handoff: Handoff | None = None

    @property
    def text(self) -> str:
        return self.messages[-1].text if self.messages and not self.handoff else ""
