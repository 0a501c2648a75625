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
from typing import Any, cast
from uuid import uuid4

from actors.own_context import own_task
from actors.pump import Pump
from actors.role_handles import CellHandles
from config.addresses import shown_url
from config.policy import POLICY
from config.settings import Settings
from config.tenants import Locale, TenantConfig, TenantDirectory
from domain.answers import Reply
from domain.budgets import Budget
from domain.errors import MantaError, NotFound
from domain.events import Event, TurnFinished, TurnPaused, TurnStopped
from domain.messages import Message, latest_user_text
from domain.pauses import ResumeRequest
from domain.requests import RequestContext, thread_id
from graph.checkpoints import check_redis, open_saver
from graph.conversations import ConversationStore
from graph.erasure import ConversationEraser
from graph.feedback import FeedbackStore
from graph.keeping import ConversationKeeper
from graph.leases import conversation_lease
from graph.locale import reply_locale
from graph.pauses import answered, current_pause
from graph.preferences import PreferenceStore
from graph.retention import Retention
from graph.run import run_turn
from graph.state import OpenPause, TurnContext
from graph.turn import build_turn
from retrieval.redis_client import open_redis
from retrieval.uploads import UploadStore
from serve.authentication import authenticator
from serve.conversation_reader import ConversationReader
from serve.identity import Identity, not_the_callers
from serve.metrics import TurnMetrics
from serve.run_log import RunLog
from serve.runs import Runs
from serve.turn_stream import outlive

