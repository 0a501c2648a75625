"""Running one turn: events as they happen, and a last event that says how it ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any, cast

from config.prompt_files import phrase
from domain.answers import Reply
from domain.budgets import Spent
from domain.errors import ConversationBusy, MantaError, NotFound, TurnFailed
from domain.events import Event, PauseAbandoned, TurnFinished, TurnPaused, TurnStopped
from domain.messages import Message
from domain.pauses import Pause, ResumeRequest
from graph.nodes import drained
from graph.pauses import answered, closed, current_pause
from graph.state import OpenPause, TurnContext, TurnState, resumed_input, turn_input
from graph.turn import TurnGraph

log = logging.getLogger("manta.turn")


async def run_turn(
    graph: TurnGraph,
    context: TurnContext,
    messages: Sequence[Message],
    *,
    entry: str | None = None,
    resume: ResumeRequest | None = None,
    lease: AbstractAsyncContextManager[None] | None = None,
) -> AsyncGenerator[Event, None]:
    """Yield the events of one turn. The last is ``TurnFinished``, ``TurnPaused`` or
    ``TurnStopped``.

    The first two come after the conversation is stored. Cancellation propagates, after every actor
    call of the turn has ended its clean-up; once the turn is stored it comes too late, and the turn
    ends as it did.

    Args:
        messages: what the request adds; the last one is the user's. Not read with ``resume``.
        entry: a specialist to enter directly; ``None`` lets the supervisor choose.
        resume: the answers to the conversation's open pause, or its end without an answer.
        lease: held from before the history is read until the turn is stored.
    """
    started = time.monotonic()
    request = context.request
    ended: TurnState | None = None
    last: Event
    try:
        config: Any = {"configurable": {"thread_id": request.thread}}
        async with lease or nullcontext():
            try:
                given, abandoned = await _input(graph, context, messages, entry, resume)
                if abandoned is not None:
                    log.info("pause_abandoned", extra=_correlation(context))
                    yield PauseAbandoned(interaction_id=abandoned.interaction_id)
                await _recall(context)
                stream = graph.astream(
                    given,
                    config,
                    context=context,
                    stream_mode=["custom", "updates"],
                    durability="exit" if graph.checkpointer else None,
                )
                try:
                    async with aclosing(stream) as items:  # type: ignore[type-var]
                        async for mode, item in items:
                            if mode == "custom":
                                yield cast(Event, item)
                                continue
                            for node in ("deliver", "await_answers"):
                                ended = cast(dict[str, Any], item).get(node) or ended
                except asyncio.CancelledError:
                    if ended is None or not await _is_stored(graph, context, ended):
                        raise
                    _heeded()
                await _settle(context, given, ended)
            finally:
                await _forget(context)
                await drained(context)
        last = _last(context, ended, started)
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
        message = phrase(_told(error, resume), request.locale)
        last = TurnStopped(code=cause, stage=stage, message=message, spent=_spent(context, started))
    yield last


def _told(error: Exception, resume: ResumeRequest | None) -> str:
    """Which sentence a user is told; two say more than that something failed. What a node did not
    find is no gone pause, and comes as the failure of its turn."""
    if isinstance(error, ConversationBusy):
        return "conversation_busy"
    return "pause_gone" if resume is not None and isinstance(error, NotFound) else "safe_error"


async def _is_stored(graph: TurnGraph, context: TurnContext, ended: TurnState) -> bool:
    """Whether the turn is in the store although its run was cancelled: then it has to be told so,
    or somebody would hear of a turn that was stopped and find it in the history."""
    if graph.checkpointer is None:
        return False
    config: Any = {"configurable": {"thread_id": context.request.thread}}
    values = (await graph.aget_state(config)).values
    if ended.get("pause") is not None:
        return bool(values.get("pause") == ended["pause"])
    history = values.get("history") or [{}]
    how = history[-1].get("artifact") or {}
    return bool(how.get("run_id") == context.request.request_id)


async def _settle(context: TurnContext, given: TurnState, ended: TurnState | None) -> None:
    """What follows a stored turn. A cancellation comes too late for it and is taken as heeded; it
    only ends the memory's work."""
    if context.keeper is not None and ended is not None:
        said = given["incoming"][0]["text"] if given["incoming"] else ""
        noting = asyncio.ensure_future(
            context.keeper.stored(context, said, paused=bool(ended.get("pause")))
        )
        while not noting.done():
            try:
                await asyncio.wait({noting})
            except asyncio.CancelledError:
                _heeded()
        noting.result()
    if context.remembering is not None:
        try:
            await context.remembering
        except asyncio.CancelledError:
            _heeded()


def _heeded() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


async def _input(
    graph: TurnGraph,
    context: TurnContext,
    messages: Sequence[Message],
    entry: str | None,
    resume: ResumeRequest | None,
) -> tuple[TurnState, Pause | None]:
    """The turn's input, and the pause that it abandons; read while the lease is held.

    Raises:
        NotFound, InvalidInput: the resume does not fit the pause that is open now.
    """
    values: dict[str, Any] = {}
    if graph.checkpointer:
        config: Any = {"configurable": {"thread_id": context.request.thread}}
        values = (await graph.aget_state(config)).values
    if resume is not None and not resume.cancelled:
        kept, resumption = answered(values, resume, context.tenant)
        return resumed_input(kept, resumption), None
    if resume is not None:
        kept = current_pause(values, resume.interaction_id)
        return turn_input((), abandoned=closed(kept)), kept.pause
    open_pause = OpenPause.of(values)
    if open_pause is None:
        return turn_input(messages, entry), None
    return turn_input(messages, entry, closed(open_pause)), open_pause.pause


async def _recall(context: TurnContext) -> None:
    """What is known about the user. A turn does not fail for it."""
    if context.preferences is None:
        return
    request = context.request
    try:
        context.facts, context.facts_version = await context.preferences.read(
            request.tenant, request.user
        )
    except MantaError as error:
        log.warning("preferences_unread", extra={**_correlation(context), "code": error.code})
        context.preferences = None


async def _forget(context: TurnContext) -> None:
    """A turn that ends early takes the memory's work with it, and waits for its clean-up."""
    task = context.remembering
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task})


def _last(context: TurnContext, ended: TurnState | None, started: float) -> Event:
    if ended is None or ended.get("reply") is None:
        raise TurnFailed("turn", "no_reply")
    spent = _spent(context, started)
    reply = Reply.model_validate({**(ended["reply"] or {}), "spent": spent})
    log.info(
        "turn_finished",
        extra={**_correlation(context), "status": reply.status, **_figures(context)},
    )
    if reply.status == "paused":
        kept = OpenPause.of(ended)
        assert kept is not None
        return TurnPaused(pause=kept.pause, reply=reply)
    return TurnFinished(reply=reply)


def _spent(context: TurnContext, started: float) -> Spent:
    """What the roles used, with the turn's own wall clock."""
    return context.spent.model_copy(update={"seconds": time.monotonic() - started})


def _correlation(context: TurnContext) -> dict[str, Any]:
    request = context.request
    return {"request_id": request.request_id, "tenant": request.tenant}


def _figures(context: TurnContext) -> dict[str, Any]:
    spent = context.spent
    return {"model_calls": spent.model_calls, "cost_usd": round(spent.cost_usd, 6)}
