"""Runs over two replicas that share one Redis: reconnecting, stopping, dying, forgetting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis.asyncio as redis
from fake_gateway import REPLY, FakeGateway
from listening import Numbered, listening, run_body, taken

from config.policy import RunLimits
from domain.events import (
    Activity,
    Event,
    StepFinished,
    StepStarted,
    TextDelta,
    TurnFinished,
)
from serve.run_log import RunEvent, RunLog, RunName

pytestmark = pytest.mark.integration

LIMITS = RunLimits(kept_seconds=30, heartbeat_seconds=0.05, lost_seconds=0.5)
SLOW: list[Event | float] = [
    StepStarted(step="gate"),
    Activity(code="checking_request", agent="guardrail"),
    0.02,
    StepFinished(step="gate", seconds=0.1),
    StepStarted(step="career_chat"),
    TextDelta(agent="career_chat", text="You get "),
    0.03,
    TextDelta(agent="career_chat", text="27 "),
    0.0,
    TextDelta(agent="career_chat", text="days."),
    0.02,
    StepFinished(step="career_chat", seconds=0.1),
    TurnFinished(reply=REPLY),
]
COUNT = 13
"""Events of SLOW's run: its own, the run's start, the text's start and end, the reply."""
ENDLESS: list[Event | float] = [StepStarted(step="gate"), 60.0]


@dataclass
class Replica:
    url: str
    gateway: FakeGateway


class Fleet:
    """Replicas over one Redis, each with a client of its own."""

    def __init__(self, stack: AsyncExitStack, redis_url: str) -> None:
        self._stack = stack
        self._redis_url = redis_url
        self.redis: Any = redis.Redis.from_url(redis_url)
        stack.push_async_callback(self.redis.aclose)

    async def replica(
        self,
        events: Sequence[Event | float] = SLOW,
        limits: RunLimits = LIMITS,
        keepalive_seconds: float = 10.0,
        **options: Any,
    ) -> Replica:
        client: Any = redis.Redis.from_url(self._redis_url)
        self._stack.push_async_callback(client.aclose)
        gateway = FakeGateway(
            events,
            log=RunLog(client, limits),
            limits=limits,
            keepalive_seconds=keepalive_seconds,
            **options,
        )
        return Replica(await self._stack.enter_async_context(listening(gateway)), gateway)

    async def keys(self) -> set[str]:
        return {key.decode() for key in await self.redis.keys("manta:run*")}


