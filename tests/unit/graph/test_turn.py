"""Whole turns over fake roles and an in-memory saver."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_turn import (
    ALLOW,
    ANSWERED,
    CHOSEN,
    CITATION,
    HANDOFF,
    Stage,
    reply,
    said,
    steps,
)

from domain.answers import KnowledgeAnswer
from domain.events import (
    Activity,
    Comment,
    StepFinished,
    StepStarted,
    TextDelivered,
    TextDelta,
    TurnFinished,
)
from domain.outcomes import GateOutcome, RoutingOutcome


async def test_an_ordinary_turn_ends_with_the_specialists_reply() -> None:
    stage = Stage(career=[[TextDelta(agent="career_chat", text="Hi"), said("Hi")]])
    events = await stage.turn()
    assert [type(event) for event in events] == [
        StepStarted,
        Activity,
        StepFinished,
        StepStarted,
        Activity,
        StepFinished,
        StepStarted,
        TextDelta,
        StepFinished,
        TurnFinished,
    ]
    assert steps(events) == ["gate", "supervisor", "career_chat"]
    found = reply(events)
    assert (found.status, found.agent, found.text) == ("replied", "career_chat", "Hi")
    assert found.spent.model_calls == 4
    assert found.spent.cost_usd == 0.25
    assert 0 < found.spent.seconds < 10
    assert [m["text"] for m in await stage.history()] == ["How?", "Hi"]


@pytest.mark.parametrize("decision", ["doubt", "block"])
async def test_a_boundary_ends_the_turn_before_anything_else(decision: Any) -> None:
    stage = Stage(gate=GateOutcome(decision=decision, reply="No."))
    events = await stage.turn()
    assert steps(events) == ["gate"]
    assert TextDelivered(agent="guardrail", text="No.") in events
    assert (reply(events).status, reply(events).agent) == ("boundary", "guardrail")
    assert reply(events).text == "No."
    assert stage.supervisor.calls == stage.career.calls == []
    assert [m["text"] for m in await stage.history()] == ["How?", "No."]


async def test_a_supported_answer_is_delivered_byte_for_byte() -> None:
    comment = Comment(agent="knowledge", text="Looking")
    stage = Stage(career=[[HANDOFF]], research=[[comment, ANSWERED]])
    events = await stage.turn()
    assert steps(events) == ["gate", "supervisor", "career_chat", "knowledge"]
    assert TextDelivered(agent="knowledge", text=ANSWERED.answer) in events
    found = reply(events)
    assert (found.status, found.agent, found.text) == ("answered", "knowledge", ANSWERED.answer)
    assert found.citations == (CITATION,)
    assert (found.spent.model_calls, found.spent.searches) == (5, 1)
    assert len(stage.career.calls) == 1
    assert stage.researcher.calls[0][2] == "q?"
    roles = [m["role"] for m in await stage.history()]
    assert roles == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    ("status", "turn_status"), [("unanswerable", "miss"), ("unavailable", "unavailable")]
)
async def test_anything_else_goes_back_to_career_chat_once_with_no_reference(
    status: Any, turn_status: str
) -> None:
    miss = KnowledgeAnswer(status=status, limitation="Only 2026.", code="secret_code")
    stage = Stage(career=[[HANDOFF], [said("I could not find it.")]], research=[[miss]])
    events = await stage.turn()
    assert steps(events) == ["gate", "supervisor", "career_chat", "knowledge", "career_chat"]
    found = reply(events)
    assert (found.status, found.agent) == (turn_status, "career_chat")
    assert (found.text, found.citations) == ("I could not find it.", ())
    closing = stage.career.calls[1][2].messages[-1]
    assert (closing.role, closing.tool_call_id) == ("tool", "call-1")
    assert json.loads(closing.text) == {"status": status, "limitation": "Only 2026."}
    assert [call[2].may_hand_off for call in stage.career.calls] == [True, False], (
        "no second handoff"
    )


async def test_a_second_handoff_starts_no_second_research() -> None:
    miss = KnowledgeAnswer(status="unanswerable")
    stage = Stage(career=[[HANDOFF], [HANDOFF]], research=[[miss]])
    await stage.turn()
    assert len(stage.researcher.calls) == 1
    assert len(stage.career.calls) == 2


async def test_another_user_does_not_see_the_conversation() -> None:
    stage = Stage(gate=[ALLOW] * 2, route=[CHOSEN] * 2, career=[[said("One.")], [said("Two.")]])
    await stage.turn("mine")
    await stage.turn("theirs", user="ben")
    assert [message.text for message in stage.career.calls[1][2].messages] == ["theirs"]


async def test_a_direct_entry_passes_the_gate_and_skips_the_supervisor() -> None:
    stage = Stage(tasks=[[said("Tasks.")]])
    events = await stage.turn(entry="task_guidance")
    assert steps(events) == ["gate", "task_guidance"]
    assert reply(events).agent == "task_guidance"
    assert stage.supervisor.calls == []


async def test_the_supervisor_hears_who_answered_last() -> None:
    route = [RoutingOutcome(specialist="task_guidance"), CHOSEN]
    stage = Stage(gate=[ALLOW] * 2, route=route, tasks=[[said("Tasks.")]], career=[[said("Chat.")]])
    await stage.turn("first")
    await stage.turn("second")
    assert [call[5] for call in stage.supervisor.calls] == [None, "task_guidance"]
