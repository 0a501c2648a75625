"""A tenant's collections and study programmes: their filters, ids and rows."""

from __future__ import annotations

import pytest

from domain.errors import InvalidConfiguration, InvalidInput
from retrieval.rows import StoredChunk, chunk_id, row_of
from retrieval.tenancy import (
    COLLECTIONS,
    check_collection,
    is_of_programme,
    of_programme,
    only,
    own,
)
from serve.indexing import collection_named

CHUNK = StoredChunk("docs", "Chemie/lab.md", "hash", 0, "Lab", "", 0, "de", "text")
HOSTILE = ['x" or file >= "', 'x\\" or 1 == 1 or file == "', "x\\", "%", "Che%", "Chemi_", "", "x/"]


def test_a_collection_is_the_kind_of_its_rows() -> None:
    assert row_of("uni", CHUNK, [1.0])["kind"] == "document"
    assert row_of("uni", CHUNK, [1.0], "faq")["kind"] == "faq"
    assert only("uni", kind="faq") == 'tenant == "uni" and kind == "faq"'


def test_the_same_chunk_in_two_collections_is_two_rows() -> None:
    ids = {chunk_id("uni", CHUNK, collection) for collection in COLLECTIONS.values()}
    assert len(ids) == 3
    assert chunk_id("uni", CHUNK) == chunk_id("uni", CHUNK, "document") in ids


@pytest.mark.parametrize("name", ["", "documents", "FAQ", "people", 'faq" or kind == "document'])
def test_what_is_no_collection_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="use document, faq, troubleshooting"):
        check_collection(name)
    with pytest.raises(InvalidInput, match="is no collection"):
        row_of("uni", CHUNK, [1.0], name)  # type: ignore[arg-type]


def test_the_command_line_names_documents_in_the_plural() -> None:
    names = ["documents", "faq", "troubleshooting"]
    assert [collection_named(name) for name in names] == ["document", "faq", "troubleshooting"]
    with pytest.raises(InvalidConfiguration) as caught:
        collection_named("document")
    assert caught.value.field == "--collection"
    assert caught.value.mend == "use one of documents, faq, troubleshooting"


def test_a_row_of_another_collection_is_never_handed_out() -> None:
    rows = [{"tenant": "uni", "kind": "faq"}, {"tenant": "uni", "kind": "document"}]
    assert own("uni", rows, "document") == rows[1:]


@pytest.mark.parametrize("programme", ["Chemie", "Bio & Chemie", "Ökologie", *HOSTILE])
def test_a_programme_stays_the_beginning_of_a_path(programme: str) -> None:
    from milvus_lite.search.filter import parse_expr
    from milvus_lite.search.filter.ast import And, CmpOp, Or

    tree = parse_expr(f"{only('uni', kind='document')} and {of_programme(programme)}")
    assert isinstance(tree, And)
    folders = tree.operands[-1]
    assert isinstance(folders, Or)
    found = []
    for folder in folders.operands:
        assert isinstance(folder, And)
        for bound in folder.operands:
            assert isinstance(bound, CmpOp)
            assert bound.left.name == "file"
            found.append((bound.op, bound.right.value))
    assert found == [
        (">=", f"{programme}/"),
        ("<", f"{programme}0"),
        (">=", "general/"),
        ("<", "general0"),
    ]


def test_a_programme_is_its_folder_and_the_general_one() -> None:
    inside = ["Chemie/a.md", "Chemie/deep/b.md", "general/c.md"]
    outside = ["Chemie.md", "Chemie2/a.md", "generally/c.md", "x/Chemie/a.md", "chemie/a.md"]
    assert [file for file in inside + outside if is_of_programme(file, "Chemie")] == inside
