"""The collection of passages: its fields and indexes; and what every collection shares."""

from __future__ import annotations

from typing import Any

# Milvus counts bytes where Manta counts characters; these are generous on purpose.
TEXT_BYTES = 65_535
NAME_BYTES = 4_096

OUTPUT_FIELDS = [
    "tenant",
    "source",
    "file",
    "file_hash",
    "position",
    "title",
    "heading",
    "page",
    "language",
    "text",
]

# The tokenizer splits at what is not a letter or digit and lowercases, for all three languages
# alike. It is the only one besides a Chinese one that Milvus Lite has, so that stop words are left
# out of the query instead (see hybrid.py).
_ANALYZER = {"tokenizer": "standard", "filter": ["lowercase"]}


def passages(dimensions: int) -> tuple[Any, Any]:
    """The schema and the indexes of the collection of passages."""
    from pymilvus import DataType

    schema = owned_schema()
    schema.add_field("source", DataType.VARCHAR, max_length=NAME_BYTES)
    schema.add_field("file", DataType.VARCHAR, max_length=NAME_BYTES)
    schema.add_field("file_hash", DataType.VARCHAR, max_length=64)
    schema.add_field("position", DataType.INT64)
    schema.add_field("title", DataType.VARCHAR, max_length=NAME_BYTES)
    schema.add_field("heading", DataType.VARCHAR, max_length=NAME_BYTES)
    schema.add_field("page", DataType.INT64)
    schema.add_field("language", DataType.VARCHAR, max_length=16)
    schema.add_field("text", DataType.VARCHAR, max_length=TEXT_BYTES)
    # Title and headings count as words of the passage, which stays verbatim in ``text``.
    return schema, searchable(schema, dimensions)


def owned_schema() -> Any:
    """The fields that every row has: its id, its tenant as the partition key, and its kind."""
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=64)
    schema.add_field("tenant", DataType.VARCHAR, is_partition_key=True, max_length=256)
    schema.add_field("kind", DataType.VARCHAR, max_length=32)
    return schema


def searchable(schema: Any, dimensions: int) -> Any:
    """Add ``words`` for BM25 and ``dense`` for the meaning; returns their indexes."""
    from pymilvus import DataType, Function, FunctionType, MilvusClient

    schema.add_field(
        "words",
        DataType.VARCHAR,
        max_length=TEXT_BYTES,
        enable_analyzer=True,
        analyzer_params=_ANALYZER,
    )
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dimensions)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(
        Function(
            name="bm25",
            function_type=FunctionType.BM25,
            input_field_names=["words"],
            output_field_names=["sparse"],
        )
    )
    indexes = MilvusClient.prepare_index_params()
    indexes.add_index("dense", index_type="AUTOINDEX", metric_type="COSINE")
    indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    return indexes
