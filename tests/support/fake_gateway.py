"""A gateway that plays scripted events, on the interface that the routes use."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

from actors.pump import Pump
from config.settings import Settings
from config.tenants import TenantConfig, TenantDirectory
from domain.answers import Citation, Reply
from domain.budgets import Spent
from domain.errors import NotFound
from domain.events import Event, TextDelivered, TurnFinished
from serve.app import build_app
from serve.gateway import TurnRequest
from serve.metrics import TurnMetrics

REPLY = Reply(
    status="answered",
    agent="knowledge",
    text="You get 27 days.",
    citations=(Citation(number=1, kind="document", title="Leave", quote="27 days"),),
    spent=Spent(model_calls=3, input_tokens=100, cached_tokens=40, output_tokens=20),
)
EVENTS: tuple[Event, ...] = (
    TextDelivered(agent="knowledge", text=REPLY.text),
    TurnFinished(reply=REPLY),
)
BOTH = {"tenant": "acme", "name": "Acme"}
CHAT_ONLY = {
    "tenant": "quiet",
    "name": "Quiet",
    "chatbot": {"agents": {"career_chat": {"active": True}}},
}


def directory(*documents: dict[str, Any]) -> TenantDirectory:
    tenants = [TenantConfig.model_validate_json(json.dumps(document)) for document in documents]
    return TenantDirectory({tenant.tenant: tenant for tenant in tenants})


class FakeGateway:
    """Keeps the turns that were asked for; every turn plays the same events."""

    def __init__(
        self,
        events: Sequence[Event] = EVENTS,
        tenants: TenantDirectory | None = None,
        report: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        given = {"default_tenant": "acme", "default_user": "ana", **settings}
        self.settings = Settings.load(**given)
        self.tenants = tenants or directory(BOTH, CHAT_ONLY)
        self.metrics = TurnMetrics()
        self.turns: list[TurnRequest] = []
        self.events = list(events)
        self.report = report or {"redis": "ok", "guardrail": "ok"}
        self.closed = False

    def check_entry(self, request: TurnRequest) -> None:
        tenant = self.tenants.get(request.identity.tenant)
        if request.entry is not None and request.entry not in tenant.enabled_specialists():
            raise NotFound("the model")

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncGenerator[Pump[Event], None]:
        self.turns.append(request)

        async def play() -> AsyncGenerator[Event, None]:
            for event in self.events:
                yield event

        async with Pump(play()) as pump:
            yield pump

    async def check(self) -> dict[str, str]:
        return self.report

    async def close(self) -> None:
        self.closed = True


def client_of(gateway: FakeGateway) -> httpx.AsyncClient:
    """A client of the whole application over ``gateway``, in this process."""

    async def nothing() -> None:
        """There is nothing else to close."""

    app = build_app(gateway, nothing)  # type: ignore[arg-type]
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080")
