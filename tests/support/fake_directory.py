"""A directory and documents from values, on the interfaces of the real ones."""

from __future__ import annotations

from typing import Any

from domain.errors import NotFound
from domain.records import Record, RecordKind
from retrieval.directory import Caller, LearningPlan, Objective, Profile, Task
from retrieval.uploads import Upload, UploadWindow

SKILLED = Profile(name="Ana Roskilly", role="Planner", skills=("Planning", "English"))


class FakeDirectory:
    """One owner's data; everybody else has none. An error is raised by every method."""

    def __init__(
        self,
        profile: Profile | None = None,
        objectives: tuple[Objective, ...] = (),
        tasks: tuple[Task, ...] = (),
        *,
        owner: tuple[str, str] = ("acme", "ana"),
        error: Exception | None = None,
    ) -> None:
        self._profile = profile
        self._objectives = objectives
        self._tasks = tasks
        self._owner = owner
        self.error = error
        self.callers: list[Caller] = []
        self.reads: list[str] = []
        self.saved: list[tuple[str, LearningPlan]] = []

    def _own(self, who: Caller, what: str) -> bool:
        self.callers.append(who)
        self.reads.append(what)
        if self.error is not None:
            raise self.error
        return (who.tenant, who.user) == self._owner

    async def profile(self, who: Caller) -> Profile:
        if not self._own(who, "profile") or self._profile is None:
            raise NotFound("the profile")
        return self._profile

    async def objectives(self, who: Caller) -> list[Objective]:
        return list(self._objectives) if self._own(who, "objectives") else []

    async def tasks(self, who: Caller) -> list[Task]:
        return list(self._tasks) if self._own(who, "tasks") else []

    async def task(self, who: Caller, task_id: str) -> Task:
        for task in self._tasks if self._own(who, "task") else ():
            if task.id == task_id:
                return task
        raise NotFound("the task")

    async def save_learning_plan(self, who: Caller, plan: LearningPlan, key: str) -> LearningPlan:
        self._own(who, "save")
        if key not in {saved for saved, _ in self.saved}:
            self.saved.append((key, plan))
        return plan


class FakeUploads:
    """Documents of one thread."""

    def __init__(self, thread: str = "acme|ana|c1", **texts: str) -> None:
        self._thread = thread
        self._texts = texts

    def _upload(self, name: str) -> Upload:
        text = self._texts[name]
        return Upload(
            id=name, name=f"{name}.txt", bytes=len(text), characters=len(text), language="en"
        )

    async def list(self, thread: str) -> list[Upload]:
        return [self._upload(name) for name in self._texts] if thread == self._thread else []

    async def window(self, thread: str, upload: str, offset: int, chars: int) -> UploadWindow:
        if thread != self._thread or upload not in self._texts:
            raise NotFound("the document")
        text = self._texts[upload][offset : offset + chars]
        return UploadWindow(document=self._upload(upload), offset=offset, text=text)


def records_of(kind: RecordKind, *rows: dict[str, Any]) -> list[Record]:
    """Records of one kind from a few fields."""
    given = {"kind": kind, "text": "t", "language": "en"}
    return [Record.model_validate({**given, **row}) for row in rows]
