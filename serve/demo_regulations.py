"""The demo university's examination regulations: an MCP server that the demo starts beside itself.

It stands for the service that a university would run on its own: one tool, over streamable HTTP,
whose passages come with links as such services give them, tokens in their queries included.
"""

from __future__ import annotations

import json
import math
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from pydantic import BaseModel, ConfigDict
from starlette.applications import Starlette
from starlette.routing import Route

from config.policy import POLICY
from domain.errors import Unavailable

FILE = Path(__file__).resolve().parents[1] / "demo" / "university" / "regulations.jsonl"
PATH = "/mcp"
TOOL = "search_regulations"
PASSAGES = 5
START_SECONDS = 20.0

_K1, _B = 1.2, 0.75
"""The usual constants of BM25."""


class Paragraph(BaseModel):
    """One paragraph of a programme's regulations. ``also`` are other names of the programme."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    programme: str
    also: tuple[str, ...] = ()
    language: str
    section: str
    title: str
    text: str
    url: str

    def concerns(self, programme: str) -> bool:
        wanted = programme.casefold().strip()
        return wanted in {name.casefold() for name in (self.programme, *self.also)}


class Regulations:
    """The paragraphs in memory, searched by BM25 over the beginnings of their words.

    Beginnings stand in for stems, because German inflects: ``Prüfungen`` meets ``Prüfung``.
    """

    def __init__(self, paragraphs: Sequence[Paragraph]) -> None:
        self.paragraphs = tuple(paragraphs)
        self._words = [
            Counter(_stems(f"{p.section} {p.section} {p.title} {p.text}")) for p in paragraphs
        ]
        total = sum(words.total() for words in self._words)
        self._average = total / max(1, len(self._words))
        self._documents = Counter(word for words in self._words for word in words)

    @classmethod
    def load(cls, file: Path = FILE) -> Regulations:
        lines = file.read_text(encoding="utf-8").splitlines()
        return cls([Paragraph.model_validate(json.loads(line)) for line in lines])

    def search(self, query: str, programme: str | None, limit: int = PASSAGES) -> list[Paragraph]:
        """The paragraphs that share words with ``query``, best first; none when none does."""
        wanted = set(_stems(query))
        found = [
            (self._score(wanted, words), paragraph)
            for words, paragraph in zip(self._words, self.paragraphs, strict=True)
            if programme is None or paragraph.concerns(programme)
        ]
        ranked = sorted(found, key=lambda item: (-item[0], item[1].id))
        return [paragraph for score, paragraph in ranked if score > 0][:limit]

    def _score(self, wanted: set[str], words: Counter[str]) -> float:
        length = 1 - _B + _B * words.total() / self._average
        return sum(
            self._rarity(word) * words[word] * (_K1 + 1) / (words[word] + _K1 * length)
            for word in wanted & set(words)
        )

    def _rarity(self, word: str) -> float:
        count = self._documents[word]
        return math.log(1 + (len(self.paragraphs) - count + 0.5) / (count + 0.5))


def _stems(text: str) -> list[str]:
    # Words of up to three letters are articles and the like in both languages.
    return [word[:6] for word in re.findall(r"\w+", text.casefold()) if len(word) > 3]


def regulations_app(regulations: Regulations) -> Starlette:
    """The server as an ASGI application; it remembers nothing between requests."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_TOOL])

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        if params.name != TOOL:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:64]!r}")
        arguments = params.arguments or {}
        query, programme = arguments.get("query"), arguments.get("programme")
        if not isinstance(query, str) or not query.strip():
            return _failed("query is missing; send the words to look for")
        if programme is not None and not isinstance(programme, str):
            return _failed("programme is not text; send a name or leave it out")
        passages = [
            paragraph.model_dump(include={"title", "section", "text", "url"})
            for paragraph in regulations.search(query, programme or None)
        ]
        content = {"passages": passages}
        text = json.dumps(content, ensure_ascii=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=content)

    server: Server[Any] = Server("regulations", on_list_tools=list_tools, on_call_tool=call_tool)
    manager = StreamableHTTPSessionManager(
        server, stateless=True, max_request_body_size=POLICY.input.body_bytes
    )

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Route(PATH, endpoint=manager.asgi_app)], lifespan=running)


@contextmanager
def regulations_server() -> Iterator[str]:
    """Serve the demo's regulations on loopback; yields the ``address:port``.

    Raises:
        Unavailable: the server did not start.
    """
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            regulations_app(Regulations.load()),
            lifespan="on",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        # A loop of its own; a daemon, so that a second Ctrl-C is never held up by it.
        thread = threading.Thread(
            target=server.run,
            kwargs={"sockets": [listener]},
            name="demo-regulations",
            daemon=True,
        )
        try:
            thread.start()
            _await_start(server, thread)
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            if thread.ident is not None:
                thread.join(START_SECONDS)
    finally:
        listener.close()


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise Unavailable("the demo's examination regulations", "their server did not start")
        time.sleep(0.01)


def _failed(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=message)], is_error=True)


_TOOL = Tool(
    name=TOOL,
    description="Paragraphs of the examination regulations of the study programmes of the "
    "university: registration, attempts, retakes, withdrawal, theses, recognition.",
    input_schema={
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "The words to look for, German or English.",
                "minLength": 1,
            },
            "programme": {
                "type": "string",
                "description": "The study programme, for its own regulations only.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "passages": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        name: {"type": "string"} for name in ("title", "section", "text", "url")
                    },
                    "required": ["title", "section", "text", "url"],
                },
            }
        },
        "required": ["passages"],
    },
)
