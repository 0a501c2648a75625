"""The nodes of a turn: each is one call to a role, and what its result means for the state."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

from langgraph.errors import NodeError, NodeTimeoutError
from langgraph.runtime import Runtime
from langgraph.types import Command

from config.policy import POLICY
from domain.answers import KnowledgeAnswer
from domain.errors import MantaError, TurnFailed
from domain.events import Activity, StepFinished, StepStarted, TextDelivered
from domain.messages import Message, assistant, user
from domain.outcomes import GateOutcome, Handoff, SpecialistOutcome
from domain.pauses import Resumption
from domain.requests import SpecialistRequest
from graph.remembering import remember
from graph.routing import CAREER_CHAT
from graph.state import (
    TurnContext,
    TurnState,
    completed,
    conversation,
    current,
    plain,
    summary_of,
)

log = logging.getLogger("manta.turn")
Turn = Runtime[TurnContext]


class Node(Protocol):
    """A node in the form that LangGraph's types ask for."""

    def __call__(self, state: TurnState, *, runtime: Turn) -> Awaitable[TurnState]: ...


@asynccontextmanager
async def step(runtime: Turn, name: str) -> AsyncIterator[None]:
    """Tell the stream that a node began and that it ended, and who runs it (see ``drained``)."""
    started = time.monotonic()
    task = asyncio.current_task()
    if task is not None:
        runtime.context.running.add(task)
        task.add_done_callback(runtime.context.running.discard)
    runtime.stream_writer(StepStarted(step=name))
    try:
        yield
    finally:
        seconds = round(time.monotonic() - started, 4)
        runtime.stream_writer(StepFinished(step=name, seconds=seconds))


async def drained(context: TurnContext) -> None:
    """Wait for nodes that were cancelled: LangGraph runs a node with a timeout in a task of its
    own, and neither a timeout nor a cancellation waits for that task's clean-up."""
    if context.running:
        _, left = await asyncio.wait(set(context.running), timeout=POLICY.nodes.drain)
        if left:
            log.error("drain_timeout", extra={"request_id": context.request.request_id})


async def gate(state: TurnState, runtime: Turn) -> TurnState:
    """Ask the guardrail; nothing else has started yet."""
    context = runtime.context
    async with step(runtime, "gate"):
        runtime.stream_writer(Activity(code="checking_request", agent="guardrail"))
        outcome = await _checked(context, state)
        if outcome.decision != "allow":
            runtime.stream_writer(TextDelivered(agent="guardrail", text=outcome.reply))
    return TurnState(
        gate=outcome.model_dump(mode="json", include={"decision", "reply"}),
        specialist=state.get("entry"),
    )


async def _checked(context: TurnContext, state: TurnState) -> GateOutcome:
    """The decision on the latest text, or on every answer of a resumed pause: a resumed turn does
    not begin at the gate's own message (seed "Generic user interruptions")."""
    resumed = state.get("resumption")
    before = conversation(state)
    if resumed is None:
        checks = [before]
    else:
        resumption = Resumption.model_validate(resumed)
        checks = [
            (*before, assistant(question.text), user(resumption.answers[question.id]))
            for question in resumption.pause.questions
        ]
    try:
        async with asyncio.TaskGroup() as group:
            deciding = [
                group.create_task(
                    context.roles.guardrail.decide(context.request, context.tenant, messages)
                )
                for messages in checks
            ]
    except ExceptionGroup as failed:
        # The first failure cancelled the other checks; callers know errors, not groups.
        raise failed.exceptions[0] from None
    outcomes = [task.result() for task in deciding]
    for outcome in outcomes:
        context.add(outcome.spent)
    return next((one for one in outcomes if one.decision != "allow"), outcomes[0])


async def memory(state: TurnState, runtime: Turn) -> TurnState:
    """Start the memory's work. A superstep of the graph ends with its slowest node, so the work
    itself runs beside the graph and delays nobody; whoever runs the turn waits for it."""
    context = runtime.context
    if context.preferences is not None:
        context.remembering = asyncio.create_task(remember(context, current(state)))
    return TurnState()


async def supervisor(state: TurnState, runtime: Turn) -> TurnState:
    """Choose the specialist; the choice is state, never a message."""
    context = runtime.context
    async with step(runtime, "supervisor"):
        runtime.stream_writer(Activity(code="choosing_specialist", agent="supervisor"))
        outcome = await context.roles.supervisor.decide(
            context.request,
            context.tenant,
            completed(state),
            current(state),
            summary_of(state),
            state.get("active_agent"),
        )
        context.add(outcome.spent)
    update = TurnState(specialist=outcome.specialist)
    if outcome.summary is not None:
        update["summary"] = outcome.summary.model_dump(mode="json")
    return update


