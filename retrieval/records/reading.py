"""A records file, line by line: everything in it is checked before anything is stored."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from config.policy import POLICY
from config.tenants import describe_validation
from domain.errors import InvalidConfiguration
from domain.records import RECORD_KINDS, RecordKind
from retrieval.json_lines import numbered_lines
from retrieval.records.entries import Entry, row_of
from retrieval.records.esco import EscoLine
from retrieval.records.kinds import LINES
from retrieval.records.schema import too_large

ESCO_KEY = '"uri"'


def record_kind(name: str) -> RecordKind:
    """Raises InvalidConfiguration for what is no kind of record."""
    for kind in RECORD_KINDS:
        if kind == name:
            return kind
    known = ", ".join(RECORD_KINDS)
    raise InvalidConfiguration("--records", f"{name} is no kind of record", f"use one of {known}")


def read_records(path: Path, kind: RecordKind) -> list[Entry]:
    """The entries of a JSON Lines file.

    Raises:
        InvalidConfiguration: the first wrong line, with its number and field; an id that two lines
            have, with both numbers; a file that cannot be read.
    """
    entries: list[Entry] = []
    lines: dict[str, int] = {}
    for number, line in numbered_lines(path, "the path"):
        where = f"{path.name}, line {number}: "
        entry = _entry(line, kind, where)
        first = lines.setdefault(entry.record.id, number)
        if first != number:
            raise InvalidConfiguration(
                f"{where}id", f"{entry.record.id} is the id of line {first}, too", "give another"
            )
        entries.append(entry)
    return entries


def _entry(line: str, kind: RecordKind, where: str) -> Entry:
    limit = POLICY.records.line_chars
    if len(line) > limit:
        raise InvalidConfiguration(
            f"{where}(the whole line)", f"is longer than {limit} characters", "shorten it"
        )
    model = EscoLine if kind == "occupations" and ESCO_KEY in line else LINES[kind]
    try:
        entry = model.model_validate_json(line).entry()
    except ValidationError as error:
        raise describe_validation(error, where) from error
    large = too_large(row_of("any", entry, ()))
    if large is not None:
        raise InvalidConfiguration(
            f"{where}{large}", "is more than a record may hold", "shorten it"
        )
    return entry
