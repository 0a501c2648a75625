"""``/v1/runs/{run_id}``: seeing a run again, on any replica, and stopping it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from domain.errors import InvalidInput, NotFound
from domain.requests import owner_id
from serve.bounded_body import check_conversation
from serve.gateway import Gateway
from serve.identity import Identity, not_the_callers
from serve.run_log import RunEvent, RunName
from serve.turn_stream import SSE_HEADERS

LAST_EVENT_ID = "Last-Event-ID"
DIGITS = 10


def run_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter()

    @routes.post("/v1/runs/{run_id:path}/stop")
    async def stop(run_id: str, request: Request) -> Response:
        identity = await gateway.authenticator.identify(request, "chat")
        await gateway.runs.stop(await _known(gateway, identity, run_id))
        return Response(status_code=202)

    @routes.get("/v1/runs/{run_id:path}")
    async def run(run_id: str, request: Request) -> StreamingResponse:
        identity = await gateway.authenticator.identify(request, "chat")
        after = _after(request)
        name = await _known(gateway, identity, run_id)
        return run_response(gateway.runs.follow(name, after))

    return routes


def run_name(identity: Identity, run_id: str) -> RunName:
    """The run of this name of this owner; nobody else's can be named."""
    return RunName(owner_id(identity.tenant, identity.user), run_id)


def run_response(events: AsyncGenerator[RunEvent | None, None]) -> StreamingResponse:
    """Events of a run as server-sent events with their numbers."""
    return StreamingResponse(_lines(events), media_type="text/event-stream", headers=SSE_HEADERS)


async def _lines(events: AsyncGenerator[RunEvent | None, None]) -> AsyncIterator[str]:
    async with aclosing(events):
        async for event in events:
            if event is None:
                yield ": keep-alive\n\n"
            else:
                yield f"id: {event.seq}\ndata: {event.data}\n\n"


async def _known(gateway: Gateway, identity: Identity, run_id: str) -> RunName:
    name = run_name(identity, check_conversation(run_id, "runId"))
    try:
        await gateway.runs.check(name)
    except NotFound:
        raise not_the_callers(identity, "run") from None
    return name


def _after(request: Request) -> int:
    """The number of the last event that the client has. The header is the newer word: a browser
    that reconnects repeats the address with its query."""
    given = request.headers.get(LAST_EVENT_ID)
    field = LAST_EVENT_ID if given is not None else "after"
    value = given if given is not None else request.query_params.get("after", "")
    if not value:
        return 0
    if not (value.isascii() and value.isdecimal() and len(value) <= DIGITS):
        raise InvalidInput(field, "is not the number of an event", "send the last id you received")
    return int(value)
