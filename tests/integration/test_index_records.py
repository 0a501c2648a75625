"""Records on the command line, at the demo's start, and through the retriever's handle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from served import DEMO, settings_for

from actors.handles import LocalPort
from actors.resources import ProcessResources
from actors.role_handles import RetrieverHandle
from actors.roles import build_role
from domain.errors import InvalidInput, NotFound
from domain.records import RECORD_KINDS, RecordFilters
from retrieval.records.loading import load_records
from serve.demo import index_demo

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
MANTA = str(Path(sys.executable).with_name("manta"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("data")
    return folder


def index(data: Path, kind: str, file: Path, milvus_uri: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MANTA, "index", "--records", kind, str(file), "--tenant", "blank", "--demo"],
        env={**os.environ, "MANTA_DATA": str(data), "MILVUS_URI": milvus_uri},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def people(folder: Path, *lines: Any) -> Path:
    path = folder / "people.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def person(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"P-{number}",
        "language": "en",
        "name": f"Person {number}",
        "role": "Diver",
        "team": "Turbines",
        "text": "Dives.",
        "speaks": ["en"],
        **fields,
    }


def test_the_command_prints_counts_and_is_idempotent(
    data: Path, tmp_path: Path, milvus_uri: str
) -> None:
    file = people(tmp_path, person(1), person(2))
    first = index(data, "people", file, milvus_uri)
    assert first.returncode == 0, first.stderr
    assert "people of blank: 2 added, 0 changed, 0 unchanged, 0 removed" in first.stderr
    file = people(tmp_path, person(2, role="Head diver"))
    again = index(data, "people", file, milvus_uri)
    assert "0 added, 1 changed, 0 unchanged, 1 removed" in again.stderr


@pytest.mark.parametrize(
    ("kind", "lines", "words"),
    [
        ("people", (person(1), person(2, speaks="en")), ("people.jsonl, line 2: speaks",)),
        ("people", (person(1), person(1)), ("people.jsonl, line 2: id", "line 1")),
        ("persons", (person(1),), ("--records", "persons is no kind", "occupations")),
    ],
)
def test_a_mistake_is_one_clear_line(
    data: Path, tmp_path: Path, kind: str, lines: Any, words: tuple[str, ...]
) -> None:
    # The server's address is of nothing: a mistake is found before anything is asked or started.
    result = index(data, kind, people(tmp_path, *lines), "http://127.0.0.1:9")
    assert result.returncode == 2
    [line] = [each for each in result.stderr.splitlines() if each.strip()]
    assert line.startswith("manta: ")
    for word in words:
        assert word in line


def test_a_missing_file_is_one_clear_line(data: Path, tmp_path: Path) -> None:
    result = index(data, "people", tmp_path / "gone.jsonl", "http://127.0.0.1:9")
    assert result.returncode == 2
    assert "gone.jsonl cannot be read" in result.stderr


def test_the_demos_start_indexes_its_records_and_a_second_start_writes_nothing(
    tmp_path: Path, milvus_uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(data=tmp_path / "data", milvus_uri=milvus_uri)
    index_demo(settings, milvus_uri)
    capsys.readouterr()
    started = time.monotonic()
    index_demo(settings, milvus_uri)
    assert time.monotonic() - started < 10.0
    said = " ".join(capsys.readouterr().err.split())
    for kind in RECORD_KINDS:
        count = len((DEMO / "records" / f"{kind}.jsonl").read_text().splitlines())
        assert f"{kind} of tidewater: 0 added, 0 changed, {count} unchanged, 0 removed" in said


async def test_the_retrievers_handle_reaches_the_records(tmp_path: Path, milvus_uri: str) -> None:
    tenant = f"t-{uuid4().hex[:8]}"
    settings = settings_for(data=tmp_path, milvus_uri=milvus_uri)
    file = people(
        tmp_path,
        person(1, skills=["diving"], available_from="2027-02-01"),
        person(2, skills=["welding"], available_from="2027-03-01"),
        person(3, skills=["diving"]),
    )
    await load_records(file, "people", tenant, settings, milvus_uri)
    resources = ProcessResources(settings)
    role = build_role("retriever", resources, {})
    retriever = RetrieverHandle(LocalPort("retriever", role))
    try:
        await role.prepare()
        hits = await retriever.search_records(tenant, "people", "Who dives?", RecordFilters())
        assert {hit.record.id for hit in hits} == {"P-1", "P-2", "P-3"}
        divers = RecordFilters(skill="diving", starts_from=date(2027, 1, 1))
        hits = await retriever.search_records(tenant, "people", "", divers)
        assert [hit.record.id for hit in hits] == ["P-1"]
        hits = await retriever.search_records(
            tenant, "people", "dives", RecordFilters(skill="diving"), limit=1, exclude=("P-1",)
        )
        assert [hit.record.id for hit in hits] == ["P-3"]
        assert (await retriever.record(tenant, "people", "P-2")).title == "Person 2"
        with pytest.raises(NotFound):
            await retriever.record("tidewater", "people", "P-2")
        with pytest.raises(InvalidInput, match="place"):
            await retriever.search_records(tenant, "people", "", RecordFilters(place="?"))
    finally:
        await role.close()
        await resources.close()
