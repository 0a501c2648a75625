"""An MCP server on loopback, made with the protocol's own SDK, that a test tells what to answer."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
}


class McpService:
    """One tool, ``search_rules``. ``answers`` are given one a call, the last one again and again:
    passages, a text, an error that is raised, or a number of seconds to be silent before."""

    def __init__(self) -> None:
        self.own_address = ""
        self.reset()

    def reset(self) -> None:
        self.answers: list[Any] = [[]]
        self.tools = ["search_rules"]
        self.status = 200
        self.calls: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()
        self.address = self.own_address

    @property
    def url(self) -> str:
        return f"http://{self.address}/mcp"

    async def list_tools(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        made = [Tool(name=name, description="Rules.", input_schema=SCHEMA) for name in self.tools]
        return ListToolsResult(tools=made)

    async def call_tool(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        self.calls.append({"name": params.name, **(params.arguments or {})})
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, int | float):
            await asyncio.sleep(answer)
            answer = []
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return CallToolResult(content=[TextContent(text=answer)])
        content = {"passages": answer}
        text = TextContent(text=json.dumps(content))
        return CallToolResult(content=[text], structured_content=content)

    def app(self) -> Starlette:
        server: Server[Any] = Server(
            "rules", on_list_tools=self.list_tools, on_call_tool=self.call_tool
        )
        manager = StreamableHTTPSessionManager(server, stateless=True)

        async def endpoint(scope: Any, receive: Any, send: Any) -> None:
            self.tokens.add(Request(scope).headers.get("authorization"))
            if self.status == 200:
                await manager.handle_request(scope, receive, send)
            else:
                await PlainTextResponse("no", self.status)(scope, receive, send)

        @asynccontextmanager
        async def running(app: Starlette) -> AsyncIterator[None]:
            async with manager.run():
                yield

        return Starlette(routes=[Route("/mcp", endpoint=Whole(endpoint))], lifespan=running)


class Whole:
    """An ASGI application as the endpoint of a route: what is no function gets the raw request."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)


@contextmanager
def mcp_service() -> Iterator[McpService]:
    service = McpService()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    service.own_address = f"127.0.0.1:{listener.getsockname()[1]}"
    service.reset()
    config = uvicorn.Config(
        service.app(), lifespan="on", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield service
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


def closed_port() -> str:
    """An address on loopback where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"