def specialist(name: str) -> Node:
    """The node of one specialist."""

    async def run(state: TurnState, *, runtime: Turn) -> TurnState:
        context = runtime.context
        outcome: SpecialistOutcome | None = None
        resumed = state.get("resumption") if state.get("knowledge") is None else None
        request = SpecialistRequest(
            messages=conversation(state),
            summary=summary_of(state),
            facts=context.facts,
            may_hand_off=state.get("knowledge") is None,
            interactive=context.interactive,
            resumption=Resumption.model_validate(resumed) if resumed else None,
            token=context.token,
        )
        async with step(runtime, name):
            stream = context.roles.specialists[name].run(context.request, context.tenant, request)
            async with aclosing(stream) as items:
                async for item in items:
                    if isinstance(item, SpecialistOutcome):
                        outcome = item
                    else:
                        runtime.stream_writer(item)
        if outcome is None:
            raise TurnFailed(name, "no_outcome")
        context.add(outcome.spent)
        return TurnState(
            draft=[*state.get("draft", ()), *plain(outcome.messages)],
            handoff=outcome.handoff.model_dump() if outcome.handoff else None,
            asked=outcome.pause.model_dump(mode="json") if outcome.pause else None,
            knowledge=_answer(outcome.knowledge) if outcome.knowledge else state.get("knowledge"),
            active_agent=name,
        )

    return run


async def knowledge(state: TurnState, runtime: Turn) -> TurnState:
    """Research the handed-over question; a supported answer becomes the reply byte for byte."""
    context = runtime.context
    handoff = Handoff.model_validate(state["handoff"])
    answer: KnowledgeAnswer | None = None
    async with step(runtime, "knowledge"):
        stream = context.roles.researcher.run(
            context.request, context.tenant, handoff.question, conversation(state)
        )
        async with aclosing(stream) as items:
            async for item in items:
                if isinstance(item, KnowledgeAnswer):
                    answer = item
                else:
                    runtime.stream_writer(item)
        if answer is None:
            raise TurnFailed("knowledge", "no_answer")
        context.add(answer.spent)
        if answer.status == "answered":
            runtime.stream_writer(TextDelivered(agent="knowledge", text=answer.answer))
    return _closed_handoff(state, answer)


def knowledge_unavailable(state: TurnState, error: NodeError) -> Command[str]:
    """A research that failed or ran out of time closes its handoff as unavailable, once.

    LangGraph follows no edge of a node whose error was handled, so the way back is named here.
    """
    log.warning("node_failed", extra={"node": error.node, **_failure(error.error)})
    closed = _closed_handoff(state, KnowledgeAnswer(status="unavailable", code="research_failed"))
    return Command(update=closed, goto=CAREER_CHAT)


def _closed_handoff(state: TurnState, answer: KnowledgeAnswer) -> TurnState:
    """The transfer call's one result, without technical detail, and the answer if there is one."""
    result: dict[str, Any] = {"status": answer.status}
    if answer.limitation:
        result["limitation"] = answer.limitation
    closing = Message(
        role="tool",
        text=json.dumps(result, ensure_ascii=False),
        tool_call_id=str((state["handoff"] or {})["call_id"]),
        tool_name="transfer_to_knowledge_base",
    )
    added = [closing]
    if answer.status == "answered":
        added.append(assistant(answer.answer))
    return TurnState(
        draft=[*state.get("draft", ()), *plain(added)],
        knowledge=_answer(answer),
    )


def _answer(answer: KnowledgeAnswer) -> dict[str, Any]:
    return answer.model_dump(mode="json", exclude={"spent"})


def stop(state: TurnState, error: NodeError) -> TurnState:
    """Any other node's failure stops the turn with a safe error."""
    log.warning("node_failed", extra={"node": error.node, **_failure(error.error)})
    cause = error.error.code if isinstance(error.error, MantaError) else "unexpected"
    if isinstance(error.error, NodeTimeoutError):
        cause = "deadline_exceeded"
    raise TurnFailed(error.node, cause) from error.error


def _failure(error: BaseException) -> dict[str, Any]:
    """Category, and for a timeout the elapsed time and the budget; never the text."""
    if isinstance(error, NodeTimeoutError):
        return {
            "error_type": "timeout",
            "elapsed": round(error.elapsed, 3),
            "budget": error.timeout,
        }
    code = error.code if isinstance(error, MantaError) else "unexpected"
    return {"error_type": type(error).__name__, "code": code}
