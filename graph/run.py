"""Running one turn: events as they happen, and a last event that says how it ended."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any, cast

from config.prompt_files import phrase
from domain.answers import Reply
from domain.budgets import Spent
from domain.errors import MantaError, TurnFailed
from domain.events import Event, TurnFinished, TurnStopped
from domain.messages import Message
from graph.nodes import drained
from graph.state import TurnContext, turn_input
from graph.turn import TurnGraph

log = logging.getLogger("manta.turn")


async def run_turn(
    graph: TurnGraph,
    context: TurnContext,
    messages: Sequence[Message],
    *,
    entry: str | None = None,
    lease: AbstractAsyncContextManager[None] | None = None,
) -> AsyncGenerator[Event, None]:
    """Yield the events of one turn. The last is ``TurnFinished`` or ``TurnStopped``.

    ``TurnFinished`` comes after the conversation is stored. Cancellation propagates, after every
    actor call of the turn has ended its clean-up.

    Args:
        messages: what the request adds; the last one is the user's.
        entry: a specialist to enter directly; ``None`` lets the supervisor choose.
        lease: held from before the history is read until the turn is stored.
    """
    started = time.monotonic()
    request = context.request
    reply: dict[str, Any] | None = None
    last: Event
    try:
        stream = graph.astream(
            turn_input(messages, entry),
            {"configurable": {"thread_id": context.request.thread}},
            context=context,
            stream_mode=["custom", "updates"],
            durability="exit" if graph.checkpointer else None,
        )
        async with lease or nullcontext():
            try:
                async with aclosing(stream) as items:  # type: ignore[type-var]
                    async for mode, item in items:
                        if mode == "custom":
                            yield cast(Event, item)
                        elif "deliver" in item:
                            reply = cast(dict[str, Any], item)["deliver"]["reply"]
            finally:
                await drained(context)
        if reply is None:
            raise TurnFailed("turn", "no_reply")
        spent = _spent(context, started)
        last = TurnFinished(reply=Reply.model_validate({**reply, "spent": spent}))
        log.info(
            "turn_finished",
            extra={**_correlation(context), "status": last.reply.status, **_figures(context)},
        )
    except Exception as error:  # noqa: BLE001 - whatever it was, the user gets a safe error
        stage = error.stage if isinstance(error, TurnFailed) else "turn"
        code = error.code if isinstance(error, MantaError) else "unexpected"
        cause = error.cause if isinstance(error, TurnFailed) else code
        log.error(
            "turn_stopped",
            extra={
                **_correlation(context),
                "stage": stage,
                "cause": cause,
                "error_type": type(error).__name__,
                **_figures(context),
            },
        )
        message = phrase("safe_error", request.locale)
        last = TurnStopped(code=cause, stage=stage, message=message, spent=_spent(context, started))
    yield last


def _spent(context: TurnContext, started: float) -> Spent:
    """What the roles used, with the turn's own wall clock."""
    return context.spent.model_copy(update={"seconds": time.monotonic() - started})


def _correlation(context: TurnContext) -> dict[str, Any]:
    request = context.request
    return {"request_id": request.request_id, "tenant": request.tenant}


def _figures(context: TurnContext) -> dict[str, Any]:
    spent = context.spent
    return {"model_calls": spent.model_calls, "cost_usd": round(spent.cost_usd, 6)}
