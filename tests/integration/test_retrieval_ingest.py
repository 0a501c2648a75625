"""Folders into the store: again and again, with what is broken, and as Ray tasks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from config.settings import Settings
from domain.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from domain.passages import Passage
from providers.embedding import LocalEmbedder
from retrieval.ingest import IngestSummary, ingest
from retrieval.search import DocumentSearch
from retrieval.store import PassageStore

pytestmark = pytest.mark.integration

TEXTS = {
    "leave.md": "# Leave\n\nEvery colleague may carry five days over into the next year.\n",
    "sub/reisen.md": "# Reisen\n\nDie Reisekosten werden innerhalb von 30 Tagen erstattet.\n",
    "conges.txt": "Chaque collègue peut reporter cinq jours de congé sur l’année suivante.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "documents"
    for name, text in TEXTS.items():
        (documents / name).parent.mkdir(parents=True, exist_ok=True)
        (documents / name).write_text(text, encoding="utf-8")
    (documents / ".hidden.md").write_text("# Hidden", encoding="utf-8")
    (documents / "notes.xyz").write_text("not a document", encoding="utf-8")
    return documents


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data")


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4().hex[:8]}"


def index(folder: Path, tenant: str, settings: Settings, uri: str, **more: object) -> IngestSummary:
    return asyncio.run(ingest(folder, tenant, settings, uri, **more))  # type: ignore[arg-type]


def ask(uri: str, tenant: str, question: str) -> list[Passage]:
    async def run() -> list[Passage]:
        store = PassageStore(uri, LocalEmbedder())
        try:
            return await DocumentSearch(store, LocalEmbedder()).search(tenant, question)
        finally:
            await store.close()

    return asyncio.run(run())


def test_a_second_run_writes_nothing(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    steps: list[tuple[int, int, str]] = []
    first = index(folder, tenant, settings, milvus_uri, progress=lambda *step: steps.append(step))
    assert (first.added, first.chunks, first.failed) == (3, 3, [])
    assert [step[:2] for step in steps] == [(1, 3), (2, 3), (3, 3)]
    second = index(folder, tenant, settings, milvus_uri)
    assert (second.unchanged, second.wrote, second.chunks) == (3, False, 0)


def test_a_link_that_leaves_the_folder_is_reported_and_not_read(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("The vault's code is 4711.\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    summary = index(folder, tenant, settings, milvus_uri)
    assert [file for file, _ in summary.failed] == ["link.txt"]
    assert "leaves the folder" in summary.failed[0][1]
    assert all("4711" not in found.text for found in ask(milvus_uri, tenant, "vault code"))


def test_answers_name_title_language_and_no_other_tenant(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    index(folder, tenant, settings, milvus_uri)
    [first, *_] = ask(milvus_uri, tenant, "Wann wird eine Reise erstattet?")
    assert (first.title, first.language) == ("Reisen", "de")
    assert "innerhalb von 30 Tagen" in first.text
    assert ask(milvus_uri, f"{tenant}-2", "Wann wird eine Reise erstattet?") == []


def test_changed_and_removed_files_go(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    index(folder, tenant, settings, milvus_uri)
    (folder / "leave.md").write_text("# Leave\n\nNobody may carry days over.\n", encoding="utf-8")
    (folder / "conges.txt").unlink()
    summary = index(folder, tenant, settings, milvus_uri)
    assert (summary.added, summary.changed, summary.removed, summary.unchanged) == (0, 1, 1, 1)
    texts = [passage.text for passage in ask(milvus_uri, tenant, "carry days over leave congé")]
    assert any("Nobody may carry" in text for text in texts)
    assert not any("five days" in text or "Chaque" in text for text in texts)


def test_two_folders_of_a_tenant_live_side_by_side(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str, tmp_path: Path
) -> None:
    other = tmp_path / "guides"
    other.mkdir()
    (other / "leave.md").write_text("# Guide\n\nAsk the porter for a key.\n", encoding="utf-8")
    index(folder, tenant, settings, milvus_uri)
    index(other, tenant, settings, milvus_uri)
    assert index(folder, tenant, settings, milvus_uri).unchanged == 3
    assert ask(milvus_uri, tenant, "Who has the key?")[0].title == "Guide"


def test_a_broken_file_is_reported_and_keeps_its_old_text(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    index(folder, tenant, settings, milvus_uri)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 no")
    (folder / "leave.md").write_bytes(b"# Leave \x00")
    summary = index(folder, tenant, settings, milvus_uri)
    assert [name for name, _ in summary.failed] == ["broken.pdf", "leave.md"]
    assert "is not a readable PDF file" in summary.failed[0][1]
    assert (summary.unchanged, summary.wrote) == (2, False)
    assert "five days" in ask(milvus_uri, tenant, "carry over days of leave")[0].text


def test_a_crash_between_two_versions_is_mended(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    from retrieval.rows import StoredChunk

    index(folder, tenant, settings, milvus_uri)

    async def half_done() -> None:
        store = PassageStore(milvus_uri, LocalEmbedder())
        stale = StoredChunk("documents", "leave.md", "old", 0, "Leave", "", 0, "en", "Stale text.")
        await store.write(tenant, [stale], await LocalEmbedder().embed([stale.text]))
        await store.close()

    asyncio.run(half_done())
    assert index(folder, tenant, settings, milvus_uri).changed == 1
    assert not any("Stale" in passage.text for passage in ask(milvus_uri, tenant, "stale text"))


def test_ray_tasks_do_the_same(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    import ray

    (folder / "broken.docx").write_bytes(b"PK no")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    try:
        summary = index(folder, tenant, settings, milvus_uri)
        assert (summary.added, summary.chunks) == (3, 3)
        assert [name for name, _ in summary.failed] == ["broken.docx"]
        served = settings.model_copy(
            update={"embedding_model": "m", "openai_base_url": "http://127.0.0.1:9/v1"}
        )
        with pytest.raises(ModelUnavailable):
            index(folder, tenant, served, milvus_uri)
    finally:
        ray.shutdown()


def test_what_cannot_be_indexed_is_refused(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    with pytest.raises(InvalidInput, match="is not a folder"):
        index(folder / "leave.md", tenant, settings, milvus_uri)
    with pytest.raises(StoreUnavailable):
        index(folder, tenant, settings, "http://127.0.0.1:9")


def test_two_runs_do_not_mix(
    folder: Path, tenant: str, settings: Settings, milvus_uri: str
) -> None:
    async def together() -> list[IngestSummary | BaseException]:
        return await asyncio.gather(
            *(ingest(folder, tenant, settings, milvus_uri) for _ in range(2)),
            return_exceptions=True,
        )

    outcomes = asyncio.run(together())
    assert sum(isinstance(outcome, StoreUnavailable) for outcome in outcomes) == 1
