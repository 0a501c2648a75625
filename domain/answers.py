"""What a research and a turn give back."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.budgets import Spent

AnswerStatus = Literal["answered", "unanswerable", "unavailable"]


class Citation(BaseModel):
    """Where an answer was found, as a user may see it.

    ``quote`` is verbatim text of the delivered excerpt. A public page has a ``url``, a document
    has a ``title`` only; internal ids and file names are never here. ``passage`` is the delivered
    excerpt around the quote, for the page's panel.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    kind: Literal["document", "web"]
    title: str
    quote: str
    url: str | None = None
    heading: str | None = None
    page: int | None = None
    passage: str | None = None


class KnowledgeAnswer(BaseModel):
    """The researcher's result after validation; ``code`` says why it is not an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: AnswerStatus
    answer: str = ""
    citations: tuple[Citation, ...] = ()
    limitation: str | None = None
    code: str | None = None
    spent: Spent = Field(default_factory=Spent)


TurnStatus = Literal[
    "answered",
    "miss",
    "unavailable",
    "boundary",
    "replied",
    "paused",
    "abandoned",
    "failed",
]


class Reply(BaseModel):
    """The end of a turn: what was said, by whom, from what, and what it used.

    ``status``: ``answered`` from sources verbatim, ``miss`` searched and not found,
    ``unavailable`` could not search, ``boundary`` the gate replied, ``replied`` an ordinary
    specialist reply, ``paused`` the turn waits for its user, ``abandoned`` the user closed a pause
    without an answer, ``failed`` a safe error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: TurnStatus
    agent: str
    text: str
    citations: tuple[Citation, ...] = ()
    locale: str = "en"
    spent: Spent = Field(default_factory=Spent)
