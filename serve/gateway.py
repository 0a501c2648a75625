"""Between HTTP and the turn: what lives with the process, and each request's own task.

A turn runs in a task of its own. A client that goes away cancels it; the task then cancels and
drains every actor call that it awaits, even when the handler that started it is already gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from actors.pump import Pump
from actors.role_handles import CellHandles
from config.policy import POLICY
from config.settings import Settings
from config.tenants import Locale, TenantDirectory
from domain.answers import Reply
from domain.budgets import Budget
from domain.errors import MantaError, NotFound
from domain.events import Event, TurnFinished, TurnStopped
from domain.messages import Message, latest_user_text
from domain.requests import RequestContext
from graph.checkpoints import check_redis, open_redis, open_saver
from graph.leases import conversation_lease
from graph.locale import reply_locale
from graph.run import run_turn
from graph.state import TurnContext
from graph.turn import build_turn
from serve.identity import Identity
from serve.metrics import TurnMetrics

log = logging.getLogger("manta.serve")
READY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn as HTTP asks for it. Without a ``conversation`` nothing is kept."""

    identity: Identity
    messages: Sequence[Message]
    conversation: str | None = None
    entry: str | None = None
    locale: Locale | None = None
    run_id: str | None = None


class Gateway:
    """Lives with the replica."""

    def __init__(self, settings: Settings, tenants: TenantDirectory, roles: CellHandles) -> None:
        if settings.redis_url is None:
            raise NotFound("REDIS_URL")
        self.settings = settings
        self.tenants = tenants
        self.metrics = TurnMetrics()
        self._roles = roles
        self._redis = open_redis(settings.redis_url)
        self._kept = build_turn(open_saver(self._redis))
        self._passing = build_turn(None)
        self._turns: set[asyncio.Task[Any]] = set()

    def check_entry(self, request: TurnRequest) -> None:
        """Raises NotFound for a direct entry to a specialist that the tenant has not enabled."""
        tenant = self.tenants.get(request.identity.tenant)
        if request.entry is not None and request.entry not in tenant.enabled_specialists():
            raise NotFound("the model")

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncGenerator[Pump[Event], None]:
        """Start one turn; leaving the block early cancels it."""
        self.check_entry(request)
        tenant = self.tenants.get(request.identity.tenant)
        text = latest_user_text(tuple(request.messages))
        locale = reply_locale(request.locale, text, tenant.locale)
        context = TurnContext(
            request=RequestContext(
                request_id=request.run_id or uuid4().hex,
                tenant=tenant.tenant,
                user=request.identity.user,
                conversation=request.conversation or uuid4().hex,
                locale=locale,
                budget=Budget(),
            ),
            tenant=tenant,
            roles=self._roles,
        )
        if request.conversation:
            graph, lease = self._kept, conversation_lease(self._redis, context.request.thread)
        else:
            graph, lease = self._passing, None
        events = run_turn(graph, context, request.messages, entry=request.entry, lease=lease)
        async with Pump(self._measured(events, tenant.tenant)) as pump:
            self._turns.add(pump.task)
            pump.task.add_done_callback(self._turns.discard)
            yield pump

    async def check(self) -> dict[str, str]:
        """Each dependency's state, ``ok`` or a code."""
        report: dict[str, str] = {}
        try:
            await check_redis(self._redis)
            report["redis"] = "ok"
        except MantaError as error:
            report["redis"] = error.code
        names = list(self._roles.ports)
        states = await asyncio.gather(*(self._state(name) for name in names))
        return {**report, **dict(zip(names, states, strict=True))}

    async def _state(self, role: str) -> str:
        try:
            await self._roles.ports[role].health(READY_SECONDS)
        except MantaError as error:
            return error.code
        return "ok"

    async def close(self) -> None:
        """Cancel and drain what still runs, then close the store's client."""
        for task in self._turns:
            task.cancel()
        if self._turns:
            await asyncio.wait(self._turns, timeout=POLICY.nodes.drain)
        await self._redis.aclose()

    async def _measured(
        self, events: AsyncGenerator[Event, None], tenant: str
    ) -> AsyncGenerator[Event, None]:
        with self.metrics.in_flight():
            try:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        event = TurnFinished(reply=shown(event.reply, self.settings.shown_urls))
                        self.metrics.finished(tenant, event.reply)
                    elif isinstance(event, TurnStopped):
                        self.metrics.stopped(tenant, event.stage, event.spent)
                    yield event
            finally:
                await events.aclose()


def shown(reply: Reply, urls: dict[str, str]) -> Reply:
    """The reply with its citations' URLs as people can open them."""
    citations = []
    for citation in reply.citations:
        url = citation.url or ""
        begins = next((one for one in urls if url.startswith(one)), None)
        if begins is not None:
            citation = citation.model_copy(update={"url": urls[begins] + url[len(begins) :]})
        citations.append(citation)
    return reply.model_copy(update={"citations": tuple(citations)})
