"""Our events as AG-UI's."""

from __future__ import annotations

from typing import Any

from ag_ui.core import (
    PROTOCOL_VERSION,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
)

from config.prompt_files import phrase
from domain.answers import Reply
from domain.events import (
    Activity,
    Comment,
    Event,
    PauseAbandoned,
    StepFinished,
    StepStarted,
    TextDelivered,
    TextDelta,
    TurnFinished,
    TurnPaused,
    TurnStopped,
    Verdict,
)
from serve.interrupts import public_interrupt

ACTIVITY = "manta.activity"
COMMENT = "manta.comment"
VERDICT = "manta.verdict"
REPLY = "manta.reply"
RUN_LOST = "run_lost"
PAUSE_ABANDONED = "manta.pause_abandoned"


class RunProjection:
    """One run's events in order; it remembers which message and which steps are open.

    The ids of messages follow from the run's, so that a run that is shown again is the same.

    Args:
        locale: of what people read when the run itself fails.
    """

    def __init__(self, thread_id: str, run_id: str, locale: str = "en") -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._locale = locale
        self._message_id: str | None = None
        self._activities = 0
        self._steps: list[str] = []

    @property
    def closing(self) -> int:
        """How many events it takes at most to end the run now."""
        return len(self._steps) + (self._message_id is not None) + 2

    def started(self) -> BaseEvent:
        return RunStartedEvent(
            thread_id=self._thread_id, run_id=self._run_id, protocol_version=PROTOCOL_VERSION
        )

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
                return [self._activity(ACTIVITY, {"code": event.code, "agent": event.agent})]
            case Verdict():
                value = event.model_dump(mode="json", exclude={"type"})
                return [CustomEvent(name=VERDICT, value=value)]
            case Comment():
                return [self._activity(COMMENT, {"agent": event.agent, "text": event.text})]
            case TextDelta() | TextDelivered():
                return self._text(event.text)
            case PauseAbandoned():
                value = {"interactionId": event.interaction_id}
                return [CustomEvent(name=PAUSE_ABANDONED, value=value)]
            case TurnPaused():
                waiting = RunFinishedInterruptOutcome(interrupts=[public_interrupt(event.pause)])
                return [*self._closed(), *self._finished(event.reply, waiting)]
            case TurnFinished():
                return [*self._closed(), *self._finished(event.reply, _outcome(event.reply))]
            case TurnStopped():
                error = RunErrorEvent(message=event.message, code=event.code)
                return [*self._closed(), error]

    def cancelled(self) -> list[BaseEvent]:
        """The end of a run that was stopped before its turn ended."""
        finished = RunFinishedEvent(
            thread_id=self._thread_id,
            run_id=self._run_id,
            outcome=RunFinishedCancelledOutcome(),
        )
        return [*self._closed(), finished]

    def failed(self, code: str) -> list[BaseEvent]:
        """The end of a run that failed beside its turn."""
        message = phrase("safe_error", self._locale)
        return [*self._closed(), RunErrorEvent(message=message, code=code)]

    def lost(self) -> BaseEvent:
        """The end of a run whose process died; it can be told at any point of the run."""
        return RunErrorEvent(message=phrase("safe_error", self._locale), code=RUN_LOST)

    def _text(self, text: str) -> list[BaseEvent]:
        events: list[BaseEvent] = []
        if self._message_id is None:
            self._message_id = f"{self._run_id}:reply"
            events.append(TextMessageStartEvent(message_id=self._message_id, role="assistant"))
        events.append(TextMessageContentEvent(message_id=self._message_id, delta=text))
        return events

    def _activity(self, kind: str, content: dict[str, Any]) -> BaseEvent:
        self._activities += 1
        message_id = f"{self._run_id}:activity-{self._activities}"
        return ActivitySnapshotEvent(
            message_id=message_id, activity_type=kind, content=content, replace=True
        )

    def _closed(self) -> list[BaseEvent]:
        """What is still open when the run ends is closed first, the innermost first."""
        events: list[BaseEvent] = []
        if self._message_id is not None:
            events.append(TextMessageEndEvent(message_id=self._message_id))
            self._message_id = None
        while self._steps:
            events.append(StepFinishedEvent(step_name=self._steps.pop()))
        return events

    def _finished(self, reply: Reply, outcome: RunFinishedOutcome) -> list[BaseEvent]:
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
                outcome=outcome,
                usage=[usage],
            ),
        ]


def _outcome(reply: Reply) -> RunFinishedOutcome:
    if reply.status == "abandoned":
        return RunFinishedCancelledOutcome()
    return RunFinishedSuccessOutcome()
