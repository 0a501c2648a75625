"""The collection of passages: its fields, its indexes and how it is made."""

from __future__ import annotations

from domain.errors import StoreUnavailable

# Milvus counts bytes where Manta counts characters; these are generous on purpose.
_TEXT_BYTES = 65_535
_NAME_BYTES = 4_096

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
# out of the query instead (see search.py).
_ANALYZER = {"tokenizer": "standard", "filter": ["lowercase"]}


def create_collection(uri: str, token: str, name: str, dimensions: int) -> None:
    """Create the collection ``name`` with its indexes and load it.

    This one uses the blocking client, because the asynchronous one waits for an index through a
    call that Milvus Lite does not have. Call it in a thread.

    Raises:
        StoreUnavailable: the server refused or did not answer.
    """
    from pymilvus import DataType, Function, FunctionType, MilvusClient
    from pymilvus.exceptions import MilvusException

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=64)
    schema.add_field("tenant", DataType.VARCHAR, is_partition_key=True, max_length=256)
    schema.add_field("kind", DataType.VARCHAR, max_length=32)
    schema.add_field("source", DataType.VARCHAR, max_length=_NAME_BYTES)
    schema.add_field("file", DataType.VARCHAR, max_length=_NAME_BYTES)
    schema.add_field("file_hash", DataType.VARCHAR, max_length=64)
    schema.add_field("position", DataType.INT64)
    schema.add_field("title", DataType.VARCHAR, max_length=_NAME_BYTES)
    schema.add_field("heading", DataType.VARCHAR, max_length=_NAME_BYTES)
    schema.add_field("page", DataType.INT64)
    schema.add_field("language", DataType.VARCHAR, max_length=16)
    schema.add_field("text", DataType.VARCHAR, max_length=_TEXT_BYTES)
    # Title and headings count as words of the passage, which stays verbatim in ``text``.
    schema.add_field(
        "words",
        DataType.VARCHAR,
        max_length=_TEXT_BYTES,
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
    try:
        client = MilvusClient(uri=uri, token=token, timeout=30.0, dedicated=True)
        try:
            client.create_collection(name, schema=schema, index_params=indexes, timeout=30.0)
        finally:
            client.close()
    except MilvusException as error:
        raise StoreUnavailable(
            "the document store", f"its server gave error {error.code} for a new collection"
        ) from None
