"""Reading a running turn from an HTTP handler: keep-alives, and clients that go away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.requests import Request

from actors.pump import Pump
from config.policy import POLICY
from domain.answers import Reply
from domain.events import Event, TurnFinished, TurnPaused, TurnStopped

LastEvent = TurnFinished | TurnPaused | TurnStopped
log = logging.getLogger("manta.serve")
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


async def last_event(pump: Pump[Event], request: Request) -> LastEvent | None:
    """The turn's last event, for a client that wants the whole answer at once; ``None`` when the
    client went away, and leaving the turn's block then cancels it."""
    gone = asyncio.create_task(_disconnected(request))
    ending = asyncio.create_task(whole_turn(pump))
    try:
        await asyncio.wait({gone, ending}, return_when=asyncio.FIRST_COMPLETED)
        return ending.result() if ending.done() else None
    finally:
        gone.cancel()
        ending.cancel()
        await asyncio.gather(gone, ending, return_exceptions=True)


async def whole_turn(
    pump: Pump[Event], heard: Callable[[Event], Awaitable[None]] | None = None
) -> LastEvent:
    """Take all events of a turn, telling ``heard`` of each; returns the last one."""
    last: Event | None = None
    async for event in kept_alive(pump):
        if event is None:
            continue
        last = event
        if heard is not None:
            await heard(event)
    if not isinstance(last, LastEvent):
        raise RuntimeError("a turn ended without its last event")
    return last


def said(event: TurnFinished | TurnPaused) -> Reply:
    """The whole reply. A client that cannot show a pause is never offered one; one that comes all
    the same is shown as the text of its questions."""
    if isinstance(event, TurnFinished):
        return event.reply
    parts = [part for part in (event.reply.text, event.pause.text) if part]
    return event.reply.model_copy(update={"text": "\n\n".join(parts)})


async def outlive(pump: Pump[Event], seconds: float) -> None:
    """Let a turn whose client went away go on to its end, for at most ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            async for _ in kept_alive(pump):
                continue
    except TimeoutError:
        log.info("turn_outlived_its_grace")
    finally:
        await pump.__aexit__()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
