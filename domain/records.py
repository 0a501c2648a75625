"""Records of a tenant's catalogues: what can be searched by meaning and by structured fields."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

RecordKind = Literal["opportunities", "trainings", "people", "occupations"]
RECORD_KINDS: tuple[RecordKind, ...] = get_args(RecordKind)


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordFilters(_Value):
    """Structured conditions of a search, all of which must hold; ``None`` asks for nothing.

    ``starts_from`` and ``starts_to`` bound the record's date, both ends included; a record without
    a date never fulfils them.
    """

    place: str | None = Field(default=None, min_length=1, max_length=120)
    language: str | None = Field(default=None, pattern=r"^[a-z]{2}$")
    level: str | None = Field(default=None, min_length=1, max_length=60)
    skill: str | None = Field(default=None, min_length=1, max_length=120)
    starts_from: date | None = None
    starts_to: date | None = None


class Record(_Value):
    """One opportunity, training, person or occupation.

    ``details`` holds what only its kind has (an opportunity's hours, a person's team), as JSON
    values that may be shown to every user of the tenant.
    """

    kind: RecordKind
    id: str
    title: str
    text: str
    language: str
    place: str | None = None
    level: str | None = None
    starts: date | None = None
    skills: tuple[str, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)


class RecordHit(_Value):
    """A record that a search found; ``score`` is in [0, 1], higher is nearer."""

    record: Record
    score: float
