"""``/v1/preferences``: what is remembered about a user, read, edited and erased by that user."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from domain.preferences import Fact
from serve.bounded_body import read_json, validated
from serve.gateway import Gateway


class Preferences(BaseModel):
    """The body of ``PUT``, and what ``GET`` shows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    facts: tuple[Fact, ...]


def preference_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter()
    who = gateway.authenticator

    @routes.get("/v1/preferences")
    async def read(request: Request) -> dict[str, Any]:
        identity = await who.identify(request, "history")
        facts, _ = await gateway.preferences.read(identity.tenant, identity.user)
        return Preferences(facts=facts).model_dump(mode="json")

    @routes.put("/v1/preferences")
    async def replace(request: Request) -> dict[str, Any]:
        identity = await who.identify(request, "history")
        body = validated(Preferences, await read_json(request))
        await gateway.preferences.replace(identity.tenant, identity.user, body.facts)
        return body.model_dump(mode="json")

    @routes.delete("/v1/preferences")
    async def erase(request: Request) -> Response:
        identity = await who.identify(request, "history")
        await gateway.preferences.erase(identity.tenant, identity.user)
        return Response(status_code=204)

    return routes
