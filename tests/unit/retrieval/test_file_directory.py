"""The directory's files: whose data is shown, in which order, and what is wrong in which line."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from served import DEMO

from domain.errors import InvalidConfiguration, NotFound, Unavailable
from retrieval.directory import Caller, LearningPlan
from retrieval.file_directory import PLANS, FileDirectory
from retrieval.plan_file import PlanFile

ANA = Caller(tenant="acme", user="ana")
BEN = Caller(tenant="acme", user="ben")
FOREIGN = Caller(tenant="zoo", user="ana")
PLAN = LearningPlan(objective_id="B-1", objective="Lead", training_ids=("T-1",), steps=("Learn",))


def task(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "tenant": "acme",
        "user": "ana",
        "id": f"T-{number}",
        "title": f"Task {number}",
        **fields,
    }


def profile(user: str = "ana", **fields: Any) -> dict[str, Any]:
    return {"tenant": "acme", "user": user, "name": "Ana", "role": "Diver", **fields}


def objective(number: int, **fields: Any) -> dict[str, Any]:
    return {**task(number), "id": f"B-{number}", **fields}


def write(folder: Path, name: str, *lines: Any) -> Path:
    path = folder / f"{name}.jsonl"
    written = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(written), encoding="utf-8")
    return path


def directory(folder: Path | None, data: Path | None = None) -> FileDirectory:
    return FileDirectory(folder, data or Path("unused"))


@pytest.mark.parametrize("configured", [True, False])
async def test_each_file_is_optional(tmp_path: Path, configured: bool) -> None:
    empty = directory(tmp_path if configured else None)
    assert await empty.tasks(ANA) == await empty.objectives(ANA) == []
    with pytest.raises(NotFound, match="the profile"):
        await empty.profile(ANA)
    with pytest.raises(NotFound, match="the task"):
        await empty.task(ANA, "T-1")


async def test_the_earliest_due_comes_first_and_the_undated_last(tmp_path: Path) -> None:
    dues = [{}, {"due": "2027-03-01"}, {"due": "2027-01-31"}, {"due": "2027-01-31"}]
    write(tmp_path, "tasks", *(task(number, **due) for number, due in enumerate(dues, 1)), "")
    write(tmp_path, "objectives", *(objective(n, **due) for n, due in enumerate(dues, 1)))
    found = directory(tmp_path)
    tasks = await found.tasks(ANA)
    assert [each.id for each in tasks] == ["T-3", "T-4", "T-2", "T-1"]
    assert [each.id for each in await found.objectives(ANA)] == ["B-3", "B-4", "B-2", "B-1"]
    assert tasks[0].brief() == {
        "id": "T-3",
        "title": "Task 3",
        "due": "2027-01-31",
        "status": "open",
    }
    assert "tenant" not in tasks[0].shown() and "user" not in tasks[0].shown()


async def test_only_the_callers_own_is_returned(tmp_path: Path) -> None:
    write(tmp_path, "tasks", task(1), task(2, user="ben"), task(3, tenant="zoo"))
    write(tmp_path, "objectives", objective(1), objective(2, user="ben"))
    write(tmp_path, "profiles", profile(), profile("ben", name="Ben"))
    found = directory(tmp_path)
    assert [each.id for each in await found.tasks(ANA)] == ["T-1"]
    assert [each.id for each in await found.objectives(BEN)] == ["B-2"]
    assert (await found.profile(BEN)).name == "Ben"
    assert (await found.task(BEN, "T-2")).title == "Task 2"
    for who in (ANA, FOREIGN):
        with pytest.raises(NotFound, match="the task"):
            await found.task(who, "T-2")
    with pytest.raises(NotFound, match="the profile"):
        await found.profile(FOREIGN)


async def test_a_caller_cannot_change_the_directory(tmp_path: Path) -> None:
    write(tmp_path, "tasks", task(1))
    found = directory(tmp_path)
    (await found.tasks(ANA)).clear()
    assert len(await found.tasks(ANA)) == 1


@pytest.mark.parametrize(
    ("name", "wrong", "field"),
    [
        ("tasks", task(2, status="late"), "status"),
        ("tasks", task(2, due="31.01.2027"), "due"),
        ("tasks", task(2, owner="x"), "owner"),
        ("tasks", {"tenant": "acme", "user": "ana", "id": "T-2"}, "title"),
        ("tasks", task(1), "id"),
        ("tasks", "{", "(the whole document)"),
        ("objectives", objective(2, action_plan=[{"done": True}]), "action_plan.0.text"),
        ("objectives", objective(1), "id"),
        ("profiles", profile("ben", role=""), "role"),
        ("profiles", profile(), "user"),
        ("profiles", {"name": "Ben", "role": "x", "tenant": "acme"}, "user"),
    ],
)
def test_a_wrong_line_is_refused_with_its_file_number_and_field(
    tmp_path: Path, name: str, wrong: Any, field: str
) -> None:
    good = {"tasks": task(1), "objectives": objective(1), "profiles": profile()}[name]
    path = write(tmp_path, name, good, wrong)
    with pytest.raises(InvalidConfiguration) as caught:
        directory(tmp_path)
    assert caught.value.field == f"{path}, line 2: {field}"


def test_the_same_id_may_be_two_users(tmp_path: Path) -> None:
    write(tmp_path, "tasks", task(1), task(1, user="ben"))
    directory(tmp_path)


def test_a_folder_or_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        directory(tmp_path / "gone")
    assert caught.value.field == "MANTA_DIRECTORY"
    (tmp_path / "tasks.jsonl").mkdir()
    with pytest.raises(InvalidConfiguration) as caught:
        directory(tmp_path)
    assert caught.value.field == "MANTA_DIRECTORY"


async def test_a_line_ends_at_a_newline_only(tmp_path: Path) -> None:
    line = json.dumps(task(1, notes="a\u2028b"), ensure_ascii=False)
    write(tmp_path, "tasks", line)
    assert len(await directory(tmp_path).tasks(ANA)) == 1


async def test_a_plan_is_saved_once_for_each_user_and_key(tmp_path: Path) -> None:
    found = directory(None, tmp_path / "data")
    other = PLAN.model_copy(update={"objective": "Another"})
    assert await found.save_learning_plan(ANA, PLAN, "k1") == PLAN
    assert await found.save_learning_plan(ANA, other, "k1") == PLAN
    assert await found.save_learning_plan(ANA, other, "k2") == other
    assert await found.save_learning_plan(BEN, other, "k1") == other
    assert await found.save_learning_plan(FOREIGN, other, "k1") == other
    # A new process reads what the old one wrote.
    assert await directory(None, tmp_path / "data").save_learning_plan(ANA, other, "k1") == PLAN
    lines = (tmp_path / "data" / PLANS).read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["k1", "k2", "k1", "k1"]


def test_the_file_of_plans_is_its_owners_only(tmp_path: Path) -> None:
    PlanFile(tmp_path / "data" / PLANS).save("acme", "ana", "k", PLAN)
    assert (tmp_path / "data" / PLANS).stat().st_mode & 0o077 == 0


def save_many(path: Path, keys: list[str]) -> None:
    for key in keys:
        PlanFile(path).save("acme", "ana", key, PLAN)


def test_several_processes_save_each_plan_once(tmp_path: Path) -> None:
    path = tmp_path / PLANS
    keys = [f"k{number}" for number in range(40)]
    with ProcessPoolExecutor(4) as pool:
        for done in [pool.submit(save_many, path, keys) for _ in range(4)]:
            done.result()
    saved = [json.loads(line)["key"] for line in path.read_text().splitlines()]
    assert sorted(saved) == sorted(keys)


def test_what_a_crash_left_of_a_plan_is_removed_and_the_plan_saved_again(tmp_path: Path) -> None:
    plans = PlanFile(tmp_path / PLANS)
    plans.save("acme", "ana", "k1", PLAN)
    whole = (tmp_path / PLANS).read_bytes()
    plans.save("acme", "ana", "k2", PLAN)
    second = (tmp_path / PLANS).read_bytes()
    (tmp_path / PLANS).write_bytes(second[:-20])
    assert plans.save("acme", "ana", "k1", PLAN) == PLAN
    assert plans.save("acme", "ana", "k2", PLAN) == PLAN
    assert (tmp_path / PLANS).read_bytes() == second
    assert second.startswith(whole)


@pytest.mark.parametrize("content", [b"not json\n", None])
def test_a_file_of_plans_that_cannot_be_used_is_unavailable(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / PLANS
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(Unavailable, match="the file of learning plans"):
        PlanFile(path).save("acme", "ana", "k", PLAN)
    if content is not None:
        assert path.read_bytes() == content


async def test_the_demo_has_profiles_objectives_and_tasks_in_three_languages() -> None:
    found = directory(DEMO / "directory")
    for user, language in (("ana", "en"), ("louis", "fr"), ("greta", "de")):
        who = Caller(tenant="tidewater", user=user)
        assert (await found.profile(who)).languages[0] == language
        assert any(each.action_plan for each in await found.objectives(who))
        assert len(await found.tasks(who)) >= 4


def test_a_token_is_never_printed() -> None:
    who = Caller(tenant="acme", user="ana", token="secret-token")
    assert "secret-token" not in repr(who) + str(who) + who.model_dump_json()
