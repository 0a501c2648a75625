"""Runs' logs in memory, on the interface of :class:`serve.run_log.RunLog`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from config.policy import POLICY, RunLimits
from domain.errors import StoreUnavailable
from serve.run_log import PAGE, LogPage, RunEvent, RunName, Signals


@dataclass
class Kept:
    thread: str
    lost: str
    alive_until: float
    events: list[RunEvent] = field(default_factory=list)
    stop: bool = False
    watched_until: float = 0.0


class FakeRunLog:
    """Keeps everything until it is forgotten; ``down`` makes every call fail."""

    def __init__(self, limits: RunLimits = POLICY.run) -> None:
        self.limits = limits
        self.logs: dict[RunName, Kept] = {}
        self.down = False
        self.batches: list[int] = []

    async def claim(self, name: RunName, thread: str, first: RunEvent, lost: str) -> bool:
        self._check()
        if name in self.logs:
            return False
        self.logs[name] = Kept(thread, lost, self._until(), [first])
        return True

    async def write(self, name: RunName, thread: str, events: Sequence[RunEvent]) -> Signals:
        self._check()
        kept = self.logs.get(name)
        if kept is None:
            return Signals("forgotten")
        if kept.events[-1].seq > self.limits.kept_events:
            return Signals("lost")
        self.batches.append(len(events))
        kept.events += [event for event in events if event.seq > kept.events[-1].seq]
        kept.alive_until = self._until()
        return Signals("kept", stop=kept.stop, watched=kept.watched_until > time.monotonic())

    async def read(self, name: RunName, after: int) -> LogPage:
        self._check()
        kept = self.logs.get(name)
        if kept is None:
            return LogPage((), known=False, alive=False, ended=False)
        found = tuple(event for event in kept.events if event.seq > after)[:PAGE]
        ended = not found and kept.events[-1].last
        return LogPage(found, known=True, alive=kept.alive_until > time.monotonic(), ended=ended)

    async def known(self, name: RunName) -> bool:
        self._check()
        return name in self.logs

    async def watch(self, name: RunName, seconds: float) -> None:
        self._check()
        self.logs[name].watched_until = time.monotonic() + seconds

    async def ask_stop(self, name: RunName) -> None:
        self._check()
        self.logs[name].stop = True

    async def declare_lost(self, name: RunName) -> None:
        self._check()
        kept = self.logs[name]
        if not kept.events[-1].last:
            kept.events.append(RunEvent(self.limits.kept_events + 1, kept.lost, last=True))

    async def forget(self, thread: str) -> None:
        self._check()
        self.logs = {name: kept for name, kept in self.logs.items() if kept.thread != thread}

    def _until(self) -> float:
        return time.monotonic() + self.limits.lost_seconds

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable("Redis", "ConnectionError")
