"""What a test can make the scripted model server answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Text:
    """A written reply. ``finish`` is the protocol's finish reason."""

    text: str
    finish: str = "stop"


@dataclass(frozen=True)
class Calls:
    """Tool calls, with text beside them if a test wants a leak to be possible."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    text: str = ""


def call(name: str, /, **arguments: Any) -> Calls:
    return Calls(((name, arguments),))


@dataclass(frozen=True)
class Chosen:
    """A decision's choice, native or structured; any string, so that it can be wrong."""

    value: str
    probabilities: dict[str, float] | None = None


@dataclass(frozen=True)
class Refused:
    """The model declines: a refusal answer of a decision, a refusal message of a chat."""


@dataclass(frozen=True)
class Status:
    """An HTTP error."""

    code: int
    body: dict[str, Any] = field(default_factory=lambda: {"error": {"message": "scripted"}})


@dataclass(frozen=True)
class Silent:
    """Accept the request and say nothing for ``seconds``, then answer with a server error."""

    seconds: float


@dataclass(frozen=True)
class Malformed:
    """A body that is not what the protocol promises."""

    body: str = "{}"


Reply = Text | Calls | Chosen | Refused | Status | Silent | Malformed