@pytest.fixture
async def fleet(redis_url: str) -> AsyncIterator[Fleet]:
    """Nothing goes on when a test is over, and nothing is kept for ever."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        fleet = Fleet(stack, redis_url)
        await fleet.redis.delete(*(await fleet.keys() or ["none"]))
        yield fleet
        for key in await fleet.keys():
            assert await fleet.redis.ttl(key) != -1, key
    await asyncio.sleep(0)
    assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()


def new_run() -> str:
    return uuid4().hex


def documents(events: list[Numbered], run_id: str) -> list[str]:
    """The events as text in which every run has the same id."""
    return [json.dumps(document).replace(run_id, "RUN") for _, document in events]


async def post(replica: Replica, run_id: str, count: int | None = None, **fields: Any) -> Any:
    body = run_body(run_id, **fields)
    return await taken(f"{replica.url}/v1/runs", posted=body, count=count)


async def get(replica: Replica, run_id: str, **options: Any) -> list[Numbered]:
    return await taken(f"{replica.url}/v1/runs/{run_id}", posted=None, **options)


def after(number: int) -> dict[str, Any]:
    return {"headers": {"Last-Event-ID": str(number)}}


async def gone(replica: Replica) -> None:
    while replica.gateway.drained == 0:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("cut", range(COUNT + 1))
async def test_a_client_that_reconnects_elsewhere_misses_nothing_and_sees_nothing_twice(
    fleet: Fleet, cut: int
) -> None:
    one, two = await fleet.replica(), await fleet.replica()
    whole_id, run_id = new_run(), new_run()
    whole = await post(one, whole_id)
    assert [number for number, _ in whole] == list(range(1, COUNT + 1))
    before = await post(one, run_id, count=cut)
    rest = await get(two, run_id, **after(cut))
    assert [number for number, _ in before + rest] == list(range(1, COUNT + 1))
    assert documents(before + rest, run_id) == documents(whole, whole_id)
    assert len(one.gateway.turns) == 2 and two.gateway.turns == []


async def test_many_readers_at_different_places_see_one_run(fleet: Fleet) -> None:
    one, two = await fleet.replica(), await fleet.replica()
    run_id = new_run()
    posted = asyncio.create_task(post(one, run_id))
    while not one.gateway.turns:
        await asyncio.sleep(0.005)
    readers = [
        get(replica, run_id, **after(n)) for n in range(0, COUNT, 3) for replica in (one, two)
    ]
    seen = await asyncio.gather(*readers)
    whole = await posted
    for index, events in enumerate(seen):
        assert events == whole[3 * (index // 2) :]


async def test_without_a_number_a_run_is_shown_from_its_start_and_a_query_works_too(
    fleet: Fleet,
) -> None:
    one, two = await fleet.replica(), await fleet.replica()
    run_id = new_run()
    whole = await post(one, run_id)
    for replica in (one, two):
        assert await get(replica, run_id) == whole
        assert await get(replica, run_id, params={"after": "5"}) == whole[5:]
        assert await get(replica, run_id, params={"after": "2"}, **after(9)) == whole[9:]
        assert await get(replica, run_id, **after(COUNT)) == []


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "²", "9" * 11])
async def test_a_number_that_is_none_is_refused(fleet: Fleet, number: str) -> None:
    one = await fleet.replica()
    async with httpx.AsyncClient(trust_env=False) as client:
        reply = await client.get(f"{one.url}/v1/runs/r", params={"after": number})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "after")


async def test_a_run_is_its_owners_only(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    one, two = await fleet.replica(ENDLESS), await fleet.replica()
    run_id = new_run()
    await post(one, run_id, count=2)
    others = [{"X-Manta-User": "bob"}, {"X-Manta-Tenant": "quiet"}]
    async with httpx.AsyncClient(trust_env=False) as client:
        for replica in (one, two):
            for headers in others:
                url = f"{replica.url}/v1/runs/{run_id}"
                assert (await client.get(url, headers=headers)).status_code == 404
                assert (await client.post(f"{url}/stop", headers=headers)).status_code == 404
        assert (await client.get(f"{two.url}/v1/runs/unknown")).status_code == 404
    assert sum(record.message == "foreign_access" for record in caplog.records) == 9
    assert one.gateway.drained == 0
    # Another owner's run may have the same name.
    body = run_body(run_id)
    reply = await taken(f"{two.url}/v1/runs", posted=body, headers={"X-Manta-User": "bob"})
    assert reply[-1][1]["type"] == "RUN_FINISHED"


async def test_a_run_never_runs_twice(fleet: Fleet) -> None:
    one, two = await fleet.replica(), await fleet.replica()
    run_id = new_run()
    async with httpx.AsyncClient(trust_env=False) as client:
        urls = [f"{replica.url}/v1/runs" for replica in (one, two)] * 4
        replies = await asyncio.gather(*(client.post(u, json=run_body(run_id)) for u in urls))
    assert sorted(reply.status_code for reply in replies) == [200] + [409] * 7
    refused = next(reply for reply in replies if reply.status_code == 409).json()["error"]
    assert (refused["code"], refused["param"]) == ("run_exists", "runId")
    assert "GET /v1/runs/" in refused["message"]
    assert len(one.gateway.turns + two.gateway.turns) == 1
    assert one.gateway.drained + two.gateway.drained == 1


@pytest.mark.parametrize("elsewhere", [True, False], ids=["elsewhere", "here"])
async def test_a_stop_cancels_the_run_wherever_it_is(fleet: Fleet, elsewhere: bool) -> None:
    one = await fleet.replica(ENDLESS, drain_seconds=0.1)
    two = await fleet.replica()
    run_id = new_run()
    posted = asyncio.create_task(post(one, run_id))
    while not one.gateway.turns:
        await asyncio.sleep(0.005)
    stopper = two if elsewhere else one
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"{stopper.url}/v1/runs/{run_id}/stop"
        assert (await client.post(url)).status_code == 202
        events = await posted
        assert one.gateway.drained == 1, "the end is told when the clean-up has ended"
        # Once more: it has ended, and stays as it is.
        assert (await client.post(url)).status_code == 202
    kinds = [document["type"] for _, document in events]
    assert kinds == ["RUN_STARTED", "STEP_STARTED", "STEP_FINISHED", "RUN_FINISHED"]
    assert events[-1][1]["outcome"] == {"type": "cancelled"}
    assert await get(two, run_id) == events


async def test_a_run_that_nobody_reads_is_cancelled_and_drained_after_the_grace(
    fleet: Fleet,
) -> None:
    one = await fleet.replica(ENDLESS, drain_seconds=0.1, disconnect_grace_seconds=0.3)
    run_id = new_run()
    await post(one, run_id, count=2)
    await asyncio.sleep(0.15)
    assert one.gateway.drained == 0
    async with asyncio.timeout(5):
        await gone(one)
    events = await get(await fleet.replica(), run_id)
    assert events[-1][1]["outcome"] == {"type": "cancelled"}


async def test_without_a_grace_a_disconnect_cancels_at_once(fleet: Fleet) -> None:
    one = await fleet.replica(ENDLESS, disconnect_grace_seconds=0.0)
    await post(one, new_run(), count=2)
    async with asyncio.timeout(1):
        await gone(one)


async def test_a_reader_on_another_replica_keeps_a_run_alive(fleet: Fleet) -> None:
    one = await fleet.replica(
        [StepStarted(step="gate"), 1.0, *SLOW[1:]], disconnect_grace_seconds=0.2
    )
    two = await fleet.replica()
    run_id = new_run()
    before = await post(one, run_id, count=2)
    rest = await get(two, run_id, **after(2))
    assert len(before + rest) == COUNT
    assert rest[-1][1]["outcome"] == {"type": "success"}


async def test_a_replayed_stream_is_kept_awake(fleet: Fleet) -> None:
    one = await fleet.replica([0.4, *SLOW])
    two = await fleet.replica(keepalive_seconds=0.1)
    run_id = new_run()
    await post(one, run_id, count=1)
    async with httpx.AsyncClient(trust_env=False) as client:
        text = (await client.get(f"{two.url}/v1/runs/{run_id}")).text
    assert text.count(": keep-alive\n\n") >= 2
    assert text.count("data: ") == COUNT


async def test_a_run_whose_replica_died_ends_once_for_all_readers(fleet: Fleet) -> None:
    name, run_log = RunName("acme|ana", new_run()), RunLog(fleet.redis, LIMITS)
    lost = json.dumps({"type": "RUN_ERROR", "message": "Sorry.", "code": "run_lost"})
    first = RunEvent(1, json.dumps({"type": "RUN_STARTED", "threadId": "t1", "runId": "r"}))
    assert await run_log.claim(name, "acme|ana|t1", first, lost)
    step = RunEvent(2, json.dumps({"type": "STEP_STARTED", "stepName": "gate"}))
    assert (await run_log.write(name, "acme|ana|t1", [step])).fate == "kept"
    one, two = await fleet.replica(), await fleet.replica()
    async with asyncio.timeout(3):
        seen = await asyncio.gather(*(get(r, name.run_id) for r in (one, two, one, two)))
    for events in seen:
        assert [document["type"] for _, document in events] == [
            "RUN_STARTED",
            "STEP_STARTED",
            "RUN_ERROR",
        ]
        assert events[-1][1]["code"] == "run_lost"
    # A client that had seen what was never written hears of the end as well.
    assert [d["code"] for _, d in await get(two, name.run_id, **after(7))] == ["run_lost"]
    assert len(await fleet.redis.xrange(name.key)) == 3
    # The owner was only stalled: it cannot write any more, and finds out.
    late = await run_log.write(name, "acme|ana|t1", [RunEvent(3, "{}")])
    assert late.fate == "lost"
    assert len(await fleet.redis.xrange(name.key)) == 3
    assert (await post(one, new_run()))[-1][1]["type"] == "RUN_FINISHED"


async def test_a_run_that_was_declared_lost_is_cancelled_by_its_owner(fleet: Fleet) -> None:
    one = await fleet.replica(ENDLESS)
    run_id = new_run()
    posted = asyncio.create_task(post(one, run_id))
    name = RunName("acme|ana", run_id)
    while not await fleet.redis.exists(name.key):
        await asyncio.sleep(0.005)
    closing = {"data": json.dumps({"type": "RUN_ERROR", "code": "run_lost"}), "last": "1"}
    await fleet.redis.xadd(name.key, closing, id=LIMITS.kept_events + 1)
    assert (await posted)[-1][1]["code"] == "run_lost"
    assert one.gateway.drained == 1


async def test_an_answer_of_the_store_that_was_lost_is_asked_for_again(fleet: Fleet) -> None:
    name, run_log = RunName("acme|ana", new_run()), RunLog(fleet.redis, LIMITS)
    await run_log.claim(name, "t", RunEvent(1, "{}"), "{}")
    batch = [RunEvent(2, '{"n":2}'), RunEvent(3, '{"n":3}')]
    for _ in range(2):
        assert (await run_log.write(name, "t", batch)).fate == "kept"
    assert (await run_log.write(name, "t", [RunEvent(4, "{}")])).fate == "kept"
    assert [event.seq for event in (await run_log.read(name, 0)).events] == [1, 2, 3, 4]


async def test_a_live_or_ended_run_is_not_declared_lost(fleet: Fleet) -> None:
    name, run_log = RunName("acme|ana", new_run()), RunLog(fleet.redis, LIMITS)
    await run_log.claim(name, "t", RunEvent(1, "{}"), "{}")
    await run_log.declare_lost(name)
    assert not (await run_log.read(name, 1)).ended
    await run_log.write(name, "t", [RunEvent(2, "{}", last=True)])
    await run_log.declare_lost(name)
    assert (await run_log.read(name, 2)).ended
    assert len(await fleet.redis.xrange(name.key)) == 2


async def test_a_log_is_kept_after_the_last_event_and_then_gone(fleet: Fleet) -> None:
    one = await fleet.replica([0.8, *SLOW], limits=replace(LIMITS, kept_seconds=1))
    run_id = new_run()
    whole = await post(one, run_id)
    assert await get(one, run_id) == whole
    await asyncio.sleep(1.2)
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{one.url}/v1/runs/{run_id}")).status_code == 404
    assert await fleet.keys() == set()


async def test_a_forgotten_conversation_leaves_no_key_and_no_run(fleet: Fleet) -> None:
    one, two = await fleet.replica(), await fleet.replica(ENDLESS)
    await post(one, new_run())
    running = asyncio.create_task(post(two, new_run()))
    other = asyncio.create_task(post(two, new_run(), threadId="t2"))
    while len(two.gateway.turns) < 2:
        await asyncio.sleep(0.005)
    await one.gateway.runs.forget("acme|ana|t1")
    assert (await running)[-1][1]["outcome"] == {"type": "cancelled"}
    kept = [key for key in await fleet.keys() if not key.startswith("manta:runs:")]
    assert {key.partition(":alive")[0] for key in kept} == {
        RunName("acme|ana", turn.run_id).key
        for turn in two.gateway.turns
        if turn.conversation == "t2" and turn.run_id
    }
    other.cancel()
    await asyncio.wait({other})


async def test_a_store_that_fails_costs_a_started_run_nothing(redis_url: str) -> None:
    client: Any = redis.Redis.from_url("redis://127.0.0.1:1")
    gateway = FakeGateway(log=RunLog(client, LIMITS), limits=LIMITS)
    async with listening(gateway) as url, httpx.AsyncClient(trust_env=False) as http:
        reply = await http.post(f"{url}/v1/runs", json=run_body("r"))
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "store_unavailable")
        assert (await http.get(f"{url}/v1/runs/r")).status_code == 503
    assert gateway.drained == 0
    await client.aclose()
