"""Pure routing: where a turn goes next, from its state alone."""

from __future__ import annotations

from graph.state import TurnState

GATE = "gate"
MEMORY = "memory"
AWAIT_ANSWERS = "await_answers"
DELIVER = "deliver"
SUPERVISOR = "supervisor"
KNOWLEDGE = "knowledge"
CAREER_CHAT = "career_chat"


def after_start(state: TurnState) -> str:
    """A user who only abandons a pause says nothing that a gate could check."""
    return GATE if state["incoming"] else DELIVER


def after_gate(state: TurnState) -> list[str]:
    """A boundary reply ends the turn; otherwise the memory runs beside the rest. An entry fixed to
    a specialist, or a resumed pause of one, needs no supervisor."""
    gate = state.get("gate")
    if gate is None or gate["decision"] != "allow":
        return [DELIVER]
    return [MEMORY, state.get("entry") or SUPERVISOR]


def after_supervisor(state: TurnState) -> str:
    specialist = state.get("specialist")
    if specialist is None:
        raise ValueError("the supervisor chose no specialist")
    return specialist


def after_specialist(state: TurnState) -> str:
    """A pause ends the turn. One handoff a turn: once there is a knowledge result, the specialist's
    reply is final."""
    if state.get("asked") is not None:
        return AWAIT_ANSWERS
    wants = state.get("handoff") is not None and state.get("knowledge") is None
    return KNOWLEDGE if wants else DELIVER


def after_knowledge(state: TurnState) -> str:
    """A supported answer is delivered verbatim; anything else goes back to career chat once."""
    knowledge = state.get("knowledge")
    answered = knowledge is not None and knowledge["status"] == "answered"
    return DELIVER if answered else CAREER_CHAT
