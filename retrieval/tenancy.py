"""What keeps the tenants of one collection apart: a filter, its escaping, a check behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from domain.errors import InvalidInput

KEY_CHARS = 63
"""The longest tenant id that the tenant configuration allows."""


def check_tenant(tenant: str) -> None:
    """Raises InvalidInput for what cannot be a tenant's id."""
    if not tenant or len(tenant) > KEY_CHARS:
        raise InvalidInput("tenant", "is empty or too long", "name a configured tenant")


def only(tenant: str, **equal: str | int) -> str:
    """The filter of one tenant's rows, narrowed by equalities; values are escaped.

    Rows are documents unless ``kind`` says another.
    """
    check_tenant(tenant)
    clauses = {"tenant": tenant, "kind": "document", **equal}
    return " and ".join(f"{name} == {literal(value)}" for name, value in clauses.items())


def one_of(field: str, values: Iterable[str]) -> str:
    """The clause that ``field`` is one of ``values``; no values admit nothing."""
    return f"{field} in [{', '.join(literal(value) for value in values)}]"


def none_of(field: str, values: Iterable[str]) -> str:
    """The clause that ``field`` is none of ``values``."""
    return f"{field} not in [{', '.join(literal(value) for value in values)}]"


def literal(value: str | int) -> str:
    """A value in Milvus's filter language. Only a quote or a backslash could end a string."""
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def own(
    tenant: str, rows: Sequence[dict[str, Any]], kind: str | None = None
) -> list[dict[str, Any]]:
    """A second lock behind the filter: a row of another tenant, or of another kind where one is
    named, is never handed out."""
    return [row for row in rows if row["tenant"] == tenant and kind in (None, row.get("kind"))]
