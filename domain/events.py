"""Events of a turn: small typed values in one tagged union.

The stream, the logs and the evaluation read the same events. An event never carries model tokens
of an internal call, research scratch messages or evidence that was not cited.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from domain.answers import Reply
from domain.budgets import Spent
from domain.pauses import Pause

ActivityCode = Literal[
    "checking_request",
    "choosing_specialist",
    "writing_reply",
    "searching_documents",
    "searching_web",
    "reading_page",
    "comparing_sources",
    "preparing_answer",
    "reading_tasks",
    "reading_profile",
    "reading_document",
    "searching_opportunities",
    "searching_trainings",
    "searching_people",
    "preparing_plan",
    "consulting_specialist",
    "checking_documents",
    "checking_response",
    "refining_search",
]


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StepStarted(_Event):
    """A node of the turn began."""

    type: Literal["step_started"] = "step_started"
    step: str


class StepFinished(_Event):
    """A node of the turn ended."""

    type: Literal["step_finished"] = "step_finished"
    step: str
    seconds: float


class Activity(_Event):
    """What is happening now, as a code that a client translates."""

    type: Literal["activity"] = "activity"
    code: ActivityCode
    agent: str


class Comment(_Event):
    """A public progress comment of at most 240 characters; it is never kept."""

    type: Literal["comment"] = "comment"
    agent: str
    text: str


class TextDelta(_Event):
    """Coalesced text of the final reply while it is written."""

    type: Literal["text_delta"] = "text_delta"
    agent: str
    text: str


class TextDelivered(_Event):
    """A complete reply that was not streamed (a validated answer, a boundary reply)."""

    type: Literal["text_delivered"] = "text_delivered"
    agent: str
    text: str


class Verdict(_Event):
    """A decision inside a specialist's own graph, with its reason as a code; ``score`` is a cosine
    where one decided."""

    type: Literal["verdict"] = "verdict"
    agent: str
    step: str
    decision: str
    reason: str
    score: float | None = None


class PauseAbandoned(_Event):
    """The user did not answer an open pause but went on; its turn is closed as abandoned."""

    type: Literal["pause_abandoned"] = "pause_abandoned"
    interaction_id: str


class TurnPaused(_Event):
    """The last event of a turn that waits for its user; ``reply`` is what was said so far."""

    type: Literal["turn_paused"] = "turn_paused"
    pause: Pause
    reply: Reply


class TurnFinished(_Event):
    """The last event of a turn that ended well."""

    type: Literal["turn_finished"] = "turn_finished"
    reply: Reply


class TurnStopped(_Event):
    """The last event of a turn that failed: a code and a text that a user may see."""

    type: Literal["turn_stopped"] = "turn_stopped"
    code: str
    stage: str
    message: str
    spent: Spent = Field(default_factory=Spent)


Event = Annotated[
    StepStarted
    | StepFinished
    | Activity
    | Comment
    | TextDelta
    | TextDelivered
    | Verdict
    | PauseAbandoned
    | TurnPaused
    | TurnFinished
    | TurnStopped,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
