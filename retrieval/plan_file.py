"""Learning plans in one file that several processes append to, each plan once."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, ValidationError

from domain.errors import Unavailable
from retrieval.directory import LearningPlan

WHAT = "the file of learning plans"


class _SavedPlan(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: str
    user: str
    key: str
    plan: LearningPlan


class PlanFile:
    """JSON Lines under a lock of the file itself; the file appears with the first plan."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def save(self, tenant: str, user: str, key: str, plan: LearningPlan) -> LearningPlan:
        """Append ``plan``, or return what the same user has saved under ``key`` before.

        Raises:
            Unavailable: the file cannot be read or written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "r+b") as file:
                # The lock ends with the file, also when the process dies.
                fcntl.flock(file, fcntl.LOCK_EX)
                saved = _find(file, tenant, user, key)
                if saved is not None:
                    return saved
                line = _SavedPlan(tenant=tenant, user=user, key=key, plan=plan).model_dump_json()
                file.seek(0, os.SEEK_END)
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
                return plan
        except (OSError, ValidationError) as error:
            raise Unavailable(WHAT, type(error).__name__) from error


def _find(file: BinaryIO, tenant: str, user: str, key: str) -> LearningPlan | None:
    """The plan that is saved under ``key``. A last line without its end is what a crash has left
    of a plan that nobody was told is saved: it goes."""
    end = 0
    for line in file:
        if not line.endswith(b"\n"):
            file.truncate(end)
            break
        end += len(line)
        saved = _SavedPlan.model_validate_json(line)
        if (saved.tenant, saved.user, saved.key) == (tenant, user, key):
            return saved.plan
    return None
