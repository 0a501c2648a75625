"""Reading a running turn from an HTTP handler: keep-alives, and clients that go away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request

from actors.pump import Pump
from config.policy import POLICY
from domain.events import Event, TurnFinished, TurnStopped

SSE_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def kept_alive(pump: Pump[Event]) -> AsyncIterator[Event | None]:
    """The turn's events; ``None`` whenever nothing happened for the keep-alive interval."""
    while True:
        try:
            yield await pump.next(POLICY.stream.keepalive_seconds)
        except StopAsyncIteration:
            return
        except TimeoutError:
            if pump.ended:
                raise
            yield None


async def last_event(pump: Pump[Event], request: Request) -> TurnFinished | TurnStopped | None:
    """The turn's last event, for a client that wants the whole answer at once; ``None`` when the
    client went away, and leaving the turn's block then cancels it."""
    gone = asyncio.create_task(_disconnected(request))
    ending = asyncio.create_task(_last(pump))
    try:
        await asyncio.wait({gone, ending}, return_when=asyncio.FIRST_COMPLETED)
        return ending.result() if ending.done() else None
    finally:
        gone.cancel()
        ending.cancel()
        await asyncio.gather(gone, ending, return_exceptions=True)


async def _last(pump: Pump[Event]) -> TurnFinished | TurnStopped:
    last: Event | None = None
    async for event in kept_alive(pump):
        last = event if event is not None else last
    if not isinstance(last, TurnFinished | TurnStopped):
        raise RuntimeError("a turn ended without its last event")
    return last


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
