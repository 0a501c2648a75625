"""The filter of one tenant's records of one kind, from values only."""

from __future__ import annotations

from domain.errors import InvalidInput
from domain.records import RecordFilters, RecordKind
from retrieval.records.entries import UNDATED
from retrieval.records.folding import folded
from retrieval.tenancy import literal, none_of, only

_COLUMNS = {"place": "places", "level": "levels", "skill": "skills", "language": "spoken"}


def conditions(
    tenant: str, kind: RecordKind, filters: RecordFilters, exclude: tuple[str, ...] = ()
) -> str:
    """The filter of a search: whose records and which kind always, the rest as far as asked.

    Raises:
        InvalidInput: a word of ``filters`` has no letter or digit, or the dates exclude each other.
    """
    clauses = [only(tenant, kind=kind)]
    for field, column in _COLUMNS.items():
        wanted = getattr(filters, field)
        if wanted is None:
            continue
        value = folded(wanted)
        if not value:
            raise InvalidInput(field, "has no letter or digit", "write a word or leave it out")
        clauses.append(f"array_contains({column}, {literal(value)})")
    first, last = filters.starts_from, filters.starts_to
    if first is not None and last is not None and first > last:
        raise InvalidInput("starts_from", "is after starts_to", "exchange the two")
    if first is not None:
        clauses.append(f"starts >= {literal(first.toordinal())}")
    if last is not None:
        clauses.append(f"starts > {UNDATED} and starts <= {literal(last.toordinal())}")
    if exclude:
        clauses.append(none_of("record_id", exclude))
    return " and ".join(clauses)
