"""A record with what is known about it for searching, as a row of the collection of records."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from domain.records import Record, RecordKind
from retrieval.records.folding import folded, runs
from retrieval.tenancy import check_tenant

RECIPE = "1"
"""How a row is made of a record. It is part of the row's hash: a new recipe makes every record a
changed one."""

UNDATED = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """``written_in`` are the languages of the record's words, ``spoken`` those that a filter on the
    language finds it by: for a person the languages that the person speaks."""

    record: Record
    written_in: tuple[str, ...]
    spoken: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The same entry has the same digest; it says whether a stored row is still right."""
        parts = (RECIPE, self.record.model_dump_json(), *self.written_in, "|", *self.spoken)
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]

    @property
    def filterable_skills(self) -> tuple[str, ...]:
        return (*self.record.skills, *_strings(self.record.details.get("skills_fr")))

    @property
    def meaning(self) -> str:
        """What is embedded: what it is called first, since a small encoder weighs it most."""
        record = self.record
        labels = record.details.get("labels", {})
        names = [record.title, *(label for label in labels.values() if label != record.title)]
        names += _strings(record.details.get("role"))
        return "\n".join([*names, record.text, ", ".join(record.skills)])

    @property
    def words(self) -> str:
        """What BM25 reads, folded: everything that a person might name, with or without accents."""
        record, details = self.record, self.record.details
        named = [
            record.title,
            *_strings(details.get("labels")),
            *_strings(details.get("also_called")),
            *_strings(details.get("role")),
            *_strings(details.get("team")),
            *([record.place] if record.place else []),
            *([record.level] if record.level else []),
            *self.filterable_skills,
            record.text,
        ]
        return "\n".join(folded(each) for each in named)


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """One row as a search finds it; ``score`` is a cosine or a raw BM25 score."""

    id: str
    score: float
    record: Record
    languages: tuple[str, ...]


def row_id(tenant: str, kind: RecordKind, record_id: str) -> str:
    """The key of a record: two tenants, and two kinds, may use the same id."""
    return hashlib.sha256("\x00".join((tenant, kind, record_id)).encode()).hexdigest()[:32]


def row_of(tenant: str, entry: Entry, vector: Sequence[float]) -> dict[str, Any]:
    """The row to write; places, levels and skills are there as a filter may say them."""
    check_tenant(tenant)
    record = entry.record
    return {
        "id": row_id(tenant, record.kind, record.id),
        "tenant": tenant,
        "kind": record.kind,
        "record_id": record.id,
        "digest": entry.digest,
        "spoken": list(entry.spoken),
        "written_in": list(entry.written_in),
        "places": runs([record.place] if record.place else []),
        "levels": runs([record.level] if record.level else []),
        "skills": runs(entry.filterable_skills),
        "starts": record.starts.toordinal() if record.starts else UNDATED,
        "record": record.model_dump_json(),
        "words": entry.words,
        "dense": list(vector),
    }


def found_record(row: dict[str, Any]) -> FoundRecord:
    """What a row that was read says."""
    return FoundRecord(
        id=row["id"],
        score=row.get("score", 1.0),
        record=Record.model_validate_json(row["record"]),
        languages=tuple(row["written_in"]),
    )


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [str(each) for each in value.values()]
    return [str(each) for each in value] if isinstance(value, list) else []
