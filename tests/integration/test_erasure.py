"""Deleting, pruning and sweeping: nothing stays behind, and nothing goes that is needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fake_clock import FakeClock
from kept_conversations import everything, open_pause, store_turn

from domain.errors import ConversationBusy
from domain.messages import assistant, user
from domain.requests import owner_id, thread_id
from graph.checkpoints import ConversationSaver, open_saver
from graph.conversations import ConversationStore
from graph.erasure import ConversationEraser
from graph.feedback import FeedbackStore
from graph.leases import conversation_lease
from graph.retention import LOCK, Retention
from graph.state import TurnState, plain
from graph.turn import build_turn
from retrieval.redis_client import open_redis
from retrieval.uploads import UploadStore
from serve.run_log import RunEvent, RunLog, RunName

pytestmark = pytest.mark.integration
ANA = ("acme", "ana")
DAY = 86_400.0


class Store:
    """A real store with everything that keeps conversations."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.clock = FakeClock(1_700_000_000.0)
        self.saver: ConversationSaver = open_saver(client)
        self.conversations = ConversationStore(client, self.clock)
        self.uploads = UploadStore(client)
        self.feedback = FeedbackStore(client, self.clock)
        self.runs = RunLog(client)
        self.eraser = ConversationEraser(
            client,
            self.saver,
            self.conversations,
            self.uploads,
            self.feedback,
            self.runs.forget,
        )

    def retention(self, days: float | None) -> Retention:
        return Retention(
            self.client,
            self.saver,
            self.conversations,
            self.eraser,
            days=days,
            clock=self.clock,
        )

    async def turn(self, conversation: str, text: str = "How?", **more: Any) -> str:
        thread = await store_turn(self.client, ANA, conversation, text, **more)
        await self.conversations.touch(*ANA, conversation, text)
        return thread

    async def filled(self, owner: tuple[str, str], conversation: str) -> str:
        """A conversation of which everything is kept that may be."""
        thread = await store_turn(self.client, owner, conversation)
        await store_turn(self.client, owner, conversation, pause=open_pause())
        await self.uploads.add(thread, "a.txt", 1, "text " * 1_000, "en")
        await self.feedback.rate(*owner, conversation, "run-1", "up", "thanks")
        name = RunName(owner_id(*owner), f"run of {conversation}")
        await self.runs.claim(name, thread, RunEvent(1, "{}"), "{}")
        return thread


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Store]:
    client = open_redis(redis_url)
    await client.flushdb()
    yield Store(client)
    await client.flushdb()
    await client.aclose()


async def state(store: Store, thread: str) -> dict[str, Any]:
    kept = await build_turn(store.saver).aget_state({"configurable": {"thread_id": thread}})
    return dict(kept.values)


async def test_a_deletion_leaves_no_key_and_no_member_behind(store: Store) -> None:
    others = [
        await store.filled(*one)
        for one in ((ANA, "c-other"), (("acme", "ben"), "c-1"), (("quiet", "ana"), "c-1"))
    ]
    before = await everything(store.client)
    thread = await store.filled(ANA, "c-1")
    assert len(await everything(store.client)) > len(before) + 8
    await store.eraser.erase(thread)
    after = await everything(store.client)
    # The counter of checkpoints is nobody's; everything else is as if it had never been.
    for found in (before, after):
        found.pop("manta:checkpoint:seq")
    assert after == before
    assert all(thread not in key + held for key, held in after.items())
    assert all(any(other in key for key in after) for other in others)


async def test_what_a_crash_left_half_written_goes_too(store: Store) -> None:
    thread = await store.turn("c-1")
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    config["configurable"]["checkpoint_id"] = "never-listed"
    await store.saver.aput_writes(config, [("history", [])], "task-1")
    await store.saver.client.delete(f"manta:checkpoint:idx:{thread}:")
    await store.eraser.erase(thread)
    assert all(thread not in key + held for key, held in (await everything(store.client)).items())


async def test_a_conversation_of_before_the_set_of_its_keys_is_deleted_whole(
    store: Store,
) -> None:
    thread = await store.turn("c-1")
    await store.client.delete(f"manta:checkpoint:written:{thread}")
    await store.eraser.erase(thread)
    assert all(thread not in key + held for key, held in (await everything(store.client)).items())


async def test_a_deletion_waits_for_no_turn_and_takes_nothing_from_it(store: Store) -> None:
    thread = await store.filled(ANA, "c-1")
    before = await everything(store.client)
    async with conversation_lease(store.client, thread):
        with pytest.raises(ConversationBusy):
            await store.eraser.erase(thread, wait_seconds=0.1)
    assert (await everything(store.client)).keys() == before.keys()
    assert await store.eraser.erase(thread)


