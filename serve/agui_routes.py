"""``POST /v1/runs``: the AG-UI protocol, for the chat page and any AG-UI client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from config.policy import POLICY
from config.tenants import SPECIALISTS, Locale
from domain.errors import InvalidInput
from domain.messages import Message
from serve.agui_events import RunProjection
from serve.bounded_body import check_conversation, check_text, read_json, validated
from serve.gateway import Gateway, TurnRequest
from serve.identity import identify
from serve.turn_stream import SSE_HEADERS, kept_alive

FORWARDED = {"locale", "agent"}


def agui_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter()

    @routes.post("/v1/runs")
    async def runs(request: Request) -> StreamingResponse:
        identity = identify(request, gateway.settings, gateway.tenants)
        body = validated(RunAgentInput, await read_json(request))
        forwarded = _forwarded(body)
        turn = TurnRequest(
            identity=identity,
            messages=[_latest(body)],
            conversation=check_conversation(body.thread_id, "threadId"),
            entry=_entry(forwarded.get("agent")),
            locale=_locale(forwarded.get("locale")),
            run_id=check_conversation(body.run_id, "runId"),
        )
        gateway.check_entry(turn)
        lines = _stream(gateway, turn, body)
        return StreamingResponse(lines, media_type="text/event-stream", headers=SSE_HEADERS)

    return routes


async def _stream(gateway: Gateway, turn: TurnRequest, body: RunAgentInput) -> AsyncIterator[str]:
    encoder = EventEncoder()
    projection = RunProjection(body.thread_id, body.run_id)
    yield encoder.encode(projection.started())
    async with gateway.turn(turn) as pump:
        async for event in kept_alive(pump):
            if event is None:
                yield ": keep-alive\n\n"
                continue
            for projected in projection.project(event):
                yield encoder.encode(projected)


def _latest(body: RunAgentInput) -> Message:
    """The user's last message: the server keeps the history by ``threadId``."""
    if body.model_extra:
        name = sorted(body.model_extra)[0]
        raise InvalidInput(name, "is not a field of a run", "remove it")
    if len(body.messages) > POLICY.input.messages:
        raise InvalidInput("messages", f"has more than {POLICY.input.messages} items", "send fewer")
    if not body.messages or body.messages[-1].role != "user":
        raise InvalidInput("messages", "does not end with a user message", "end with one")
    content = body.messages[-1].content
    if not isinstance(content, str):
        parts: list[str] = []
        for index, part in enumerate(content):
            text = getattr(part, "text", None)
            if not isinstance(text, str):
                raise InvalidInput(
                    f"messages.{len(body.messages) - 1}.content.{index}",
                    "is not text",
                    "send text only",
                )
            parts.append(text)
        content = "\n".join(parts)
    field = f"messages.{len(body.messages) - 1}.content"
    check_text(content, field)
    if not content.strip():
        raise InvalidInput(field, "is empty", "write something")
    return Message(role="user", text=content)


def _forwarded(body: RunAgentInput) -> dict[str, Any]:
    forwarded = body.forwarded_props or {}
    if not isinstance(forwarded, dict):
        raise InvalidInput("forwardedProps", "is not an object", "send an object")
    unknown = sorted(set(forwarded) - FORWARDED)
    if unknown:
        raise InvalidInput(f"forwardedProps.{unknown[0]}", "is not known", "remove it")
    return forwarded


def _locale(value: object) -> Locale | None:
    if value is None:
        return None
    for known in ("en", "fr", "de"):
        if value == known:
            return known
    raise InvalidInput("forwardedProps.locale", "is not supported", "use en, fr or de")


def _entry(value: object) -> str | None:
    if value is None or value in SPECIALISTS:
        return value
    raise InvalidInput("forwardedProps.agent", "does not exist", f"use one of {SPECIALISTS}")
