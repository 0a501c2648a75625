"""A real HTTP model server whose behaviour a test scripts.

It speaks chat completions (streams, tools, structured output, usage), responses, decisions and
embeddings. Replies are scripted by the task label that Manta sends; what is not scripted gets an
ordinary reply. A model's name gives its latency: ``scripted-ttft300-itl10-len120`` waits 300 ms for
the first token and 10 ms for each further one of 120.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import uvicorn
from scripted_replies import Calls, Chosen, Malformed, Refused, Reply, Silent, Status, Text
from scripted_wire import (
    Spoken,
    chat_chunk,
    chat_completion,
    chat_message,
    chat_usage_chunk,
    finish_reason,
    pieces,
    prompt_tokens,
    response_events,
    response_object,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

_LATENCY = re.compile(r"scripted-ttft(\d+)-itl(\d+)-len(\d+)")
REPLY_TOOL = "reply_to_user"
Rule = Callable[[dict[str, Any]], Reply | None]
DIMENSIONS = 8


class ModelServer:
    """Scripts by task; ``requests`` keeps what was asked, in order."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.open_requests = 0
        self._scripts: dict[str, deque[Reply]] = defaultdict(deque)
        self._rules: dict[str, Rule] = {}
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self.port = 0

    def script(self, task: str, *replies: Reply) -> None:
        """The next replies to ``task``, one a call."""
        self._scripts[task].extend(replies)

    def rule(self, task: str, rule: Rule) -> None:
        """How calls of ``task`` without a script are answered; ``None`` is the ordinary reply."""
        self._rules[task] = rule

    def reset(self) -> None:
        self.requests.clear()
        self._scripts.clear()
        self._rules.clear()

    def asked(self, task: str) -> list[dict[str, Any]]:
        """The bodies of the calls of ``task`` so far."""
        return [seen["body"] for seen in self.requests if seen["task"] == task]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self, port: int = 0) -> ModelServer:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(self.app(), log_level="warning", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, daemon=True
        )
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(5)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/responses", self._responses, methods=["POST"]),
                Route("/v1/decisions", self._decisions, methods=["POST"]),
                Route("/v1/embeddings", self._embeddings, methods=["POST"]),
            ]
        )

    async def _next(self, request: Request) -> tuple[dict[str, Any], Reply | None]:
        body = await request.json()
        task = request.headers.get("x-manta-task", "")
        self.requests.append({"task": task, "path": request.url.path, "body": body})
        script = self._scripts.get(task)
        if script:
            return body, script.popleft()
        rule = self._rules.get(task)
        return body, rule(body) if rule else None

    async def _unspoken(self, request: Request, reply: Reply | None) -> Response | None:
        """The reply of a request that fails below the protocol."""
        if isinstance(reply, Status):
            return JSONResponse(reply.body, status_code=reply.code)
        if isinstance(reply, Malformed):
            return Response(reply.body, media_type="application/json")
        if isinstance(reply, Silent):
            self.open_requests += 1
            try:
                until = time.monotonic() + reply.seconds
                while time.monotonic() < until and not await request.is_disconnected():
                    await asyncio.sleep(0.05)
            finally:
                self.open_requests -= 1
            return JSONResponse({"error": {"message": "silent"}}, status_code=500)
        return None

    async def _chat(self, request: Request) -> Response:
        body, reply = await self._next(request)
        failed = await self._unspoken(request, reply)
        if failed is not None:
            return failed
        spoken = _spoken(body, reply)
        if body.get("stream"):
            return StreamingResponse(
                self._counted(_chat_stream(body, spoken)), media_type="text/event-stream"
            )
        await asyncio.sleep(_latency(body, spoken))
        return JSONResponse(chat_completion(body, spoken))

    async def _responses(self, request: Request) -> Response:
        body, reply = await self._next(request)
        failed = await self._unspoken(request, reply)
        if failed is not None:
            return failed
        spoken = _spoken(body, reply)
        if body.get("stream"):
            return StreamingResponse(
                self._counted(_response_stream(body, spoken)), media_type="text/event-stream"
            )
        await asyncio.sleep(_latency(body, spoken))
        return JSONResponse(response_object(body, spoken))

    async def _decisions(self, request: Request) -> Response:
        body, reply = await self._next(request)
        failed = await self._unspoken(request, reply)
        if failed is not None:
            return failed
        question = body["questions"][0]
        values = [choice["value"] for choice in question["choices"]]
        await asyncio.sleep(_times(body["model"])[0])
        answer: dict[str, Any]
        if isinstance(reply, Refused):
            answer = {"type": "refusal", "name": question.get("name")}
        else:
            value = reply.value if isinstance(reply, Chosen) else values[0]
            shares = reply.probabilities if isinstance(reply, Chosen) else None
            shares = shares or {v: float(v == value) for v in values}
            answer = {
                "type": "choice",
                "name": question.get("name"),
                "choice": value,
                "confidence": 0.9,
                "probabilities": [{"value": v, "probability": p} for v, p in shares.items()],
            }
        read = prompt_tokens(body)
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read,
        }
        return JSONResponse({"answers": [answer], "model": body["model"], "usage": usage})

    async def _embeddings(self, request: Request) -> Response:
        body, reply = await self._next(request)
        failed = await self._unspoken(request, reply)
        if failed is not None:
            return failed
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        size = body.get("dimensions") or DIMENSIONS
        data = [
            {"object": "embedding", "index": index, "embedding": _vector(text, size)}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return JSONResponse(
            {"object": "list", "data": data, "model": body["model"], "usage": usage}
        )

    async def _counted(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        self.open_requests += 1
        try:
            async for line in lines:
                yield line
        finally:
            self.open_requests -= 1


def _spoken(body: dict[str, Any], reply: Reply | None) -> Spoken:
    """The scripted reply in the form that the request asks for, or an ordinary one."""
    if isinstance(reply, Text | Calls | Refused):
        return reply
    structure = _structure(body)
    if structure is not None:
        value = reply.value if isinstance(reply, Chosen) else structure["choice"]["enum"][0]
        return Text(json.dumps({"choice": value}))
    names = [_tool_name(tool) for tool in body.get("tools") or ()]
    if REPLY_TOOL in names:
        return Calls(((REPLY_TOOL, {}),))
    if names:
        arguments = {"status": "unanswerable", "answer": "", "citations": []}
        return Calls(((names[-1], arguments),))
    return Text(" ".join(f"word{index}" for index in range(_times(body["model"])[2])))


def _structure(body: dict[str, Any]) -> dict[str, Any] | None:
    chat = (body.get("response_format") or {}).get("json_schema")
    responses = (body.get("text") or {}).get("format")
    schema = (chat or responses or {}).get("schema")
    return schema["properties"] if schema and "choice" in schema.get("properties", {}) else None


def _tool_name(tool: dict[str, Any]) -> str:
    return str(tool.get("name") or tool["function"]["name"])


async def _chat_stream(body: dict[str, Any], reply: Spoken) -> AsyncIterator[str]:
    first, between, _ = _times(body["model"])
    await asyncio.sleep(first)
    yield chat_chunk(body, {"role": "assistant", "content": ""})
    message = chat_message(reply)
    for piece in pieces(message["content"]) if message["content"] else ():
        yield chat_chunk(body, {"content": piece})
        await asyncio.sleep(between)
    for index, call in enumerate(message.get("tool_calls") or ()):
        yield chat_chunk(body, {"tool_calls": [{"index": index, **call}]})
    if message["refusal"]:
        yield chat_chunk(body, {"refusal": message["refusal"]})
    yield chat_chunk(body, {}, finish_reason(reply))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield chat_usage_chunk(body, reply)
    yield "data: [DONE]\n\n"


async def _response_stream(body: dict[str, Any], reply: Spoken) -> AsyncIterator[str]:
    first, between, _ = _times(body["model"])
    await asyncio.sleep(first)
    for line in response_events(body, reply):
        yield line
        if "output_text.delta" in line:
            await asyncio.sleep(between)


def _times(model: str) -> tuple[float, float, int]:
    """Seconds to the first token, between tokens, and the number of tokens."""
    found = _LATENCY.fullmatch(model)
    if not found:
        return 0.0, 0.0, 3
    return int(found[1]) / 1000, int(found[2]) / 1000, int(found[3])


def _latency(body: dict[str, Any], reply: Spoken) -> float:
    first, between, _ = _times(body["model"])
    length = len(pieces(reply.text)) if isinstance(reply, Text) else 1
    return first + between * length


def _vector(text: str, size: int) -> list[float]:
    """A deterministic vector: counts of letters, never all zeros."""
    counts = [1.0] * size
    for letter in text.lower():
        counts[ord(letter) % size] += 1.0
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    server = ModelServer().start(parser.parse_args().port)
    print(server.url, flush=True)
    threading.Event().wait()
