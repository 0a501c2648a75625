"""A gateway that plays scripted events, on the interface that the routes use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fake_run_log import FakeRunLog

from actors.pump import Pump
from config.policy import POLICY, RunLimits
from config.settings import Settings
from config.tenants import TenantConfig, TenantDirectory
from domain.answers import Citation, Reply
from domain.budgets import Spent
from domain.errors import NotFound
from domain.events import Event, TextDelivered, TurnFinished
from serve.app import build_app
from serve.authentication import authenticator
from serve.gateway import TurnRequest
from serve.metrics import TurnMetrics
from serve.runs import Runs

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
    """Keeps the turns that were asked for; every turn plays the same events.

    Among the events a number is a pause of that many seconds, and an error is raised. ``drained``
    counts the turns whose clean-up has ended, which takes ``drain_seconds``.
    """

    def __init__(
        self,
        events: Sequence[Event | float | Exception] = EVENTS,
        tenants: TenantDirectory | None = None,
        report: dict[str, str] | None = None,
        log: Any = None,
        limits: RunLimits = POLICY.run,
        keepalive_seconds: float = POLICY.stream.keepalive_seconds,
        drain_seconds: float = 0.0,
        pauses: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        given = {"default_tenant": "acme", "default_user": "ana", **settings}
        self.settings = Settings.load(**given)
        self.tenants = tenants or directory(BOTH, CHAT_ONLY)
        self.authenticator = authenticator(self.settings, self.tenants)
        self.log = log or FakeRunLog(limits)
        self.runs = Runs(
            self.log, self.settings.disconnect_grace_seconds, limits, keepalive_seconds
        )
        self.drain_seconds = drain_seconds
        self.drained = 0
        self.pauses = set(pauses)
        self.metrics = TurnMetrics()
        self.turns: list[TurnRequest] = []
        self.events = list(events)
        self.report = report or {"redis": "ok", "guardrail": "ok"}
        self.closed = False

    def check_entry(self, request: TurnRequest) -> None:
        tenant = self.tenants.get(request.identity.tenant)
        if request.entry is not None and request.entry not in tenant.enabled_specialists():
            raise NotFound("the model")

    async def check_resume(self, request: TurnRequest) -> None:
        if request.resume is None or request.resume.interaction_id not in self.pauses:
            raise NotFound("the pause")

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncGenerator[Pump[Event], None]:
        self.turns.append(request)

        async def play() -> AsyncGenerator[Event, None]:
            try:
                for event in self.events:
                    if isinstance(event, float):
                        await asyncio.sleep(event)
                    elif isinstance(event, Exception):
                        raise event
                    else:
                        yield event
            finally:
                await asyncio.sleep(self.drain_seconds)
                self.drained += 1

        async with Pump(play()) as pump:
            yield pump

    async def check(self) -> dict[str, str]:
        return self.report

    def start(self) -> None:
        """Nothing goes on by itself."""

    async def close(self) -> None:
        await self.runs.close()
        self.closed = True


def client_of(gateway: FakeGateway) -> httpx.AsyncClient:
    """A client of the whole application over ``gateway``, in this process."""

    async def nothing() -> None:
        """There is nothing else to close."""

    app = build_app(gateway, nothing)  # type: ignore[arg-type]
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080")
