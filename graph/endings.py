"""The nodes that end a turn: what joins the history, what stays open, and what the reply is."""

from __future__ import annotations

from langgraph.runtime import Runtime

from domain.answers import Reply, TurnStatus
from domain.messages import assistant
from domain.pauses import Pause
from graph.state import OpenPause, TurnContext, TurnState, plain

KNOWLEDGE_STATUS: dict[str, TurnStatus] = {
    "answered": "answered",
    "unanswerable": "miss",
    "unavailable": "unavailable",
}
Turn = Runtime[TurnContext]


async def await_answers(state: TurnState, runtime: Turn) -> TurnState:
    """The turn needs its user: what it has so far rests with its questions, and the turn ends.

    No connection, task or lock waits. Whoever answers starts a run that goes on from this state, on
    any replica; a pause that was open before and got no answer joins the history as abandoned.
    """
    locale = runtime.context.request.locale
    kept = OpenPause(
        pause=Pause.model_validate(state["asked"]),
        incoming=tuple(state["incoming"]),
        draft=tuple(state["draft"]),
        locale=locale,
    )
    reply = Reply(status="paused", agent=kept.pause.specialist, text=kept.pause.text, locale=locale)
    return TurnState(
        history=list(state.get("abandoned", ())),
        pause=kept.plain(),
        reply=reply.model_dump(mode="json", exclude={"spent"}),
    )


async def deliver(state: TurnState, runtime: Turn) -> TurnState:
    """The turn is complete: its messages join the history, all at once, and no pause is open."""
    reply = _reply(state, runtime.context.request.locale)
    kept = reply.model_dump(mode="json", exclude={"spent"})
    if reply.status == "boundary" and state.get("resumption") is not None:
        # The answer was refused, not the question: it stays open for another answer.
        return TurnState(reply=kept)
    draft = list(state.get("draft", ()))
    if reply.status == "boundary":
        draft = plain([assistant(reply.text)])
    if draft:
        how = {"run_id": runtime.context.request.request_id, **kept}
        del how["text"], how["locale"]
        draft[-1] = {**draft[-1], "artifact": how}
    return TurnState(
        history=[*state.get("abandoned", ()), *state["incoming"], *draft],
        pause=None,
        reply=kept,
    )


def _reply(state: TurnState, locale: str) -> Reply:
    gated = state.get("gate")
    if gated is None:
        return Reply(status="abandoned", agent="", text="", locale=locale)
    if gated["decision"] != "allow":
        return Reply(status="boundary", agent="guardrail", text=gated["reply"], locale=locale)
    agent = state.get("specialist") or ""
    status: TurnStatus = "replied"
    found = state.get("knowledge")
    if found is not None:
        status = KNOWLEDGE_STATUS[found["status"]]
        handed_over = state.get("handoff") is not None
        agent = "knowledge" if status == "answered" and handed_over else agent
    return Reply(
        status=status,
        agent=agent,
        text=str(state["draft"][-1]["text"]),
        citations=tuple(found["citations"]) if found and status == "answered" else (),
        locale=locale,
    )
