"""Our events as AG-UI's."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from ag_ui.core import (
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
)

from domain.answers import Reply
from domain.events import (
    Activity,
    Comment,
    Event,
    StepFinished,
    StepStarted,
    TextDelivered,
    TextDelta,
    TurnFinished,
    TurnStopped,
)

ACTIVITY = "manta.activity"
COMMENT = "manta.comment"
REPLY = "manta.reply"


class RunProjection:
    """One run's events in order; it remembers which message and which steps are open."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._message_id: str | None = None
        self._steps: list[str] = []

    def started(self) -> BaseEvent:
        return RunStartedEvent(thread_id=self._thread_id, run_id=self._run_id)

    def project(self, event: Event) -> list[BaseEvent]:
        """The protocol's events for one of ours."""
        match event:
            case StepStarted():
                self._steps.append(event.step)
                return [StepStartedEvent(step_name=event.step)]
            case StepFinished():
                self._steps.remove(event.step)
                return [StepFinishedEvent(step_name=event.step)]
            case Activity():
                return [_activity(ACTIVITY, {"code": event.code, "agent": event.agent})]
            case Comment():
                return [_activity(COMMENT, {"agent": event.agent, "text": event.text})]
            case TextDelta() | TextDelivered():
                return self._text(event.text)
            case TurnFinished():
                return [*self._closed(), *self._finished(event.reply)]
            case TurnStopped():
                error = RunErrorEvent(message=event.message, code=event.code)
                return [*self._closed(), error]

    def _text(self, text: str) -> list[BaseEvent]:
        events: list[BaseEvent] = []
        if self._message_id is None:
            self._message_id = uuid4().hex
            events.append(TextMessageStartEvent(message_id=self._message_id, role="assistant"))
        events.append(TextMessageContentEvent(message_id=self._message_id, delta=text))
        return events

    def _closed(self) -> list[BaseEvent]:
        """What is still open when the run ends is closed first, the innermost first."""
        events: list[BaseEvent] = []
        if self._message_id is not None:
            events.append(TextMessageEndEvent(message_id=self._message_id))
            self._message_id = None
        while self._steps:
            events.append(StepFinishedEvent(step_name=self._steps.pop()))
        return events

    def _finished(self, reply: Reply) -> list[BaseEvent]:
        spent = reply.spent
        usage = TokenUsage(
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cached_input_tokens=spent.cached_tokens,
            total_tokens=spent.input_tokens + spent.output_tokens,
        )
        value = reply.model_dump(mode="json")
        return [
            CustomEvent(name=REPLY, value=value),
            RunFinishedEvent(
                thread_id=self._thread_id,
                run_id=self._run_id,
                result=value,
                outcome=RunFinishedSuccessOutcome(),
                usage=[usage],
            ),
        ]


def _activity(kind: str, content: dict[str, Any]) -> BaseEvent:
    return ActivitySnapshotEvent(
        message_id=uuid4().hex, activity_type=kind, content=content, replace=True
    )
