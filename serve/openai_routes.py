"""``/v1/chat/completions`` and ``/v1/models``: Manta for any OpenAI client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from config.tenants import TenantConfig
from domain.answers import Reply
from domain.errors import ConversationBusy, NotFound
from domain.events import (
    Activity,
    Comment,
    Event,
    PauseAbandoned,
    StepFinished,
    StepStarted,
    TextDelivered,
    TextDelta,
    TurnFinished,
    TurnPaused,
    TurnStopped,
    Verdict,
)
from serve.bounded_body import check_conversation, read_json, validated
from serve.errors import stopped_object
from serve.gateway import Gateway, TurnRequest
from serve.openai_schemas import (
    MODEL,
    ChatCompletionRequest,
    chunk,
    completion,
    reply_fields,
    usage,
)
from serve.turn_stream import SSE_HEADERS, kept_alive, last_event, said

CLIENT_GONE = 499
"""Nobody reads this status; it is what access logs commonly show for a client that left."""
CREATED = 1_790_000_000
"""OpenAI's schema wants a date of a model; this one is the project's own, and fixed."""


def openai_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter()

    @routes.get("/v1/models")
    async def models(request: Request) -> dict[str, Any]:
        identity = await gateway.authenticator.identify(request, "chat")
        names = _model_names(gateway.tenants.get(identity.tenant))
        return {"object": "list", "data": [_model(name) for name in names]}

    @routes.get("/v1/models/{name:path}")
    async def model(name: str, request: Request) -> dict[str, Any]:
        identity = await gateway.authenticator.identify(request, "chat")
        if name not in _model_names(gateway.tenants.get(identity.tenant)):
            raise NotFound("the model")
        return _model(name)

    @routes.post("/v1/chat/completions")
    async def chat_completions(request: Request) -> Response:
        identity = await gateway.authenticator.identify(request, "chat")
        body = validated(ChatCompletionRequest, await read_json(request))
        conversation = body.metadata.get("conversation")
        if conversation is not None:
            check_conversation(conversation, "metadata.conversation")
        run_id = uuid4().hex
        turn = TurnRequest(
            identity=identity,
            messages=body.turn_messages(),
            conversation=conversation,
            entry=body.entry(),
            locale=body.locale(),
            run_id=run_id,
            grace_seconds=gateway.settings.disconnect_grace_openai_seconds,
        )
        gateway.check_entry(turn)
        if body.stream:
            lines = _stream(gateway, turn, body, run_id)
            return StreamingResponse(lines, media_type="text/event-stream", headers=SSE_HEADERS)
        async with gateway.turn(turn) as pump:
            event = await last_event(pump, request)
        if event is None:
            return Response(status_code=CLIENT_GONE)
        if isinstance(event, TurnFinished | TurnPaused):
            return JSONResponse(completion(run_id, body.model, said(event)))
        status = 409 if event.code == ConversationBusy.code else 503
        return JSONResponse(stopped_object(event.message, event.code), status_code=status)

    return routes


def _model_names(tenant: TenantConfig) -> list[str]:
    return [MODEL, *(f"{MODEL}/{name}" for name in tenant.enabled_specialists())]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "manta"}


async def _stream(
    gateway: Gateway, turn: TurnRequest, body: ChatCompletionRequest, run_id: str
) -> AsyncIterator[str]:
    """Chunks as server-sent events; a failed turn ends with an error object, then ``[DONE]``."""
    role = chunk(run_id, body.model, {"role": "assistant", "content": ""})
    yield _line(role)
    include_usage = body.stream_options is not None and body.stream_options.include_usage
    async with gateway.turn(turn) as pump:
        async for event in kept_alive(pump):
            if event is None:
                yield ": keep-alive\n\n"
                continue
            for item in _chunks(event, run_id, body.model):
                yield _line(item)
            if include_usage and isinstance(event, TurnFinished | TurnPaused):
                final = chunk(run_id, body.model, {}, usage=usage(event.reply))
                yield _line({**final, "choices": []})
    yield "data: [DONE]\n\n"


def _chunks(event: Event, run_id: str, model: str) -> list[dict[str, Any]]:
    match event:
        case TextDelta() | TextDelivered():
            return [chunk(run_id, model, {"content": event.text})]
        case TurnPaused():
            asked = chunk(run_id, model, {"content": event.pause.text})
            return [asked, _end(event.reply, run_id, model)]
        case TurnFinished():
            return [_end(event.reply, run_id, model)]
        case TurnStopped():
            return [stopped_object(event.message, event.code)]
        case StepStarted() | StepFinished() | Activity() | Comment() | PauseAbandoned() | Verdict():
            return [chunk(run_id, model, {}, manta={"event": event.model_dump(mode="json")})]


def _end(reply: Reply, run_id: str, model: str) -> dict[str, Any]:
    return chunk(run_id, model, {}, "stop", manta={"reply": reply_fields(reply)})


def _line(item: dict[str, Any]) -> str:
    return f"data: {json.dumps(item, ensure_ascii=False)}\n\n"
