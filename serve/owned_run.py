"""A run in the process that owns it: the turn, its events in memory, and their way into the log.

The turn feeds the memory; whoever reads here is fed from it, at a pace of his own. A second task
writes behind what the log does not have yet, renews the heartbeat, hears of a stop asked for
elsewhere, and ends a run that nobody has read for the grace period.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal

from ag_ui.core import BaseEvent, RunErrorEvent, RunFinishedEvent

from actors.own_context import own_task
from actors.pump import Pump
from config.policy import RunLimits
from domain.errors import MantaError, StoreUnavailable
from domain.events import Event
from serve.agui_events import RunProjection
from serve.run_log import PAGE, RunEvent, RunLog, RunName, Signals

log = logging.getLogger("manta.serve")

Ending = Literal[
    "stopped",
    "abandoned",
    "forgotten",
    "shutting_down",
    "run_lost",
    "too_many_events",
    "unexpected",
]
"""Why a run ends before its turn did; the first three cancel it, the others are its error."""
CANCELLED = {"stopped", "abandoned", "forgotten"}
Turn = AbstractAsyncContextManager[Pump[Event]]


class OwnedRun:
    """Begun by :meth:`begin`, over when both of its ``tasks`` are done."""

    def __init__(
        self,
        name: RunName,
        projection: RunProjection,
        kept_by: RunLog,
        grace_seconds: float,
        limits: RunLimits,
    ) -> None:
        self.name = name
        self.tasks: set[asyncio.Task[None]] = set()
        self._projection = projection
        self._log = kept_by
        self._grace = grace_seconds
        self._limits = limits
        self._events = [run_event(1, projection.started())]
        self._changed = asyncio.Event()
        self._ending: Ending | None = None
        self._turn: asyncio.Task[None] | None = None
        self._readers = 0
        self._was_read = False
        self._abandoned = False
        self._alone_since: float | None = None

    @property
    def first(self) -> RunEvent:
        return self._events[0]

    @property
    def ended(self) -> bool:
        return self._events[-1].last

    def begin(self, turn: Turn, thread: str, over: Callable[[], None]) -> None:
        """Start the turn; ``over`` is called when nothing of the run goes on any more."""
        self._turn = own_task(self._play(turn))
        self._turn.add_done_callback(self._conclude)
        keeping = own_task(self._keep(thread))
        self.tasks = {self._turn, keeping}
        keeping.add_done_callback(self._unkept)
        keeping.add_done_callback(lambda _: over())

    def end(self, ending: Ending) -> None:
        """Cancel the turn; its events end when its clean-up has. The first reason counts."""
        if self._ending is None and not self.ended and self._turn is not None:
            self._ending = ending
            self._turn.cancel()

    def abandon(self) -> None:
        """Wait for nothing any more; what is not written by now stays unwritten.

        A flag and a cancellation: before Python 3.12 ``asyncio.wait_for``, which the client of
        Redis sends with, may swallow the latter.
        """
        self._abandoned = True
        for task in self.tasks:
            task.cancel()

    async def follow(
        self, after: int, keepalive_seconds: float
    ) -> AsyncGenerator[RunEvent | None, None]:
        """The events after number ``after`` to the last one; ``None`` now and then, for a proxy.

        A reader that stops taking them holds up nobody: what he did not take is kept once, for all.
        """
        self._readers += 1
        self._was_read = True
        try:
            while True:
                while after < len(self._events):
                    event = self._events[after]
                    after = event.seq
                    yield event
                if self.ended:
                    return
                if not await self._change(keepalive_seconds):
                    yield None
        finally:
            self._readers -= 1
            self._wake()

    async def _play(self, turn: Turn) -> None:
        pump: Pump[Event] | None = None
        try:
            async with turn as pump:
                await self._take_all(pump)
        except asyncio.CancelledError:
            if pump is not None and pump.ended and not pump.task.cancelled():
                # The turn was as good as over and came to its own end, which is then the run's.
                await self._take_all(pump)
            raise

    async def _take_all(self, pump: Pump[Event]) -> None:
        while True:
            try:
                event = await pump.next()
            except StopAsyncIteration:
                return
            if not self._append(self._projection.project(event)):
                self._ending = self._ending or "too_many_events"
                return

    def _append(self, projected: list[BaseEvent]) -> bool:
        """Take events in; False when there would be no room left for the run's end."""
        ends = bool(projected) and isinstance(projected[-1], RunErrorEvent | RunFinishedEvent)
        room = self._limits.kept_events - len(self._events) - self._projection.closing
        if len(projected) > room and not ends:
            return False
        for event in projected:
            self._events.append(run_event(len(self._events) + 1, event))
        self._wake()
        return True

    def _conclude(self, turn: asyncio.Task[None]) -> None:
        """Give the run its last event unless the turn did."""
        error = None if turn.cancelled() else turn.exception()
        if self.ended:
            return
        if error is not None:
            log.error("run_failed", extra={"error_type": type(error).__name__})
        if self._ending is None and isinstance(error, MantaError):
            self._append(self._projection.failed(error.code))
            return
        default: Ending = "shutting_down" if turn.cancelled() else "unexpected"
        ending = self._ending or default
        log.info("run_ended_early", extra={"ending": ending})
        if ending in CANCELLED:
            self._append(self._projection.cancelled())
        else:
            self._append(self._projection.failed(ending))

    async def _keep(self, thread: str) -> None:
        """Write behind until the last event is written; the first one the claim wrote."""
        written, heard = 1, time.monotonic()
        while not self._abandoned:
            seen = self._changed
            batch = self._events[written : written + PAGE]
            try:
                signals = await self._log.write(self.name, thread, batch)
            except StoreUnavailable as error:
                log.warning("run_not_written", extra={"reason": error.reason})
                if self.ended and time.monotonic() - heard > self._limits.lost_seconds:
                    return
                await asyncio.sleep(self._limits.heartbeat_seconds)
                continue
            heard = time.monotonic()
            written += len(batch)
            if signals.fate != "kept":
                self.end("run_lost" if signals.fate == "lost" else "forgotten")
                await self._until_ended()
                return
            if written == len(self._events) and self.ended:
                return
            wait = self._heed(signals)
            if written == len(self._events) and seen is self._changed:
                await self._change(wait)

    def _unkept(self, keeping: asyncio.Task[None]) -> None:
        """A run whose log nobody writes any more must not go on unseen."""
        if not keeping.cancelled() and (error := keeping.exception()) is not None:
            log.error("run_not_kept", extra={"error_type": type(error).__name__})
            self.end("unexpected")

    def _heed(self, signals: Signals) -> float:
        """Act on what the log tells; returns how long the next look at it may wait."""
        heartbeat = self._limits.heartbeat_seconds
        if signals.stop:
            self.end("stopped")
        if self._readers or signals.watched or self._ending or self.ended:
            self._alone_since = None
            return heartbeat
        now = time.monotonic()
        self._alone_since = self._alone_since or now
        # Between the start and the first reader lies the beginning of the response.
        grace = self._grace if self._was_read else max(self._grace, heartbeat)
        left = self._alone_since + grace - now
        if left <= 0:
            self.end("abandoned")
            return heartbeat
        return min(left, heartbeat)

    async def _until_ended(self) -> None:
        while not self.ended:
            await self._change(None)

    def _wake(self) -> None:
        """Wake everyone who waits, and let them wait for the next change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _change(self, seconds: float | None) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True


def run_event(seq: int, event: BaseEvent) -> RunEvent:
    last = isinstance(event, RunErrorEvent | RunFinishedEvent)
    return RunEvent(seq, event.model_dump_json(by_alias=True), last)
