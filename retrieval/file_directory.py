"""The directory in the operator's files: read once at start, checked line by line."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from config.tenants import describe_validation
from domain.errors import InvalidConfiguration, NotFound
from retrieval.directory import Caller, LearningPlan, Objective, Profile, Task, by_due_date
from retrieval.json_lines import numbered_lines
from retrieval.plan_file import PlanFile

SETTING = "MANTA_DIRECTORY"
PROFILES, OBJECTIVES, TASKS = "profiles.jsonl", "objectives.jsonl", "tasks.jsonl"
PLANS = "learning_plans.jsonl"

Owner = tuple[str, str]
"""A tenant and a user of it."""


class _Owned(BaseModel):
    """What every line says beside the value: whose it is."""

    tenant: str
    user: str


class _ProfileLine(_Owned, Profile):
    pass


class _ObjectiveLine(_Owned, Objective):
    pass


class _TaskLine(_Owned, Task):
    pass


Line = TypeVar("Line", bound=_Owned)
Value = TypeVar("Value", bound=Objective | Task)


class FileDirectory:
    """Profiles, objectives and tasks from JSON Lines files of one folder, each optional.

    Learning plans are appended to a file under ``data``.

    Args:
        folder: ``None`` is an empty directory.

    Raises:
        InvalidConfiguration: names the file, the line and the field.
    """

    def __init__(self, folder: Path | None, data: Path) -> None:
        if folder is not None and not folder.is_dir():
            raise InvalidConfiguration(
                SETTING, f"{folder} is no folder", "name a folder of JSON Lines files"
            )
        self._profiles = _profiles(folder / PROFILES) if folder else {}
        self._objectives = (
            _by_owner(folder / OBJECTIVES, _ObjectiveLine, Objective) if folder else {}
        )
        self._tasks = _by_owner(folder / TASKS, _TaskLine, Task) if folder else {}
        self._plans = PlanFile(data / PLANS)

    async def profile(self, who: Caller) -> Profile:
        try:
            return self._profiles[(who.tenant, who.user)]
        except KeyError:
            raise NotFound("the profile") from None

    async def objectives(self, who: Caller) -> list[Objective]:
        return list(self._objectives.get((who.tenant, who.user), ()))

    async def tasks(self, who: Caller) -> list[Task]:
        return list(self._tasks.get((who.tenant, who.user), ()))

    async def task(self, who: Caller, task_id: str) -> Task:
        for task in self._tasks.get((who.tenant, who.user), ()):
            if task.id == task_id:
                return task
        raise NotFound("the task")

    async def save_learning_plan(self, who: Caller, plan: LearningPlan, key: str) -> LearningPlan:
        return await asyncio.to_thread(self._plans.save, who.tenant, who.user, key, plan)


def _profiles(path: Path) -> dict[Owner, Profile]:
    profiles: dict[Owner, Profile] = {}
    for number, line in _lines(path, _ProfileLine):
        owner = (line.tenant, line.user)
        if owner in profiles:
            raise InvalidConfiguration(
                f"{path}, line {number}: user", f"{line.user} has two profiles", "remove one"
            )
        profiles[owner] = Profile(**_value(line))
    return profiles


def _by_owner(path: Path, model: type[Line], value: type[Value]) -> dict[Owner, list[Value]]:
    owned: dict[Owner, list[Value]] = {}
    for number, line in _lines(path, model):
        item = value(**_value(line))
        own = owned.setdefault((line.tenant, line.user), [])
        if any(other.id == item.id for other in own):
            raise InvalidConfiguration(
                f"{path}, line {number}: id", f"{item.id} is {line.user}'s twice", "give another"
            )
        own.append(item)
    return {owner: by_due_date(items) for owner, items in owned.items()}


def _lines(path: Path, model: type[Line]) -> list[tuple[int, Line]]:
    if not path.exists():
        return []
    lines: list[tuple[int, Line]] = []
    for number, text in numbered_lines(path, SETTING):
        try:
            lines.append((number, model.model_validate_json(text)))
        except ValidationError as error:
            raise describe_validation(error, f"{path}, line {number}: ") from error
    return lines


def _value(line: _Owned) -> dict[str, object]:
    return line.model_dump(exclude={"tenant", "user"})
