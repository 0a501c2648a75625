"""What keeps the tenants and their collections apart: filters, their escaping, a check behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from domain.errors import InvalidInput

KEY_CHARS = 63
"""The longest tenant id that the tenant configuration allows."""

PassageCollection = Literal["document", "faq", "troubleshooting"]
"""The collections of passages that a tenant may have; a search is always in one of them."""

DOCUMENTS: PassageCollection = "document"
COLLECTIONS: dict[str, PassageCollection] = {
    "documents": DOCUMENTS,
    "faq": "faq",
    "troubleshooting": "troubleshooting",
}
"""The collections by what operators call them."""

GENERAL = "general"
"""The folder whose documents concern every study programme."""


def check_tenant(tenant: str) -> None:
    """Raises InvalidInput for what cannot be a tenant's id."""
    if not tenant or len(tenant) > KEY_CHARS:
        raise InvalidInput("tenant", "is empty or too long", "name a configured tenant")


def check_collection(name: str, field: str = "collection") -> None:
    """Raises InvalidInput for what is no collection of passages."""
    known = get_args(PassageCollection)
    if name not in known:
        raise InvalidInput(field, f"{name[:64]!r} is no collection", f"use {', '.join(known)}")


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


def of_programme(programme: str) -> str:
    """The clause that a passage's file lies in the folder ``programme``, or in ``general``.

    A folder is a range of paths and no pattern, so that no character of a name is a wildcard: what
    follows the folder's own name is a slash, and the next character after a slash is a zero.
    """
    ranges = (
        f"(file >= {literal(f'{folder}/')} and file < {literal(f'{folder}0')})"
        for folder in (programme, GENERAL)
    )
    return f"({' or '.join(ranges)})"


def is_of_programme(file: str, programme: str) -> bool:
    """The same of one file's path."""
    return file.startswith((f"{programme}/", f"{GENERAL}/"))


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
