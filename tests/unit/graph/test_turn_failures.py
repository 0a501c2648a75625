"""Turns that fail, and turns that are left: safe errors, clean histories, drained roles."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest
from fake_turn import (
    ALLOW,
    CHOSEN,
    HANDOFF,
    Stage,
    reply,
    said,
)

from config.prompt_files import phrase
from domain.answers import KnowledgeAnswer
from domain.errors import DeadlineExceeded, ModelUnavailable, StoreUnavailable
from domain.events import (
    Comment,
    Event,
    TextDelta,
    TurnFinished,
    TurnStopped,
)
from domain.messages import user
from graph.run import run_turn


@pytest.mark.parametrize(
    "error",
    [DeadlineExceeded("researcher.run", 45.0), StoreUnavailable("x", "y"), RuntimeError("odd")],
    ids=["deadline", "store", "foreign"],
)
async def test_a_research_that_fails_is_unavailable_and_career_chat_says_so_once(
    error: Exception,
) -> None:
    stage = Stage(career=[[HANDOFF], [said("Not just now.")]], research=[[error]])
    found = reply(await stage.turn())
    assert (found.status, found.text) == ("unavailable", "Not just now.")
    assert len(stage.career.calls) == 2
    assert json.loads(stage.career.calls[1][2].messages[-1].text) == {"status": "unavailable"}


@pytest.mark.parametrize("broken", [[], [Comment(agent="knowledge", text="x")]])
async def test_a_research_without_an_answer_is_unavailable(broken: list[Any]) -> None:
    stage = Stage(career=[[HANDOFF], [said("Not just now.")]], research=[broken])
    assert reply(await stage.turn()).status == "unavailable"


FAILURE = ModelUnavailable("the model", "SECRET reason")


@pytest.mark.parametrize(
    ("given", "stage_name", "code"),
    [
        ({"gate": FAILURE}, "gate", "model_unavailable"),
        ({"route": FAILURE}, "supervisor", "model_unavailable"),
        ({"career": [[FAILURE]]}, "career_chat", "model_unavailable"),
        ({"career": [[]]}, "career_chat", "turn_failed"),
        ({"career": [[RuntimeError("SECRET")]]}, "career_chat", "unexpected"),
        (
            {"gate": DeadlineExceeded("guardrail.decide", 15.0)},
            "gate",
            "deadline_exceeded",
        ),
    ],
    ids=["gate", "supervisor", "specialist", "no-outcome", "foreign", "deadline"],
)
async def test_a_failing_node_stops_the_turn_with_a_safe_error(
    given: dict[str, Any], stage_name: str, code: str
) -> None:
    events = await Stage(**given).turn(locale="de")
    last = events[-1]
    assert isinstance(last, TurnStopped)
    assert (last.stage, last.code) == (stage_name, code)
    assert last.message == phrase("safe_error", "de")
    assert "SECRET" not in repr(events)
    assert sum(isinstance(e, TurnStopped | TurnFinished) for e in events) == 1


async def test_nothing_of_a_failed_turn_is_in_a_later_one() -> None:
    stage = Stage(
        gate=[ALLOW] * 3,
        route=[CHOSEN] * 3,
        career=[[said("One.")], [HANDOFF], [FAILURE], [said("Three.")]],
        research=[[KnowledgeAnswer(status="unanswerable")]],
    )
    await stage.turn("first")
    assert isinstance((await stage.turn("failed"))[-1], TurnStopped)
    assert reply(await stage.turn("third")).text == "Three."
    seen = [message.text for message in stage.career.calls[-1][2].messages]
    assert seen == ["first", "One.", "third"]
    assert stage.career.calls[-1][2].may_hand_off is True, "the handoff may be used again"
    assert [m["text"] for m in await stage.history()] == ["first", "One.", "third", "Three."]


async def test_leaving_a_turn_early_waits_until_its_roles_have_ended() -> None:
    stage = Stage(career=[[TextDelta(agent="career_chat", text="a"), 30.0]], clean_up=0.05)
    async with aclosing(run_turn(stage.graph, stage.context(), [user("q")])) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert stage.career.cleaned == 1
    assert await stage.history() == []


async def test_a_cancelled_turn_waits_until_its_roles_have_ended() -> None:
    stage = Stage(career=[[HANDOFF]], research=[[30.0]], clean_up=0.05)

    async def consume() -> list[Event]:
        return await stage.turn()

    task = asyncio.create_task(consume())
    for _ in range(200):
        await asyncio.sleep(0.01)
        if stage.researcher.calls:
            break
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.researcher.cleaned == 1


async def test_a_cancellation_is_no_unavailability() -> None:
    stage = Stage(career=[[HANDOFF]], research=[[30.0]])
    task = asyncio.create_task(stage.turn())
    for _ in range(200):
        await asyncio.sleep(0.01)
        if stage.researcher.calls:
            break
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.05)
    assert stage.researcher.cleaned == 1
    assert len(stage.career.calls) == 1
    assert await stage.history() == []
