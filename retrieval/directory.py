"""The task directory: the user's own tasks, from the operator's file."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from config.tenants import describe_validation
from domain.errors import InvalidConfiguration, NotFound


class Task(BaseModel):
    """One assigned task. ``due`` is a calendar date in the organisation's own time zone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: str
    user: str
    id: str
    title: str
    due: date | None = None
    status: Literal["open", "waiting", "done"] = "open"
    steps: tuple[str, ...] = ()
    notes: str = ""

    def brief(self) -> dict[str, str | None]:
        """What a list shows of it."""
        due = self.due.isoformat() if self.due else None
        return {"id": self.id, "title": self.title, "due": due, "status": self.status}

    def shown(self) -> dict[str, Any]:
        """The whole task as JSON data, without whose it is."""
        return self.model_dump(mode="json", exclude={"tenant", "user"})


class TaskDirectory(Protocol):
    """Where tasks come from; only the named user's are ever returned."""

    async def tasks(self, tenant: str, user: str) -> list[Task]:
        """The user's tasks, the earliest due first, undated ones last."""
        ...

    async def task(self, tenant: str, user: str, task_id: str) -> Task:
        """Raises NotFound when it is not there or not the user's."""
        ...


class FileTaskDirectory:
    """Tasks from a JSON Lines file, read once at start; no file means no tasks."""

    def __init__(self, path: Path | None) -> None:
        self._tasks: dict[tuple[str, str], list[Task]] = {}
        for task in _read(path) if path is not None else []:
            own = self._tasks.setdefault((task.tenant, task.user), [])
            if any(other.id == task.id for other in own):
                raise InvalidConfiguration(
                    f"{path}: id", f"{task.id} is {task.user}'s twice", "give one another id"
                )
            own.append(task)
        for tasks in self._tasks.values():
            tasks.sort(key=lambda task: (task.due or date.max, task.id))

    async def tasks(self, tenant: str, user: str) -> list[Task]:
        return list(self._tasks.get((tenant, user), ()))

    async def task(self, tenant: str, user: str, task_id: str) -> Task:
        for task in self._tasks.get((tenant, user), ()):
            if task.id == task_id:
                return task
        raise NotFound("the task")


def _read(path: Path) -> list[Task]:
    """Raises InvalidConfiguration with the line and the field."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfiguration(
            "MANTA_TASKS", f"{path} cannot be read", "name a JSON Lines file"
        ) from error
    tasks: list[Task] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            tasks.append(Task.model_validate_json(line))
        except ValidationError as error:
            raise describe_validation(error, f"{path}, line {number}: ") from error
    return tasks
