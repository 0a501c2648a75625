"""The task file: whose tasks are shown, in which order, and what is wrong in which line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidConfiguration, NotFound
from retrieval.directory import FileTaskDirectory


def task(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "tenant": "acme",
        "user": "ana",
        "id": f"T-{number}",
        "title": f"Task {number}",
        **fields,
    }


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "tasks.jsonl"
    written = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(written), encoding="utf-8")
    return path


async def test_no_file_means_no_tasks() -> None:
    assert await FileTaskDirectory(None).tasks("acme", "ana") == []


async def test_the_earliest_due_comes_first_and_the_undated_last(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        task(1),
        task(2, due="2027-03-01"),
        "",
        task(3, due="2027-01-31"),
        task(4, due="2027-01-31"),
    )
    found = await FileTaskDirectory(path).tasks("acme", "ana")
    assert [each.id for each in found] == ["T-3", "T-4", "T-2", "T-1"]
    assert found[0].brief() == {
        "id": "T-3",
        "title": "Task 3",
        "due": "2027-01-31",
        "status": "open",
    }


async def test_only_the_named_users_tasks_are_returned(tmp_path: Path) -> None:
    path = write(tmp_path, task(1), task(2, user="ben"), task(3, tenant="zoo"))
    directory = FileTaskDirectory(path)
    assert [each.id for each in await directory.tasks("acme", "ana")] == ["T-1"]
    assert (await directory.task("acme", "ben", "T-2")).title == "Task 2"
    for tenant, user in (("acme", "ana"), ("zoo", "ben")):
        with pytest.raises(NotFound, match="the task"):
            await directory.task(tenant, user, "T-2")


async def test_a_caller_cannot_change_the_directory(tmp_path: Path) -> None:
    directory = FileTaskDirectory(write(tmp_path, task(1)))
    (await directory.tasks("acme", "ana")).clear()
    assert len(await directory.tasks("acme", "ana")) == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (task(2, status="late"), "status"),
        (task(2, due="31.01.2027"), "due"),
        (task(2, owner="x"), "owner"),
        ({"tenant": "acme", "user": "ana", "id": "T-2"}, "title"),
        ("{", "(the whole document)"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number_and_field(
    tmp_path: Path, wrong: Any, field: str
) -> None:
    path = write(tmp_path, task(1), wrong)
    with pytest.raises(InvalidConfiguration) as caught:
        FileTaskDirectory(path)
    assert caught.value.field == f"{path}, line 2: {field}"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.jsonl", tmp_path):
        with pytest.raises(InvalidConfiguration) as caught:
            FileTaskDirectory(path)
        assert caught.value.field == "MANTA_TASKS"


async def test_a_line_ends_at_a_newline_only(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(task(1, notes="a\u2028b"), ensure_ascii=False))
    assert len(await FileTaskDirectory(path).tasks("acme", "ana")) == 1
