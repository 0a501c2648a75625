"""An application on a real port, in the test's own event loop, and a reader of its streams."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from serve.app import build_app


@asynccontextmanager
async def listening(gateway: Any) -> AsyncIterator[str]:
    """Serve the whole application over ``gateway``; yields its address."""

    async def nothing() -> None:
        """There is nothing else to close."""

    app: FastAPI = build_app(gateway, nothing)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


def run_body(run_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "threadId": "t1",
        "runId": run_id,
        "messages": [{"id": "1", "role": "user", "content": "How many days?"}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        **fields,
    }


Numbered = tuple[int, dict[str, Any]]


async def numbered(reply: httpx.Response) -> AsyncIterator[Numbered]:
    """Number and document of each event of a stream."""
    number = 0
    async for line in reply.aiter_lines():
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("data: "):
            yield number, json.loads(line[6:])


async def taken(
    url: str, *, posted: dict[str, Any] | None, count: int | None = None, **options: Any
) -> list[Numbered]:
    """The first ``count`` events of a run, all of them without; then the connection is closed."""
    events: list[Numbered] = []
    method = "GET" if posted is None else "POST"
    async with (
        httpx.AsyncClient(trust_env=False, timeout=20) as client,
        client.stream(method, url, json=posted, **options) as reply,
    ):
        assert reply.status_code == 200, await reply.aread()
        if count == 0:
            return events
        async for event in numbered(reply):
            events.append(event)
            if len(events) == count:
                break
    return events
