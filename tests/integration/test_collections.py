"""Documents, FAQ and troubleshooting of one tenant side by side, and by study programme."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest
from served import settings_for

from actors.handles import LocalPort
from actors.resources import ProcessResources
from actors.role_handles import RetrieverHandle
from actors.roles import build_role
from config.settings import Settings
from domain.errors import InvalidInput
from providers.embedding import LocalEmbedder
from retrieval.ingest import IngestSummary, ingest
from retrieval.rows import StoredChunk
from retrieval.search import DocumentSearch
from retrieval.store import PassageStore
from retrieval.tenancy import PassageCollection

pytestmark = pytest.mark.integration

EMBEDDER = LocalEmbedder()
MANTA = str(Path(sys.executable).with_name("manta"))
ANSWER = "The late fee is 25 euros."
FILES = [
    "Chemie/lab.md",
    "Chemie/deep/notes.md",
    "Chemie2/lab.md",
    "Chemie.md",
    "Bio_Chemie/lab.md",
    'Kunst "neu"/plan.md',
    "general/rules.md",
    "generally/other.md",
    "loose.md",
]


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4().hex[:8]}"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data")


def folder_of(where: Path, **texts: str) -> Path:
    where.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (where / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    return where


def index(
    folder: Path, tenant: str, settings: Settings, uri: str, collection: PassageCollection
) -> IngestSummary:
    return asyncio.run(ingest(folder, tenant, settings, uri, collection=collection))


def in_store(uri: str, work: Callable[[PassageStore], Awaitable[None]]) -> None:
    async def run() -> None:
        store = PassageStore(uri, EMBEDDER)
        try:
            await work(store)
        finally:
            await store.close()

    asyncio.run(run())


def found(uri: str, tenant: str, question: str, collection: PassageCollection) -> set[str]:
    texts: set[str] = set()

    async def work(store: PassageStore) -> None:
        search = DocumentSearch(store, EMBEDDER)
        passages = await search.search(tenant, question, collection=collection)
        texts.update(passage.title for passage in passages)

    in_store(uri, work)
    return texts


def test_a_search_sees_its_own_collection_only(
    tmp_path: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    index(folder_of(tmp_path / "a", rules=ANSWER), tenant, settings, milvus_uri, "document")
    index(folder_of(tmp_path / "b", question=ANSWER), tenant, settings, milvus_uri, "faq")
    index(folder_of(tmp_path / "c", repair=ANSWER), tenant, settings, milvus_uri, "troubleshooting")
    question = "How much is the late fee?"
    assert found(milvus_uri, tenant, question, "document") == {"rules"}
    assert found(milvus_uri, tenant, question, "faq") == {"question"}
    assert found(milvus_uri, tenant, question, "troubleshooting") == {"repair"}
    assert found(milvus_uri, f"{tenant}-2", question, "faq") == set()


def test_one_folder_in_two_collections_is_kept_and_removed_apart(
    tmp_path: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    folder = folder_of(tmp_path / "same", fee=ANSWER, ticket="The ticket is valid in all buses.")
    for collection in ("document", "faq"):
        assert index(folder, tenant, settings, milvus_uri, collection).added == 2
        assert index(folder, tenant, settings, milvus_uri, collection).wrote is False
    (folder / "fee.md").unlink()
    (folder / "ticket.md").write_text("# ticket\n\nThe ticket is valid in trains only.\n")
    summary = index(folder, tenant, settings, milvus_uri, "faq")
    assert (summary.changed, summary.removed, summary.unchanged) == (1, 1, 0)
    assert found(milvus_uri, tenant, "late fee", "document") == {"fee", "ticket"}
    assert found(milvus_uri, tenant, "late fee", "faq") == {"ticket"}


def test_an_faq_alone_is_no_document(
    tmp_path: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    index(folder_of(tmp_path / "faq", fee=ANSWER), tenant, settings, milvus_uri, "faq")

    async def work(store: PassageStore) -> None:
        assert await DocumentSearch(store, EMBEDDER).readiness(tenant, True) == "empty"

    in_store(milvus_uri, work)


def test_a_programme_is_searched_with_what_is_general_and_nothing_else(
    tenant: str, milvus_uri: str
) -> None:
    other = f"{tenant}-other"

    def chunks(owner: str) -> list[StoredChunk]:
        return [
            StoredChunk("documents", file, "h", 0, file, "", 0, "en", f"{owner} safety in {file}")
            for file in FILES
        ]

    async def work(store: PassageStore) -> None:
        for owner in (tenant, other):
            rows = chunks(owner)
            await store.write(owner, rows, await EMBEDDER.embed([row.text for row in rows]))
        await store.flush()
        [vector] = await EMBEDDER.embed(["safety"])

        async def files(programme: str | None) -> set[str]:
            near = await store.nearest(tenant, vector, 100, programme=programme)
            words = await store.lexical(tenant, "safety", 100, programme=programme)
            assert all(hit.chunk.text.startswith(f"{tenant} ") for hit in (*near, *words))
            assert {hit.id for hit in near} == {hit.id for hit in words}
            foreign = await store.nearest(other, vector, 100)
            ids = [hit.id for hit in foreign]
            assert await store.nearest(tenant, vector, 100, ids, programme=programme) == []
            return {hit.chunk.file for hit in near}

        general = {"general/rules.md"}
        assert await files(None) == set(FILES)
        assert await files("Chemie") == {"Chemie/lab.md", "Chemie/deep/notes.md"} | general
        assert await files('Kunst "neu"') == {'Kunst "neu"/plan.md'} | general
        assert await files("general") == general
        for hostile in (
            "%",
            "Che%",
            "Bio%",
            "_hemie",
            "",
            "\\",
            f'x" or tenant == "{other}',
            f'x/") or tenant == "{other}" or (file == "',
            'x" or file >= "',
        ):
            assert await files(hostile) == general, hostile

    in_store(milvus_uri, work)


async def test_the_retrievers_handle_reaches_the_collections(
    tmp_path: Path, tenant: str, milvus_uri: str
) -> None:
    settings = settings_for(data=tmp_path, milvus_uri=milvus_uri)
    documents = tmp_path / "documents"
    folder_of(documents / "Chemie", chemistry=ANSWER)
    folder_of(documents / "Kunst", art=ANSWER)
    await ingest(documents, tenant, settings, milvus_uri)
    questions = folder_of(tmp_path / "faq", question=ANSWER)
    await ingest(questions, tenant, settings, milvus_uri, collection="faq")
    resources = ProcessResources(settings)
    role = build_role("retriever", resources, {})
    retriever = RetrieverHandle(LocalPort("retriever", role))
    try:
        asked = (tenant, "How much is the late fee?")
        [passage] = await retriever.search(*asked, programme="Chemie")
        assert passage.title == "chemistry"
        [passage] = await retriever.search(*asked, collection="faq")
        assert passage.title == "question"
        assert await retriever.search(*asked, collection="troubleshooting") == []
        with pytest.raises(InvalidInput, match="is no collection"):
            await retriever.search(*asked, collection="people")  # type: ignore[arg-type]
    finally:
        await role.close()
        await resources.close()


def manta(data: Path, uri: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MANTA, "index", *arguments, "--tenant", "blank", "--demo", "--no-ray"],
        env={**os.environ, "MANTA_DATA": str(data), "MILVUS_URI": uri},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_indexes_into_a_collection(tmp_path: Path, milvus_uri: str) -> None:
    folder = str(folder_of(tmp_path / f"faq-{uuid4().hex[:8]}", fee="The zeppelin costs 7 euros."))
    first = manta(tmp_path / "data", milvus_uri, folder, "--collection", "faq")
    assert first.returncode == 0, first.stderr
    assert "1 added" in first.stderr
    assert found(milvus_uri, "blank", "What does the zeppelin cost?", "faq") == {"fee"}
    assert "fee" not in found(milvus_uri, "blank", "What does the zeppelin cost?", "document")
    again = manta(tmp_path / "data", milvus_uri, folder)
    assert "1 added" in again.stderr, "documents are another collection"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--collection", "people"], "people is no collection; use one of documents, faq"),
        (["--collection", "faq", "--records", "people"], "is of folders, not of records"),
    ],
)
def test_a_mistake_is_one_clear_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    # Nothing listens there: a mistake is found before anything is asked or started.
    result = manta(tmp_path / "data", "http://127.0.0.1:9", str(tmp_path), *arguments)
    assert result.returncode == 2
    [line] = [each for each in result.stderr.splitlines() if each.strip()]
    assert line.startswith("manta: --collection")
    assert words in line
