"""The directory connector: a user's own profile, objectives, tasks and learning plans.

What it holds comes from the operator's files (``file_directory.py``) or from a service of the
tenant that is asked with the user's own token (``rest_directory.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class Caller(BaseModel):
    """Whose data is asked for, and the token that proves it to the tenant's own systems."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: str
    user: str
    token: SecretStr | None = None


class _Own(BaseModel):
    """Something of the user's; whose it is stands beside it and never in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def shown(self) -> dict[str, Any]:
        """All of it as JSON data."""
        return self.model_dump(mode="json")


class Experience(_Own):
    """One station of a working life; ``until`` is empty for the present one."""

    role: str = Field(min_length=1)
    where: str = ""
    since: date | None = None
    until: date | None = None
    summary: str = ""


class Profile(_Own):
    """What is recorded about the user at work, and what the user would like."""

    name: str = Field(min_length=1)
    role: str = Field(min_length=1)
    team: str = ""
    place: str = ""
    level: str = ""
    summary: str = ""
    skills: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    experience: tuple[Experience, ...] = ()
    wishes: tuple[str, ...] = ()


class ActionStep(_Own):
    """One step of an objective's action plan."""

    text: str = Field(min_length=1)
    due: date | None = None
    done: bool = False


class Objective(_Own):
    """One objective of the user's; ``skills`` are those that it asks for."""

    id: str = Field(min_length=1)
    title: str = Field(min_length=1)
    description: str = ""
    status: Literal["open", "reached", "dropped"] = "open"
    due: date | None = None
    skills: tuple[str, ...] = ()
    action_plan: tuple[ActionStep, ...] = ()


class Task(_Own):
    """One assigned task. ``due`` is a calendar date in the organisation's own time zone."""

    id: str = Field(min_length=1)
    title: str = Field(min_length=1)
    due: date | None = None
    status: Literal["open", "waiting", "done"] = "open"
    steps: tuple[str, ...] = ()
    notes: str = ""

    def brief(self) -> dict[str, str | None]:
        """What a list shows of it."""
        due = self.due.isoformat() if self.due else None
        return {"id": self.id, "title": self.title, "due": due, "status": self.status}


class LearningPlan(_Own):
    """What the user decided to learn for an objective: trainings, and steps in their order."""

    objective_id: str = Field(min_length=1)
    objective: str = Field(min_length=1)
    training_ids: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


class Directory(Protocol):
    """Where a user's own data comes from; only the caller's is ever returned.

    Raises:
        Unavailable: by every method, when the directory did not answer or refused.
    """

    async def profile(self, who: Caller) -> Profile:
        """Raises NotFound when none is recorded."""
        ...

    async def objectives(self, who: Caller) -> list[Objective]:
        """The caller's objectives, the earliest due first, undated ones last."""
        ...

    async def tasks(self, who: Caller) -> list[Task]:
        """The caller's tasks, the earliest due first, undated ones last."""
        ...

    async def task(self, who: Caller, task_id: str) -> Task:
        """Raises NotFound when it is not there or not the caller's."""
        ...

    async def save_learning_plan(self, who: Caller, plan: LearningPlan, key: str) -> LearningPlan:
        """Save ``plan`` once: a second call of the same caller with the same ``key`` writes nothing
        and returns what the first one saved."""
        ...


def by_due_date(items: Iterable[Any]) -> list[Any]:
    """Tasks or objectives, the earliest due first, undated ones last."""
    return sorted(items, key=lambda item: (item.due or date.max, item.id))
