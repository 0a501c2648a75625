"""The collection of records: its fields, and what fits into a row of it."""

from __future__ import annotations

from typing import Any

from retrieval.schema import NAME_BYTES, TEXT_BYTES, owned_schema, searchable

VALUES = 4_096
"""How many values Milvus keeps in an array at most."""

OUTPUT_FIELDS = ["id", "tenant", "kind", "record", "written_in"]


def records(dimensions: int) -> tuple[Any, Any]:
    """The schema and the indexes of the collection of records."""
    from pymilvus import DataType

    schema = owned_schema()
    schema.add_field("record_id", DataType.VARCHAR, max_length=NAME_BYTES)
    schema.add_field("digest", DataType.VARCHAR, max_length=64)
    for name in ("spoken", "written_in", "places", "levels", "skills"):
        schema.add_field(
            name,
            DataType.ARRAY,
            element_type=DataType.VARCHAR,
            max_length=NAME_BYTES,
            max_capacity=VALUES,
        )
    # Days since the year 1, so that a range of dates is one of numbers; 0 is a record without one.
    schema.add_field("starts", DataType.INT64)
    schema.add_field("record", DataType.VARCHAR, max_length=TEXT_BYTES)
    return schema, searchable(schema, dimensions)


def too_large(row: dict[str, Any]) -> str | None:
    """The field of a record that makes its row larger than the collection takes, if one does."""
    if any(len(row[name]) > VALUES for name in ("places", "levels", "skills")):
        return "skills"
    if any(len(str(row[name]).encode()) > TEXT_BYTES for name in ("record", "words")):
        return "text"
    return None
