"""A line of the ESCO classification of occupations (European Commission), English and French."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from domain.records import Record
from retrieval.records.entries import Entry


class EscoSkill(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    en: str | None = None
    fr: str | None = None


class EscoLine(BaseModel):
    """One occupation; its URI's last part is its id, since only ESCO's own are read."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    uri: str = Field(pattern=r"^http://data\.europa\.eu/esco/occupation/[A-Za-z0-9-]{1,64}$")
    isco: str = Field(min_length=1)
    isco_major: str = ""
    isco_group: str = ""
    label_en: str = Field(min_length=1)
    label_fr: str = Field(min_length=1)
    alt_en: tuple[str, ...] = ()
    alt_fr: tuple[str, ...] = ()
    description_en: str = Field(min_length=1)
    essential_skills: Annotated[tuple[EscoSkill, ...], Field(max_length=200)] = ()
    optional_skills: Annotated[tuple[EscoSkill, ...], Field(max_length=200)] = ()
    digital: bool | None = None
    green: bool | None = None

    @property
    def id(self) -> str:
        return self.uri.rsplit("/", 1)[1]

    def entry(self) -> Entry:
        """One record in both languages; the French names are details that a reader is shown."""
        essential = self.essential_skills
        english = tuple(skill.en for skill in essential if skill.en)
        french = tuple(skill.fr for skill in essential if skill.fr)
        record = Record(
            kind="occupations",
            id=self.id,
            title=self.label_en,
            text=self.description_en,
            language="en",
            skills=english,
            details={
                "uri": self.uri,
                "isco": self.isco,
                "labels": {"en": self.label_en, "fr": self.label_fr},
                "also_called": [*self.alt_en, *self.alt_fr],
                "skills_fr": list(french),
            },
        )
        return Entry(record, written_in=("en", "fr"), spoken=("en", "fr"))
