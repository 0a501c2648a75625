"""Pauses: a turn that needs an answer from its user before it can go on.

A pause is a value. No connection, task or lock is kept while a person thinks; what a tool had
prepared rests beside its questions, so that resuming repeats nothing.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.messages import Message, assistant, user

PauseReason = Literal["clarification", "choice", "confirmation", "widen_search"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Option(_Value):
    """One answer that may be chosen; ``value`` is what comes back, ``label`` what people read."""

    value: str
    label: str


class PauseQuestion(_Value):
    """One question of a pause. With ``options`` the answer is the value of one of them."""

    id: str
    text: str
    options: tuple[Option, ...] = ()


class PauseRequest(_Value):
    """What a tool gives back instead of a result: ordered questions, and what it had prepared.

    ``prepared`` is plain JSON data; it never holds a client, a task or a token.
    """

    reason: PauseReason
    questions: tuple[PauseQuestion, ...] = Field(min_length=1)
    prepared: dict[str, Any] = Field(default_factory=dict)


class Pause(_Value):
    """An open pause: a request under its public id, with the tool call that waits for it.

    ``exchange`` holds the questions and answers of earlier pauses of the same call; they follow the
    call's result once there is one.
    """

    interaction_id: str
    specialist: str
    tool: str
    call_id: str
    request: PauseRequest
    exchange: tuple[Message, ...] = ()

    @property
    def questions(self) -> tuple[PauseQuestion, ...]:
        return self.request.questions

    @property
    def text(self) -> str:
        """The questions as one text, for people and for clients that show nothing else."""
        return "\n".join(question.text for question in self.questions)


class Resumption(_Value):
    """A pause with its answers, by question id."""

    pause: Pause
    answers: dict[str, str]

    def exchange(self) -> tuple[Message, ...]:
        """All that was asked and answered while the call waited, as history shows it."""
        marked = {"interaction": self.pause.interaction_id}
        return (
            *self.pause.exchange,
            assistant(self.pause.text).model_copy(update=marked),
            user(self.text).model_copy(update=marked),
        )

    @property
    def text(self) -> str:
        """The answers as people gave them: a choice by its label."""
        lines = []
        for question in self.pause.questions:
            given = self.answers[question.id]
            labels = {option.value: option.label for option in question.options}
            lines.append(labels.get(given, given))
        return "\n".join(lines)


class ResumeRequest(_Value):
    """A client's answer to a pause, as it was sent: who may answer and what, is checked later.

    ``payload`` maps question ids to answers; one plain text is for a pause of a single question.
    ``cancelled`` closes the pause without an answer, and ``payload`` is then empty.
    """

    interaction_id: str
    payload: dict[str, str] | str | None = None
    cancelled: bool = False
