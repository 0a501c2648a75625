"""``/v1/conversations``: an owner's own history."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict

from config.policy import POLICY
from domain.errors import InvalidInput
from domain.requests import thread_id
from serve.bounded_body import read_json, validated
from serve.encoded_paths import conversation_of
from serve.gateway import Gateway
from serve.identity import not_the_callers


class Renaming(BaseModel):
    """The body of ``PATCH``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str


def conversation_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter()
    who = gateway.authenticator

    @routes.get("/v1/conversations")
    async def listed(request: Request) -> dict[str, Any]:
        identity = await who.identify(request, "history")
        page, following = await gateway.conversations.page(
            identity.tenant,
            identity.user,
            page_size(request),
            request.query_params.get("before"),
        )
        data = [conversation.model_dump() for conversation in page]
        return {"object": "list", "data": data, "next": following}

    @routes.get("/v1/conversations/{segment}")
    async def read(segment: str, request: Request) -> dict[str, Any]:
        identity = await who.identify(request, "history")
        return await gateway.reader.read(identity, conversation_of(segment))

    @routes.patch("/v1/conversations/{segment}")
    async def rename(segment: str, request: Request) -> dict[str, Any]:
        identity = await who.identify(request, "history")
        body = validated(Renaming, await read_json(request))
        renamed = await gateway.conversations.rename(
            identity.tenant, identity.user, conversation_of(segment), body.title
        )
        if renamed is None:
            raise not_the_callers(identity, "conversation")
        return renamed.model_dump()

    @routes.delete("/v1/conversations/{segment}")
    async def delete(segment: str, request: Request) -> Response:
        identity = await who.identify(request, "history")
        record = await gateway.reader.record(identity, conversation_of(segment))
        await gateway.eraser.erase(thread_id(identity.tenant, identity.user, record.id))
        return Response(status_code=204)

    @routes.get("/v1/conversations/{segment}/export")
    async def export(segment: str, request: Request) -> StreamingResponse:
        identity = await who.identify(request, "history")
        pieces = await gateway.reader.export(identity, conversation_of(segment))
        headers = {
            "Content-Disposition": 'attachment; filename="conversation.json"',
            "Cache-Control": "no-store",
        }
        return StreamingResponse(pieces, media_type="application/json", headers=headers)

    return routes


def page_size(request: Request) -> int:
    """How many items a list shows.

    Raises:
        InvalidInput: ``limit`` is no number within the policy's bounds.
    """
    limits = POLICY.conversation
    return number_of(request, "limit", limits.page, 1, limits.page_max)


def number_of(request: Request, name: str, default: int, lowest: int, highest: int) -> int:
    """A whole number of the query.

    Raises:
        InvalidInput: it is none, or beyond its bounds.
    """
    given = request.query_params.get(name)
    if given is None:
        return default
    plain = given.isascii() and given.isdecimal() and len(given) <= len(str(highest))
    if not plain or not lowest <= int(given) <= highest:
        raise InvalidInput(name, f"is not a number from {lowest} to {highest}", "change it")
    return int(given)
