"""``/v1/feedback``: what users thought of a reply, and the list for those who look after it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict

from graph.feedback import Rating
from serve.bounded_body import check_conversation, check_text, read_json, validated
from serve.conversation_routes import number_of, page_size
from serve.gateway import Gateway

DEEPEST = 1_000_000


class GivenFeedback(BaseModel):
    """The body of ``POST``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    conversation: str
    run_id: str
    rating: Rating
    comment: str | None = None


def feedback_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter()
    who = gateway.authenticator

    @routes.post("/v1/feedback")
    async def rate(request: Request) -> Response:
        identity = await who.identify(request, "chat")
        body = validated(GivenFeedback, await read_json(request))
        check_conversation(body.run_id, "run_id")
        if body.comment is not None:
            check_text(body.comment, "comment")
        record = await gateway.reader.record(
            identity, check_conversation(body.conversation, "conversation")
        )
        await gateway.reader.check_run(identity, record.id, body.run_id)
        kept = await gateway.feedback.rate(
            identity.tenant, identity.user, record.id, body.run_id, body.rating, body.comment
        )
        return JSONResponse(kept.model_dump(exclude={"user"}), status_code=201)

    @routes.get("/v1/feedback")
    async def listed(request: Request) -> dict[str, Any]:
        """The tenant's ratings, the newest first; ``skip`` goes on where a page ended."""
        identity = await who.identify(request, "administration")
        size, skip = page_size(request), number_of(request, "skip", 0, 0, DEEPEST)
        found = await gateway.feedback.of_tenant(identity.tenant, size + 1, skip)
        data = [feedback.model_dump() for feedback in found[:size]]
        following = skip + size if len(found) > size else None
        return {"object": "list", "data": data, "next": following}

    return routes
