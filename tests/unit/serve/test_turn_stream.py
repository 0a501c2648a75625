"""Reading a running turn, and the result of ``manta ask``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from fake_gateway import EVENTS, REPLY
from fake_requests import context_of, tenant_of
from fake_roles import FakeDecider, FakeRunner, cell_of
from starlette.requests import Request

from actors.pump import Pump
from domain.budgets import Spent
from domain.events import Event, TextDelta, TurnStopped
from graph.state import TurnContext
from serve.one_turn import _result
from serve.turn_stream import kept_alive, last_event

STOPPED = TurnStopped(code="deadline_exceeded", stage="gate", message="Sorry.")


async def play(*events: Any) -> AsyncGenerator[Event, None]:
    for event in events:
        if isinstance(event, float):
            await asyncio.sleep(event)
        elif isinstance(event, Exception):
            raise event
        else:
            yield event


def request(gone_after: float = 60.0) -> Request:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(gone_after)
        return {"type": "http.disconnect"}

    return Request({"type": "http", "headers": []}, receive)


async def gathered(events: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in events]


async def test_a_stream_gives_every_event_in_order() -> None:
    async with Pump(play(*EVENTS)) as pump:
        assert [event async for event in kept_alive(pump)] == list(EVENTS)


async def test_a_failure_of_the_turn_passes_and_is_no_pause() -> None:
    async with Pump(play(EVENTS[0], TimeoutError("its own"))) as pump:
        with pytest.raises(TimeoutError, match="its own"):
            await gathered(kept_alive(pump))


@pytest.mark.parametrize("last", [EVENTS[-1], STOPPED], ids=["finished", "stopped"])
async def test_the_whole_answer_is_the_last_event(last: Event) -> None:
    async with Pump(play(EVENTS[0], last)) as pump:
        assert await last_event(pump, request()) == last


async def test_a_client_that_went_away_gets_nothing_and_its_turn_is_cancelled() -> None:
    async with Pump(play(EVENTS[0], 60.0, EVENTS[1])) as pump:
        assert await last_event(pump, request(gone_after=0.05)) is None
    assert pump.task.cancelled()


async def test_a_turn_without_its_last_event_is_an_error() -> None:
    async with Pump(play(TextDelta(agent="a", text="x"))) as pump:
        with pytest.raises(RuntimeError, match="last event"):
            await last_event(pump, request())


def context() -> TurnContext:
    roles = cell_of(FakeDecider(), FakeDecider(), FakeRunner(), FakeRunner())
    spent = Spent(model_calls=2)
    return TurnContext(
        request=context_of(locale="de"), tenant=tenant_of(), roles=roles, spent=spent
    )


KEYS = {"status", "agent", "answer", "citations", "locale", "spent", "seconds", "run_id"}


def test_an_answered_question_is_one_object() -> None:
    found = _result("r1", context(), EVENTS[-1])
    assert set(found) == KEYS
    assert (found["status"], found["answer"], found["run_id"]) == ("answered", REPLY.text, "r1")
    assert found["citations"][0]["quote"] == "27 days"


@pytest.mark.parametrize("last", [STOPPED, None, EVENTS[0]], ids=["stopped", "none", "cut"])
def test_a_failed_question_has_the_same_keys_and_what_was_spent(last: Event | None) -> None:
    found = _result("r1", context(), last)
    assert set(found) == KEYS
    assert (found["status"], found["locale"]) == ("failed", "de")
    assert found["spent"]["model_calls"] == 2
    assert found["citations"] == []
