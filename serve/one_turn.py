"""One turn in this process: the same graph over local handles, without Ray and HTTP."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from uuid import uuid4

from actors.cell import LocalCell
from config.embedded import stores
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import InvalidInput
from domain.events import Event, TurnFinished, TurnStopped
from domain.messages import user as user_message
from domain.requests import RequestContext
from graph.checkpoints import open_saver
from graph.conversations import ConversationStore
from graph.keeping import ConversationKeeper
from graph.leases import conversation_lease
from graph.locale import reply_locale
from graph.preferences import PreferenceStore
from graph.run import run_turn
from graph.state import TurnContext
from graph.turn import build_turn
from retrieval.redis_client import open_redis
from serve.bounded_body import check_conversation, check_messages
from serve.demo import UNIVERSITY, demo_network, index_university


async def ask_once(
    settings: Settings,
    tenant: str,
    question: str,
    conversation: str | None,
    user: str | None,
    locale: str | None,
    *,
    demo: bool,
) -> dict[str, Any]:
    """Run one turn; the result is ``manta ask --json``'s object.

    Raises:
        MantaError: bad input or configuration, or a store that cannot be reached.
    """
    if locale not in (None, "en", "fr", "de"):
        raise InvalidInput("--locale", "is not supported", "use en, fr or de")
    messages = [user_message(question)]
    check_messages(messages, "question")
    if conversation is not None:
        check_conversation(conversation, "--conversation")
    config = TenantDirectory.load(settings.tenants).get(tenant)
    run_id = uuid4().hex
    with ExitStack() as stack:
        urls = stack.enter_context(stores(settings))
        # The sites end with the command, so their pages keep their own names in the citations.
        demo_at = stack.enter_context(demo_network()) if demo else {}
        settings = settings.model_copy(
            update={
                "redis_url": urls.redis_url,
                "milvus_uri": urls.milvus_uri,
                "connect_to": {**demo_at.get("connect_to", {}), **settings.connect_to},
            }
        )
        if demo and config.tenant == UNIVERSITY:
            await index_university(settings, urls.milvus_uri)
        redis = open_redis(urls.redis_url)
        cell = LocalCell(settings)
        context = TurnContext(
            request=RequestContext(
                request_id=run_id,
                tenant=config.tenant,
                user=user or settings.default_user,
                conversation=conversation or uuid4().hex,
                locale=reply_locale(locale, question, config.locale),  # type: ignore[arg-type]
            ),
            tenant=config,
            roles=cell.handles,
            preferences=PreferenceStore(redis) if config.chatbot.memory.enabled else None,
        )
        saver = open_saver(redis)
        if conversation is not None:
            context.keeper = ConversationKeeper(
                ConversationStore(redis), saver, settings.checkpoints_kept
            )
        try:
            graph = build_turn(saver if conversation else None)
            lease = conversation_lease(redis, context.request.thread) if conversation else None
            last: Event | None = None
            async for event in run_turn(graph, context, messages, lease=lease):
                last = event
        finally:
            await cell.close()
            await redis.aclose()
    return _result(run_id, context, last)


def _result(run_id: str, context: TurnContext, last: Event | None) -> dict[str, Any]:
    if isinstance(last, TurnFinished):
        reply = last.reply.model_dump(mode="json")
        spent = reply["spent"]
        return {
            "status": reply["status"],
            "agent": reply["agent"],
            "answer": reply["text"],
            "citations": reply["citations"],
            "locale": reply["locale"],
            "spent": spent,
            "seconds": round(spent["seconds"], 3),
            "run_id": run_id,
        }
    stopped = last if isinstance(last, TurnStopped) else None
    spent = context.spent.model_dump(mode="json")
    return {
        "status": "failed",
        "agent": stopped.stage if stopped else "turn",
        "answer": stopped.message if stopped else "",
        "citations": [],
        "locale": context.request.locale,
        "spent": spent,
        "seconds": round(spent["seconds"], 3),
        "run_id": run_id,
    }
