"""What a line of a records file may say, kind by kind, and the record that it becomes."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from domain.records import Record, RecordKind
from retrieval.languages import UNKNOWN
from retrieval.records.entries import Entry

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$")]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
Level = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]
Language = Literal["en", "fr", "de"]
Spoken = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]
Skills = Annotated[tuple[Word, ...], Field(max_length=60)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: Id
    language: Language
    """The language that the line is written in."""


class _Catalogued(_Line):
    """What opportunities and trainings share."""

    title: Name
    text: Text
    place: Word | None = None
    level: Level | None = None
    starts: date | None = None
    skills: Skills = ()

    def _entry(self, kind: RecordKind, **details: object) -> Entry:
        record = Record(
            kind=kind,
            id=self.id,
            title=self.title,
            text=self.text,
            language=self.language,
            place=self.place,
            level=self.level,
            starts=self.starts,
            skills=self.skills,
            details={name: value for name, value in details.items() if value is not None},
        )
        return Entry(record, written_in=(self.language,), spoken=(self.language,))


class OpportunityLine(_Catalogued):
    """An internal position or mission. ``starts`` is its first day, ``apply_by`` the last day to
    apply."""

    type: Literal["position", "mission"]
    team: Name
    hours_per_week: float | None = Field(default=None, gt=0, le=168)
    duration: Name | None = None
    apply_by: date | None = None
    contact: Name | None = None

    def entry(self) -> Entry:
        return self._entry(
            "opportunities",
            type=self.type,
            team=self.team,
            hours_per_week=self.hours_per_week,
            duration=self.duration,
            apply_by=self.apply_by.isoformat() if self.apply_by else None,
            contact=self.contact,
        )


class TrainingLine(_Catalogued):
    """A course or a programme."""

    format: Literal["classroom", "online", "workshop", "on_the_job", "programme"]
    provider: Name | None = None
    duration: Name | None = None
    seats: int | None = Field(default=None, ge=1)
    price: Name | None = None

    def entry(self) -> Entry:
        return self._entry(
            "trainings",
            format=self.format,
            provider=self.provider,
            duration=self.duration,
            seats=self.seats,
            price=self.price,
        )


class PersonLine(_Line):
    """A colleague's public profile. ``speaks`` are the languages that a filter finds the person
    by; ``available_from`` is the day from which the person may take something on."""

    name: Name
    role: Name
    team: Name
    text: Text
    speaks: Annotated[tuple[Spoken, ...], Field(min_length=1, max_length=20)]
    place: Word | None = None
    level: Level | None = None
    skills: Skills = ()
    available_from: date | None = None
    hours_per_week: float | None = Field(default=None, gt=0, le=168)

    def entry(self) -> Entry:
        details: dict[str, object] = {
            "role": self.role,
            "team": self.team,
            "speaks": list(self.speaks),
        }
        if self.hours_per_week is not None:
            details["hours_per_week"] = self.hours_per_week
        record = Record(
            kind="people",
            id=self.id,
            title=self.name,
            text=self.text,
            language=self.language,
            place=self.place,
            level=self.level,
            starts=self.available_from,
            skills=self.skills,
            details=details,
        )
        # A name is a word of every language.
        return Entry(record, written_in=(UNKNOWN,), spoken=self.speaks)


class OccupationLine(_Line):
    """An occupation of the organisation's own list."""

    title: Name
    text: Text
    also_called: Annotated[tuple[Word, ...], Field(max_length=60)] = ()
    level: Level | None = None
    skills: Skills = ()

    def entry(self) -> Entry:
        record = Record(
            kind="occupations",
            id=self.id,
            title=self.title,
            text=self.text,
            language=self.language,
            level=self.level,
            skills=self.skills,
            details={"also_called": list(self.also_called)} if self.also_called else {},
        )
        return Entry(record, written_in=(self.language,), spoken=(self.language,))


Line = OpportunityLine | TrainingLine | PersonLine | OccupationLine
LINES: dict[RecordKind, type[Line]] = {
    "opportunities": OpportunityLine,
    "trainings": TrainingLine,
    "people": PersonLine,
    "occupations": OccupationLine,
}
