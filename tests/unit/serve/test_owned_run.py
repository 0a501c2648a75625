"""A run in its own process: fed from memory, written behind, bounded, ended in every way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from fake_gateway import EVENTS, REPLY, FakeGateway
from fake_run_log import FakeRunLog

from actors.pump import Pump
from config.policy import POLICY, RunLimits
from domain.errors import NotFound, StoreUnavailable, Unavailable
from domain.events import Event, StepStarted, TextDelta, TurnFinished
from serve.agui_events import RunProjection
from serve.gateway import TurnRequest
from serve.identity import Identity
from serve.run_log import RunEvent, RunName

LIMITS = RunLimits(heartbeat_seconds=0.02, lost_seconds=0.2)
NAME = RunName("acme|ana", "r1")
THREAD = "acme|ana|t1"
ENDLESS: list[Event | float] = [StepStarted(step="gate"), 60.0]


@pytest.fixture(autouse=True)
async def nothing_is_left() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    await asyncio.sleep(0.05)
    assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()


def gateway_of(
    events: Sequence[Event | float | Exception], limits: RunLimits = LIMITS, **options: Any
) -> FakeGateway:
    return FakeGateway(events, limits=limits, **options)


async def start(gateway: FakeGateway, name: RunName = NAME) -> bool:
    turn = TurnRequest(identity=Identity("acme", "ana"), messages=[], run_id=name.run_id)
    projection = RunProjection("t1", name.run_id, "de")
    return await gateway.runs.start(name, THREAD, projection, gateway.turn(turn))


async def followed(gateway: FakeGateway, after: int = 0) -> list[RunEvent | None]:
    async with asyncio.timeout(5):
        return [event async for event in gateway.runs.follow(NAME, after)]


def kinds(events: Sequence[RunEvent | None]) -> list[str]:
    return [json.loads(event.data)["type"] for event in events if event is not None]


def last(events: Sequence[RunEvent | None]) -> dict[str, Any]:
    assert events[-1] is not None and events[-1].last
    document: dict[str, Any] = json.loads(events[-1].data)
    return document


async def written(gateway: FakeGateway) -> list[RunEvent]:
    """The log once the run is written to its end."""
    kept = gateway.log.logs[NAME]
    while not kept.events[-1].last:
        await asyncio.sleep(0.005)
    events: list[RunEvent] = kept.events
    return events


async def test_what_is_seen_is_what_is_written() -> None:
    gateway = gateway_of(EVENTS)
    assert await start(gateway)
    seen = await followed(gateway)
    assert kinds(seen)[0] == "RUN_STARTED" and kinds(seen)[-1] == "RUN_FINISHED"
    assert await written(gateway) == seen
    assert await followed(gateway, after=2) == seen[2:]


async def test_events_that_come_together_are_written_together() -> None:
    gateway = gateway_of([TextDelta(agent="a", text=str(n)) for n in range(40)] + [EVENTS[-1]])
    await start(gateway)
    await followed(gateway)
    await written(gateway)
    assert max(gateway.log.batches) > 20


async def test_a_client_does_not_wait_for_the_store() -> None:
    gateway = gateway_of(EVENTS)
    await start(gateway)
    gateway.log.down = True
    seen = await followed(gateway)
    assert last(seen)["type"] == "RUN_FINISHED"
    assert len(gateway.log.logs[NAME].events) == 1
    gateway.log.down = False
    assert await written(gateway) == seen, "what could not be written is written later"


async def test_a_log_that_stays_away_is_given_up_when_the_run_has_ended() -> None:
    gateway = gateway_of(EVENTS)
    await start(gateway)
    gateway.log.down = True
    await followed(gateway)
    await asyncio.sleep(LIMITS.lost_seconds + 0.1)
    with pytest.raises(StoreUnavailable):
        await gateway.runs.check(NAME)


async def test_a_store_that_is_away_starts_nothing() -> None:
    gateway = gateway_of(EVENTS)
    gateway.log.down = True
    with pytest.raises(StoreUnavailable):
        await start(gateway)
    assert gateway.turns == []


async def test_a_name_runs_once() -> None:
    gateway = gateway_of(EVENTS)
    assert await start(gateway)
    assert not await start(gateway)
    await followed(gateway)
    await written(gateway)
    assert not await start(gateway)
    assert len(gateway.turns) == 1


async def test_a_slow_reader_holds_up_nobody() -> None:
    gateway = gateway_of([*(TextDelta(agent="a", text="x") for _ in range(500)), EVENTS[-1]])
    await start(gateway)
    slow = gateway.runs.follow(NAME)
    assert (await anext(slow)) is not None
    quick = await followed(gateway)
    assert [event async for event in slow] == quick[1:]
    await written(gateway)


@pytest.mark.parametrize("room", [0, -1], ids=["at the limit", "above the limit"])
async def test_a_run_has_a_bounded_number_of_events(room: int) -> None:
    # Start, step, text's start, 10 texts, text's end, step's end, reply, finish.
    texts = [TextDelta(agent="a", text="x") for _ in range(10)]
    limits = replace(LIMITS, kept_events=17 + room)
    gateway = gateway_of([StepStarted(step="gate"), *texts, TurnFinished(reply=REPLY)], limits)
    await start(gateway)
    seen = await followed(gateway)
    assert len(seen) <= limits.kept_events
    if room == 0:
        assert (len(seen), last(seen)["type"]) == (17, "RUN_FINISHED")
    else:
        assert last(seen)["code"] == "too_many_events"
        assert kinds(seen)[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_ERROR"]
    assert gateway.drained == 1
    assert await written(gateway) == seen


async def test_a_stop_cancels_closes_what_is_open_and_counts_once() -> None:
    gateway = gateway_of(ENDLESS, drain_seconds=0.1)
    await start(gateway)
    reader = asyncio.create_task(followed(gateway))
    await asyncio.sleep(0.02)
    for _ in range(3):
        await gateway.runs.stop(NAME)
    seen = await reader
    assert kinds(seen) == ["RUN_STARTED", "STEP_STARTED", "STEP_FINISHED", "RUN_FINISHED"]
    assert last(seen)["outcome"] == {"type": "cancelled"}
    assert gateway.drained == 1
    await written(gateway)


async def test_a_stop_before_the_turn_began_is_a_stop() -> None:
    gateway = gateway_of(ENDLESS)
    await start(gateway)
    await gateway.runs.stop(NAME)
    assert last(await followed(gateway))["outcome"] == {"type": "cancelled"}
    await written(gateway)


async def test_a_turn_that_ended_all_the_same_ends_its_run_as_it_did() -> None:
    @asynccontextmanager
    async def stored_already() -> AsyncGenerator[Pump[Event], None]:
        async def play() -> AsyncGenerator[Event, None]:
            yield EVENTS[0]
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            yield EVENTS[1]

        async with Pump(play()) as pump:
            yield pump

    gateway = gateway_of(EVENTS)
    projection = RunProjection("t1", NAME.run_id)
    assert await gateway.runs.start(NAME, THREAD, projection, stored_already())
    reader = asyncio.create_task(followed(gateway))
    await asyncio.sleep(0.05)
    await gateway.runs.stop(NAME)
    seen = await reader
    assert last(seen)["outcome"] == {"type": "success"}
    assert kinds(seen).count("RUN_FINISHED") == 1
    await written(gateway)


async def test_a_run_that_ended_stays_as_it_is_when_it_is_stopped() -> None:
    gateway = gateway_of(EVENTS)
    await start(gateway)
    seen = await followed(gateway)
    await gateway.runs.stop(NAME)
    await written(gateway)
    await gateway.runs.stop(NAME)
    assert await followed(gateway) == seen


async def test_an_unknown_run_cannot_be_stopped() -> None:
    with pytest.raises(NotFound):
        await gateway_of(EVENTS).runs.stop(NAME)


@pytest.mark.parametrize(
    "events", [[ValueError("secret")], [], [StepStarted(step="gate")]], ids=["error", "none", "cut"]
)
async def test_a_turn_without_its_end_is_a_safe_error(events: list[Any]) -> None:
    gateway = gateway_of(events)
    await start(gateway)
    error = last(await followed(gateway))
    assert (error["type"], error["code"]) == ("RUN_ERROR", "unexpected")
    assert error["message"].startswith("Der Assistent")
    assert "secret" not in json.dumps(error)
    await written(gateway)


async def test_an_error_of_ours_keeps_its_code() -> None:
    gateway = gateway_of([StoreUnavailable("Redis", "ConnectionError")])
    await start(gateway)
    assert last(await followed(gateway))["code"] == "store_unavailable"
    await written(gateway)


async def test_closing_drains_every_run_and_tells_their_readers() -> None:
    gateway = gateway_of(ENDLESS, drain_seconds=0.1)
    await start(gateway)
    reader = asyncio.create_task(followed(gateway))
    await asyncio.sleep(0.02)
    await gateway.close()
    assert gateway.drained == 1
    assert last(await reader)["code"] == "shutting_down"
    assert gateway.log.logs[NAME].events == await reader
    with pytest.raises(Unavailable):
        await start(gateway, RunName("acme|ana", "r2"))


async def test_closing_does_not_wait_for_a_store_that_is_away() -> None:
    gateway = gateway_of(ENDLESS, replace(LIMITS, lost_seconds=0.1))
    await start(gateway)
    await asyncio.sleep(0.02)
    gateway.log.down = True
    async with asyncio.timeout(2):
        await gateway.close()
    assert gateway.drained == 1


async def test_a_run_that_nobody_reads_ends_after_the_grace_and_a_reader_keeps_it() -> None:
    gateway = gateway_of(ENDLESS, disconnect_grace_seconds=0.15)
    await start(gateway)
    reader = gateway.runs.follow(NAME)
    assert await anext(reader) is not None
    await asyncio.sleep(0.3)
    assert gateway.drained == 0, "it is read, however slowly"
    await reader.aclose()
    await asyncio.sleep(0.07)
    assert gateway.drained == 0
    events = await written(gateway)
    assert last(events)["outcome"] == {"type": "cancelled"}


async def test_without_a_grace_the_first_reader_still_finds_the_run() -> None:
    gateway = gateway_of([0.1, *EVENTS], disconnect_grace_seconds=0.0)
    await start(gateway)
    assert last(await followed(gateway))["type"] == "RUN_FINISHED"
    await written(gateway)


async def test_proxies_are_kept_awake() -> None:
    gateway = gateway_of([0.2, *EVENTS], keepalive_seconds=0.05)
    await start(gateway)
    seen = await followed(gateway)
    assert 2 <= seen.count(None) <= 4
    await written(gateway)


def test_the_interval_of_comments_is_the_policys() -> None:
    assert POLICY.stream.keepalive_seconds == 10.0
    assert FakeGateway().runs._keepalive == POLICY.stream.keepalive_seconds


async def test_a_log_that_was_deleted_cancels_its_run() -> None:
    gateway = gateway_of(ENDLESS)
    await start(gateway)
    reader = asyncio.create_task(followed(gateway))
    await asyncio.sleep(0.02)
    await gateway.runs.forget("acme|ana|other")
    await asyncio.sleep(0.05)
    assert not reader.done()
    await gateway.runs.forget(THREAD)
    assert last(await reader)["outcome"] == {"type": "cancelled"}
    assert gateway.log.logs == {}


async def test_a_defect_of_the_log_does_not_let_a_run_go_on_unseen() -> None:
    class Broken(FakeRunLog):
        async def write(self, *args: Any) -> Any:
            raise KeyError("a defect")

    gateway = gateway_of(ENDLESS, log=Broken(LIMITS))
    await start(gateway)
    reader = gateway.runs.follow(NAME)
    async with asyncio.timeout(2):
        seen = [event async for event in reader]
    assert last(seen)["code"] == "unexpected"
    assert gateway.drained == 1


def test_two_projections_of_one_run_are_the_same() -> None:
    def shown() -> list[str]:
        projection = RunProjection("t1", "r1")
        events = [projection.started(), *(e for one in EVENTS for e in projection.project(one))]
        return [event.model_dump_json(by_alias=True) for event in events]

    assert shown() == shown()
