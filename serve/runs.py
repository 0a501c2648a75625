"""The runs of a process: starting, following and stopping them, wherever they are owned."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from config.policy import POLICY, RunLimits
from domain.errors import NotFound, Unavailable
from serve.agui_events import RunProjection
from serve.owned_run import OwnedRun, Turn, run_event
from serve.run_log import RunEvent, RunLog, RunName
from serve.run_reader import read_run


class Runs:
    """Lives with the process; a run outlives the request that started it.

    Args:
        grace_seconds: how long a run goes on that nobody reads.
    """

    def __init__(
        self,
        kept: RunLog,
        grace_seconds: float,
        limits: RunLimits = POLICY.run,
        keepalive_seconds: float = POLICY.stream.keepalive_seconds,
    ) -> None:
        self._log = kept
        self._grace = grace_seconds
        self._limits = limits
        self._keepalive = keepalive_seconds
        self._owned: dict[RunName, OwnedRun] = {}
        self._closed = False

    async def start(
        self, name: RunName, thread: str, projection: RunProjection, turn: Turn
    ) -> bool:
        """Start ``turn`` as the run ``name``; False when its owner already had such a run, which
        is then not started again.

        Raises:
            StoreUnavailable: nothing was started.
            Unavailable: the process is stopping.
        """
        run = OwnedRun(name, projection, self._log, self._grace, self._limits)
        lost = run_event(0, projection.lost()).data
        if not await self._log.claim(name, thread, run.first, lost):
            return False
        if self._closed:
            # The claim is left to be found dead, as if this process had stopped a moment later.
            raise Unavailable("the chat", "it is stopping")
        self._owned[name] = run
        run.begin(turn, thread, lambda: self._over(run))
        return True

    async def check(self, name: RunName) -> None:
        """Raises NotFound for a run that its asker does not have, or not any more."""
        if name not in self._owned and not await self._log.known(name):
            raise NotFound("the run")

    def follow(self, name: RunName, after: int = 0) -> AsyncGenerator[RunEvent | None, None]:
        """The run's events after number ``after``, to its last one; ``None`` to keep proxies
        awake."""
        run = self._owned.get(name)
        if run is not None:
            return run.follow(after, self._keepalive)
        return read_run(self._log, name, after, self._keepalive, self._limits)

    async def stop(self, name: RunName) -> None:
        """Cancel a run, here or wherever it is owned. One that has ended stays as it is.

        Raises:
            NotFound: as in :meth:`check`.
        """
        await self.check(name)
        run = self._owned.get(name)
        if run is not None:
            run.end("stopped")
        else:
            await self._log.ask_stop(name)

    async def forget(self, thread: str) -> None:
        """Delete what is kept of a conversation's runs, and cancel those that still go on."""
        await self._log.forget(thread)

    async def close(self) -> None:
        """Cancel and drain every run; their logs end with the error ``shutting_down``."""
        self._closed = True
        runs = list(self._owned.values())
        for run in runs:
            run.end("shutting_down")
        tasks = {task for run in runs for task in run.tasks}
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=POLICY.nodes.drain)
        for run in runs:
            run.abandon()
        if late:
            await asyncio.wait(late)

    def _over(self, run: OwnedRun) -> None:
        if self._owned.get(run.name) is run:
            del self._owned[run.name]