async def test_thirty_turns_leave_a_bounded_store_and_the_whole_history(store: Store) -> None:
    sizes = []
    for number in range(30):
        thread = await store.turn("c-1", f"question {number}")
        await store.saver.aprune_thread(thread, 2)
        sizes.append(len(await everything(store.client)))
    kept = await state(store, thread)
    assert [message["text"] for message in kept["history"][::2]] == [
        f"question {number}" for number in range(30)
    ]
    assert len(set(sizes[3:])) == 1, sizes
    listed = [one async for one in store.saver.alist({"configurable": {"thread_id": thread}})]
    assert len(listed) == 2
    earlier = listed[1].checkpoint["channel_values"]["history"]
    assert len(earlier) == 58, "what an older checkpoint shares stays"
    written = await store.client.smembers(f"manta:checkpoint:written:{thread}")
    assert written == {
        key.encode()
        for key in await everything(store.client)
        if thread in key and (":cp:" in key or ":blob:" in key or ":wr:" in key or ":idx:" in key)
    }


async def test_one_checkpoint_is_enough_to_go_on(store: Store) -> None:
    for number in range(3):
        thread = await store.turn("c-1", f"question {number}")
        assert (await store.saver.aprune_thread(thread, 1) > 0) is (number > 0)
    assert await store.saver.aprune_thread(thread, 1) == 0
    assert len((await state(store, thread))["history"]) == 6
    assert await store.saver.aprune_thread("acme|ana|nothing", 1) == 0


async def test_an_open_pause_is_never_pruned(store: Store) -> None:
    await store.turn("c-1")
    await store.turn("c-1")
    thread = await store.turn("c-1", pause=open_pause([user("Plan")], [assistant("Where?")]))
    before = await everything(store.client)
    assert await store.saver.aprune_thread(thread, 1) == 0
    assert await everything(store.client) == before
    await store.turn("c-1")
    assert await store.saver.aprune_thread(thread, 1) > 0


async def test_a_sweep_deletes_what_was_kept_long_enough_and_no_pause(store: Store) -> None:
    old = await store.turn("old")
    paused = await store.turn("paused", pause=open_pause())
    store.clock.advance(10 * DAY)
    edge = await store.turn("edge")
    store.clock.advance(30 * DAY)
    fresh = await store.turn("fresh")
    assert await store.retention(None).sweep() == 0
    assert await store.retention(40.5).sweep() == 0
    assert await store.retention(30).sweep() == 1, "kept for exactly that long is kept"
    store.clock.advance(0.001)
    assert await store.retention(30).sweep() == 1
    kept = await everything(store.client)
    assert all(gone not in key + held for gone in (old, edge) for key, held in kept.items())
    for thread in (paused, fresh):
        assert (await state(store, thread))["history"]
    assert await store.client.exists(LOCK) == 0


async def test_a_sweep_passes_a_conversation_that_is_in_use(store: Store) -> None:
    busy, idle = await store.turn("busy"), await store.turn("idle")
    store.clock.advance(40 * DAY)
    async with conversation_lease(store.client, busy):
        assert await store.retention(30).sweep() == 1
    assert await store.conversations.updated(busy) is not None
    assert await store.conversations.updated(idle) is None
    await store.turn("busy")
    assert await store.retention(30).sweep() == 0


async def test_one_replica_sweeps_at_a_time(store: Store) -> None:
    for number in range(5):
        await store.turn(f"c-{number}")
    store.clock.advance(40 * DAY)
    async with store.client.lock(LOCK, timeout=10):
        assert await store.retention(30).sweep() == 0
    swept = await asyncio.gather(*(store.retention(30).sweep() for _ in range(4)))
    assert sum(swept) == 5
    assert sorted(swept)[:3] == [0, 0, 0]


async def test_sweeping_goes_on_when_the_store_was_away(redis_url: str) -> None:
    gone = Store(open_redis("redis://127.0.0.1:1/0"))
    running = asyncio.create_task(gone.retention(30).run(seconds=0.01))
    await asyncio.sleep(0.2)
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await gone.client.aclose()


async def test_only_the_graphs_own_values_decide_about_a_pause(store: Store) -> None:
    thread = thread_id(*ANA, "c-1")
    assert not await store.saver.apaused(thread)
    await store.turn("c-1", pause=open_pause())
    assert await store.saver.apaused(thread)
    await build_turn(store.saver).aupdate_state(
        {"configurable": {"thread_id": thread}},
        TurnState(history=plain([user("x"), assistant("y")]), pause=None),
        as_node="deliver",
    )
    assert not await store.saver.apaused(thread)
