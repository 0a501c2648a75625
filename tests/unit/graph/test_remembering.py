"""The memory beside the turn: what it reads, what it may change, and that it costs no reply."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from fake_roles import FakeMemory
from fake_turn import ALLOW, CHOSEN, Stage, pausing, reply, said, steps

from domain.budgets import Spent
from domain.errors import DeadlineExceeded, ModelUnavailable, StoreUnavailable
from domain.messages import user
from domain.outcomes import GateOutcome, MemoryOutcome
from domain.preferences import Fact
from graph.run import run_turn

OLD = Fact(text="I work in Brest.", since=date(2026, 1, 2))
NEW = Fact(text="I work in Falmouth.", since=date(2026, 12, 1))
UPDATE = MemoryOutcome(facts=(NEW,), spent=Spent(model_calls=2))


def stage(**more: Any) -> Stage:
    return Stage(gate=[ALLOW] * 3, route=[CHOSEN] * 3, career=[[said("Hi")]] * 3, **more)


async def test_the_memory_reads_what_the_user_said_and_the_facts_and_writes_the_new_ones() -> None:
    made = stage(memory=FakeMemory(UPDATE), facts=(OLD,))
    found = reply(await made.turn("I have moved to Falmouth"))
    _, _, said_now, known = made.memory.calls[0]
    assert said_now == (user("I have moved to Falmouth"),)
    assert known == (OLD,)
    assert made.preferences.facts == (NEW,)
    assert found.spent.model_calls == 6, "what the memory used is counted"


async def test_it_never_reads_the_generated_answer() -> None:
    made = stage(memory=FakeMemory(seconds=0.1))
    await made.turn("first")
    await made.turn("second")
    assert [m.text for call in made.memory.calls for m in call[2]] == ["first", "second"]


async def test_the_facts_go_to_the_specialist() -> None:
    made = stage(facts=(OLD,))
    await made.turn()
    assert made.career.calls[0][2].facts == (OLD,)


@pytest.mark.parametrize("decision", ["block", "doubt"])
async def test_nothing_is_remembered_without_approval(decision: Any) -> None:
    made = stage(memory=FakeMemory(UPDATE))
    made.guardrail.outcomes = [GateOutcome(decision=decision, reply="No.")]
    await made.turn()
    assert made.memory.calls == []


async def test_it_runs_beside_routing_and_the_specialist() -> None:
    made = stage(memory=FakeMemory(UPDATE, seconds=0.3))
    made.career.runs = [[0.3, said("Hi")]]
    started = asyncio.get_running_loop().time()
    events = await made.turn()
    assert asyncio.get_running_loop().time() - started < 0.55
    assert made.preferences.facts == (NEW,), "the turn's end waits for it"
    assert steps(events) == ["gate", "supervisor", "career_chat"]


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("the model", "status 500"),
        DeadlineExceeded("memory", 30.0),
        RuntimeError("odd"),
    ],
)
async def test_a_failure_is_logged_and_costs_nothing(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    made = stage(memory=FakeMemory(error), facts=(OLD,))
    assert reply(await made.turn()).text == "Hi"
    assert made.preferences.facts == (OLD,)
    assert "memory_failed" in caplog.messages


async def test_facts_that_cannot_be_read_stop_no_turn(caplog: pytest.LogCaptureFixture) -> None:
    made = stage(facts=(OLD,))
    made.preferences.error = StoreUnavailable("Redis", "gone")
    assert reply(await made.turn()).text == "Hi"
    assert made.memory.calls == [], "an unread list is never overwritten"
    assert "preferences_unread" in caplog.messages


async def test_the_owners_own_edit_wins(caplog: pytest.LogCaptureFixture) -> None:
    made = stage(memory=FakeMemory(UPDATE, seconds=0.1), facts=(OLD,))

    def erase() -> None:
        made.preferences.facts, made.preferences.version = (), 7

    made.career.runs = [[erase, said("Hi")]]
    await made.turn()
    assert made.preferences.facts == ()
    assert "memory_superseded" in caplog.messages


async def test_a_retraction_of_the_last_fact_leaves_an_empty_list() -> None:
    made = stage(memory=FakeMemory(MemoryOutcome(facts=())), facts=(OLD,))
    await made.turn("Forget where I work")
    assert made.preferences.facts == ()


async def test_a_turn_that_is_cancelled_takes_the_memory_with_it() -> None:
    made = stage(memory=FakeMemory(UPDATE, seconds=30.0), facts=(OLD,))
    task = asyncio.create_task(made.turn())
    while not made.memory.calls:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    assert made.memory.cancelled == 1
    assert made.preferences.facts == (OLD,)


async def test_a_turn_that_fails_takes_the_memory_with_it() -> None:
    made = stage(memory=FakeMemory(UPDATE, seconds=30.0))
    made.career.runs = [[ModelUnavailable("the model", "status 500")]]
    await made.turn()
    assert made.memory.cancelled == 1


async def test_without_preferences_nothing_is_remembered() -> None:
    made = stage(memory=FakeMemory(UPDATE))
    context = replace(made.context(), preferences=None)
    events = [event async for event in run_turn(made.graph, context, [user("q")])]
    assert reply(events).text == "Hi"
    assert made.memory.calls == []


async def test_a_paused_turn_is_remembered_as_well() -> None:
    made = stage(memory=FakeMemory(UPDATE), facts=(OLD,))
    made.career.runs = [[pausing("Which?")]]
    await made.turn("I have moved")
    assert made.preferences.facts == (NEW,)


async def test_a_cancellation_after_the_turn_is_stored_comes_too_late() -> None:
    made = stage(memory=FakeMemory(UPDATE, seconds=30.0))
    seen: list[Any] = []

    async def consume() -> None:
        async for event in run_turn(made.graph, made.context(), [user("q")]):
            seen.append(event)

    task = asyncio.create_task(consume())
    while not await made.history():
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    assert reply(seen).text == "Hi", "what is in the history was acknowledged"
    assert made.memory.cancelled == 1
