"""Following a run that another process owns, by its log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import suppress

from config.policy import RunLimits
from domain.errors import StoreUnavailable
from serve.run_log import RunEvent, RunLog, RunName

log = logging.getLogger("manta.serve")
LOOKS_A_HEARTBEAT = 10
WATCHED_HEARTBEATS = 3.0


async def read_run(
    kept: RunLog, name: RunName, after: int, keepalive_seconds: float, limits: RunLimits
) -> AsyncGenerator[RunEvent | None, None]:
    """The events after number ``after`` to the last one; ``None`` now and then, for a proxy.

    A run whose owner died ends with the error that its owner had left. When the log itself is gone
    or cannot be read, the events end without a last one, and a client that comes again learns why.
    """
    leaving = asyncio.Event()
    watching = asyncio.create_task(_watch(kept, name, limits, leaving))
    spoke = time.monotonic()
    try:
        while True:
            page = await kept.read(name, after)
            for event in page.events:
                yield event
                after = event.seq
                if event.last:
                    return
            now = time.monotonic()
            if page.events:
                spoke = now
                continue
            if page.ended or not page.known:
                return
            if not page.alive:
                await kept.declare_lost(name)
                continue
            if now - spoke >= keepalive_seconds:
                spoke = now
                yield None
            await asyncio.sleep(limits.heartbeat_seconds / LOOKS_A_HEARTBEAT)
    except StoreUnavailable as error:
        log.warning("run_not_read", extra={"reason": error.reason})
    finally:
        leaving.set()
        await asyncio.wait({watching})


async def _watch(kept: RunLog, name: RunName, limits: RunLimits, leaving: asyncio.Event) -> None:
    """Let the owner know that somebody reads, also while that reader takes nothing.

    It is told to end instead of being cancelled: before Python 3.12 ``asyncio.wait_for``, which the
    client of Redis sends with, may swallow a cancellation.
    """
    while not leaving.is_set():
        try:
            await kept.watch(name, limits.heartbeat_seconds * WATCHED_HEARTBEATS)
        except StoreUnavailable as error:
            log.warning("run_not_watched", extra={"reason": error.reason})
        with suppress(TimeoutError):
            async with asyncio.timeout(limits.heartbeat_seconds):
                await leaving.wait()
