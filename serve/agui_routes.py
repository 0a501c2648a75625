"""``POST /v1/runs``: the AG-UI protocol, for the chat page and any AG-UI client.

The run belongs to the process, not to the request: see :mod:`serve.runs`.
"""

from __future__ import annotations

import re
from typing import Any

from ag_ui.core import RunAgentInput
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from config.policy import POLICY
from config.tenants import SPECIALISTS, Locale
from domain.errors import InvalidInput
from domain.messages import Message
from domain.requests import thread_id
from serve.agui_events import RunProjection
from serve.bounded_body import check_conversation, check_text, read_json, validated
from serve.errors import error_object
from serve.gateway import Gateway, TurnRequest
from serve.resume_input import resume_of
from serve.run_routes import run_name, run_response

FORWARDED = {"locale", "agent", "interrupts"}
RUN_EXISTS = "run_exists"
_FIRST_VERSION = re.compile(r"^1\.[0-9]+$")


def agui_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter()

    @routes.post("/v1/runs")
    async def runs(request: Request) -> Response:
        identity = await gateway.authenticator.identify(request, "chat")
        body = validated(RunAgentInput, await read_json(request))
        forwarded = _forwarded(body)
        resume = resume_of(body)
        turn = TurnRequest(
            identity=identity,
            messages=[_latest(body)] if resume is None else [],
            conversation=check_conversation(body.thread_id, "threadId"),
            entry=_entry(forwarded.get("agent")),
            locale=_locale(forwarded.get("locale")),
            run_id=check_conversation(body.run_id, "runId"),
            resume=resume,
            interactive=_interactive(body, forwarded.get("interrupts")),
        )
        gateway.check_entry(turn)
        if resume is not None:
            await gateway.check_resume(turn)
        name = run_name(identity, body.run_id)
        locale = turn.locale or gateway.tenants.get(identity.tenant).locale
        started = await gateway.runs.start(
            name,
            thread_id(identity.tenant, identity.user, body.thread_id),
            RunProjection(body.thread_id, body.run_id, locale),
            gateway.turn(turn),
        )
        return run_response(gateway.runs.follow(name)) if started else _exists()

    return routes


def _exists() -> JSONResponse:
    message = (
        "runId: a run of this name was started already, and never runs twice; "
        "follow it at GET /v1/runs/{runId}, or choose a new runId"
    )
    body = error_object(message, "invalid_request_error", param="runId", code=RUN_EXISTS)
    return JSONResponse(body, status_code=409)


def _latest(body: RunAgentInput) -> Message:
    """The user's last message: the server keeps the history by ``threadId``."""
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
    """The body's own options, after what holds for every run."""
    if body.model_extra:
        name = sorted(body.model_extra)[0]
        raise InvalidInput(name, "is not a field of a run", "remove it")
    if len(body.messages) > POLICY.input.messages:
        raise InvalidInput("messages", f"has more than {POLICY.input.messages} items", "send fewer")
    forwarded = body.forwarded_props or {}
    if not isinstance(forwarded, dict):
        raise InvalidInput("forwardedProps", "is not an object", "send an object")
    unknown = sorted(set(forwarded) - FORWARDED)
    if unknown:
        raise InvalidInput(f"forwardedProps.{unknown[0]}", "is not known", "remove it")
    return forwarded


def _interactive(body: RunAgentInput, asked: object) -> bool:
    """Whether the client can show a pause: by its own word, else by the protocol's version, the
    first of which already has interrupts."""
    if asked is not None and not isinstance(asked, bool):
        raise InvalidInput("forwardedProps.interrupts", "is not true or false", "use one of them")
    if asked is not None:
        return asked
    return _FIRST_VERSION.fullmatch(body.protocol_version or "") is not None


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