log = logging.getLogger("manta.serve")
READY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn as HTTP asks for it. Without a ``conversation`` nothing is kept.

    With ``resume`` it answers a pause instead of bringing a message. ``interactive`` says whether
    the client can show a pause. A turn that is left goes on for ``grace_seconds`` by itself, for
    its conversation.
    """

    identity: Identity
    messages: Sequence[Message]
    conversation: str | None = None
    entry: str | None = None
    locale: Locale | None = None
    run_id: str | None = None
    resume: ResumeRequest | None = None
    interactive: bool = False
    grace_seconds: float = 0.0


class Gateway:
    """Lives with the replica."""

    def __init__(self, settings: Settings, tenants: TenantDirectory, roles: CellHandles) -> None:
        if settings.redis_url is None:
            raise NotFound("REDIS_URL")
        self.settings = settings
        self.tenants = tenants
        self.authenticator = authenticator(settings, tenants)
        self.metrics = TurnMetrics()
        self._roles = roles
        self._redis = open_redis(settings.redis_url)
        saver = open_saver(self._redis)
        self._kept = build_turn(saver)
        self._passing = build_turn(None)
        self._turns: set[asyncio.Task[Any]] = set()
        self._sweeping: asyncio.Task[None] | None = None
        self.conversations = ConversationStore(self._redis)
        self.preferences = PreferenceStore(self._redis)
        self.uploads = UploadStore(self._redis)
        self.feedback = FeedbackStore(self._redis)
        self._keeper = ConversationKeeper(self.conversations, saver, settings.checkpoints_kept)
        self.runs = Runs(RunLog(self._redis), settings.disconnect_grace_seconds)
        self.reader = ConversationReader(
            saver,
            self.conversations,
            self.uploads,
            self.feedback,
            lambda reply: shown(reply, settings.shown_urls),
        )
        self.eraser = ConversationEraser(
            self._redis, saver, self.conversations, self.uploads, self.feedback, self.runs.forget
        )
        self.retention = Retention(
            self._redis, saver, self.conversations, self.eraser, days=settings.retention_days
        )

    def check_entry(self, request: TurnRequest) -> None:
        """Raises NotFound for a direct entry to a specialist that the tenant has not enabled."""
        tenant = self.tenants.get(request.identity.tenant)
        if request.entry is not None and request.entry not in tenant.enabled_specialists():
            raise NotFound("the model")

    async def check_resume(self, request: TurnRequest) -> None:
        """Refuse an answer that does not fit before a stream is begun; the turn checks it again.

        Raises:
            NotFound: no such pause is open in a conversation of the caller's.
            InvalidInput: the answers are not the ones that were asked for.
        """
        asked = request.resume
        if asked is None:
            return
        try:
            values = await self._values(request)
            if asked.cancelled:
                current_pause(values, asked.interaction_id)
            else:
                answered(values, asked, self.tenants.get(request.identity.tenant))
        except NotFound:
            raise not_the_callers(request.identity, "interaction") from None

    async def _values(self, request: TurnRequest) -> dict[str, Any]:
        identity = request.identity
        thread = thread_id(identity.tenant, identity.user, request.conversation or "")
        kept = await self._kept.aget_state({"configurable": {"thread_id": thread}})
        return dict(kept.values)

    async def _locale(self, request: TurnRequest, tenant: TenantConfig) -> Locale:
        """A resumed turn goes on in the language in which it asked."""
        if request.resume is not None and request.locale is None:
            kept = OpenPause.of(await self._values(request))
            return cast(Locale, kept.locale) if kept else tenant.locale
        text = latest_user_text(tuple(request.messages))
        return reply_locale(request.locale, text, tenant.locale)

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncGenerator[Pump[Event], None]:
        """Start one turn; leaving the block early cancels it, at once or after its grace."""
        self.check_entry(request)
        tenant = self.tenants.get(request.identity.tenant)
        identity = request.identity
        context = TurnContext(
            request=RequestContext(
                request_id=request.run_id or uuid4().hex,
                tenant=tenant.tenant,
                user=identity.user,
                conversation=request.conversation or uuid4().hex,
                locale=await self._locale(request, tenant),
                budget=Budget(),
            ),
            tenant=tenant,
            roles=self._roles,
            interactive=request.interactive and request.conversation is not None,
            token=identity.token,
            preferences=self.preferences if tenant.chatbot.memory.enabled else None,
        )
        if request.conversation:
            lease = conversation_lease(self._redis, context.request.thread)
            graph, context.keeper = self._kept, self._keeper
        else:
            graph, lease = self._passing, None
        events = run_turn(
            graph,
            context,
            request.messages,
            entry=request.entry,
            resume=request.resume,
            lease=lease,
        )
        pump = Pump(self._measured(events, tenant.tenant), own_context=True)
        await pump.__aenter__()
        self._drained_at_close(pump.task)
        try:
            yield pump
        finally:
            if request.conversation and request.grace_seconds and not pump.ended:
                alone = own_task(outlive(pump, request.grace_seconds))
                self._drained_at_close(alone)
            else:
                await pump.__aexit__()

    def _drained_at_close(self, task: asyncio.Task[Any]) -> None:
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)

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

    def start(self) -> None:
        """Begin what the process does by itself, in the loop that serves it."""
        self._sweeping = asyncio.create_task(self.retention.run())

    async def close(self) -> None:
        """Cancel and drain what still runs, then close the store's client."""
        await self.runs.close()
        ending = {*self._turns, *([self._sweeping] if self._sweeping else [])}
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending, timeout=POLICY.nodes.drain)
        await self.authenticator.close()
        await self._redis.aclose()

    async def _measured(
        self, events: AsyncGenerator[Event, None], tenant: str
    ) -> AsyncGenerator[Event, None]:
        with self.metrics.in_flight():
            try:
                async for event in events:
                    if isinstance(event, TurnFinished | TurnPaused):
                        reply = shown(event.reply, self.settings.shown_urls)
                        event = event.model_copy(update={"reply": reply})
                        self.metrics.finished(tenant, event.reply)
                    elif isinstance(event, TurnStopped):
                        self.metrics.stopped(tenant, event.stage, event.spent)
                    yield event
            finally:
                await events.aclose()


def shown(reply: Reply, urls: dict[str, str]) -> Reply:
    """The reply with its citations' URLs as people can open them."""
    citations = (
        one.model_copy(update={"url": shown_url(one.url, urls)}) if one.url else one
        for one in reply.citations
    )
    return reply.model_copy(update={"citations": tuple(citations)})
