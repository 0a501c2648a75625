"""Records, preferences, ratings and documents on a real Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest
from fake_clock import FakeClock

from config.policy import POLICY, DocumentLimits
from domain.errors import InvalidInput, NotFound, StoreUnavailable
from domain.preferences import Fact
from domain.requests import thread_id
from graph.conversations import ConversationStore, title_of
from graph.feedback import FeedbackStore
from graph.preferences import PreferenceStore
from retrieval.redis_client import open_redis
from retrieval.uploads import BLOCK_CHARS, UploadStore

pytestmark = pytest.mark.integration
ANA = ("acme", "ana")


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Any]:
    client = open_redis(redis_url)
    await client.flushdb()
    yield client
    await client.flushdb()
    await client.aclose()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_700_000_000.5)


@pytest.fixture
def conversations(client: Any, clock: FakeClock) -> ConversationStore:
    return ConversationStore(client, clock)


async def test_a_turn_keeps_the_first_title_and_counts(
    conversations: ConversationStore, clock: FakeClock
) -> None:
    await conversations.touch(*ANA, "c/1 é", "How many days?")
    clock.advance(10)
    await conversations.touch(*ANA, "c/1 é", "And next year?")
    found = await conversations.get(*ANA, "c/1 é")
    assert found is not None
    assert found.model_dump() == {
        "id": "c/1 é",
        "title": "How many days?",
        "created": 1_700_000_000,
        "updated": 1_700_000_010,
        "turns": 2,
    }
    assert await conversations.get("acme", "ben", "c/1 é") is None
    assert await conversations.get("quiet", "ana", "c/1 é") is None


async def test_a_document_or_a_pause_is_no_turn_and_the_first_text_wins(
    conversations: ConversationStore,
) -> None:
    await conversations.add_document(*ANA, "c", "rules.pdf")
    found = await conversations.get(*ANA, "c")
    assert found is not None and (found.title, found.turns) == ("rules.pdf", 0)
    await conversations.keep(*ANA, "c", "Plan my year")
    found = await conversations.get(*ANA, "c")
    assert found is not None and (found.title, found.turns) == ("Plan my year", 0)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("a" * 80, "a" * 80),
        ("a" * 81, "a" * 80),
        ("  two \n words ", "two words"),
        ("word " * 16, ("word " * 16).strip()),
        ("word " * 17, ("word " * 16).strip()),
        ("a" * 79 + " bcd", "a" * 79),
        ("", ""),
    ],
)
def test_a_title_is_cut_at_a_word(text: str, title: str) -> None:
    assert title_of(text) == title
    assert len(title) <= POLICY.conversation.title_chars


async def test_pages_come_newest_first_and_leave_nothing_out(
    conversations: ConversationStore, clock: FakeClock
) -> None:
    for number in range(23):
        # Several at the same moment: the order among them must hold across pages too.
        clock.advance(number % 3 // 2)
        await conversations.touch(*ANA, f"c{number}", "x")
    await conversations.touch("acme", "ben", "foreign", "x")
    seen: list[str] = []
    before: str | None = None
    while True:
        page, before = await conversations.page(*ANA, 5, before)
        seen += [conversation.id for conversation in page]
        assert len(page) <= 5
        if before is None:
            break
    assert sorted(seen) == sorted(f"c{number}" for number in range(23))
    whole, following = await conversations.page(*ANA, 23)
    assert [conversation.id for conversation in whole] == seen
    assert following is None
    updated = [conversation.updated for conversation in whole]
    assert updated == sorted(updated, reverse=True)


@pytest.mark.parametrize("before", ["x", "é", "", "bm9uZQ==", "////", "bmFuIHg=", "aW5mIHg="])
async def test_a_cursor_that_is_none_is_refused(
    conversations: ConversationStore, before: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await conversations.page(*ANA, 5, before)
    assert caught.value.field == "before"


async def test_a_conversation_is_renamed_only_while_it_exists(
    conversations: ConversationStore, client: Any
) -> None:
    await conversations.touch(*ANA, "c", "x")
    renamed = await conversations.rename(*ANA, "c", "  My \n plan ")
    assert renamed is not None and renamed.title == "My plan"
    await conversations.touch(*ANA, "c", "y")
    assert (await conversations.get(*ANA, "c")) is not None
    await conversations.forget(thread_id(*ANA, "c"))
    assert await conversations.rename(*ANA, "c", "again") is None
    assert [key async for key in client.scan_iter()] == []
    limit = POLICY.conversation.renamed_chars
    await conversations.touch(*ANA, "c", "x")
    assert (await conversations.rename(*ANA, "c", "a" * limit)) is not None
    for wrong in ("", "  ", "a" * (limit + 1), "a\x00b"):
        with pytest.raises(InvalidInput):
            await conversations.rename(*ANA, "c", wrong)


def fact(text: str) -> Fact:
    return Fact(text=text, language="en", since=date(2026, 1, 2))


async def test_preferences_are_compared_and_set(client: Any) -> None:
    store = PreferenceStore(client)
    assert await store.read(*ANA) == ((), 0)
    assert await store.write(*ANA, [fact("I like Brest")], 0)
    facts, version = await store.read(*ANA)
    assert facts == (fact("I like Brest"),)
    assert not await store.write(*ANA, [fact("stale")], 0)
    assert await store.write(*ANA, [], version)
    assert await store.read(*ANA) == ((), version + 1)
    assert await store.read("acme", "ben") == ((), 0)


async def test_of_many_writers_that_read_the_same_one_writes(client: Any) -> None:
    store = PreferenceStore(client)
    written = await asyncio.gather(
        *(store.write(*ANA, [fact(f"I am {number}")], 0) for number in range(20))
    )
    assert written.count(True) == 1


async def test_the_owners_own_edit_wins_over_a_memory_that_read_before(client: Any) -> None:
    store = PreferenceStore(client)
    _, before = await store.read(*ANA)
    await store.replace(*ANA, [fact("mine")])
    assert not await store.write(*ANA, [fact("memory's")], before)
    await store.erase(*ANA)
    assert not await store.write(*ANA, [fact("brought back")], before)
    facts, version = await store.read(*ANA)
    assert facts == ()
    assert version > before
    assert 0 < await client.ttl("manta:preferences:acme|ana") <= 3_600
    assert await store.write(*ANA, [fact("new")], version)
    assert await client.ttl("manta:preferences:acme|ana") == -1, "what is kept does not expire"


async def test_preferences_are_bounded(client: Any) -> None:
    store, limit = PreferenceStore(client), POLICY.preferences.facts
    await store.replace(*ANA, [fact("x")] * limit)
    with pytest.raises(InvalidInput, match="more than 100"):
        await store.replace(*ANA, [fact("x")] * (limit + 1))
    with pytest.raises(InvalidInput):
        await store.write(*ANA, [fact("x")] * (limit + 1), 1)
    assert len((await store.read(*ANA))[0]) == limit


async def test_a_rating_is_replaced_listed_and_forgotten(client: Any, clock: FakeClock) -> None:
    store = FeedbackStore(client, clock)
    await store.rate(*ANA, "c", "run|1", "up")
    clock.advance(1)
    await store.rate("acme", "ben", "c", "run-2", "down", "wrong site")
    clock.advance(1)
    await store.rate(*ANA, "c", "run|1", "down", "no")
    await store.rate("quiet", "ana", "c", "run-3", "up")
    listed = await store.of_tenant("acme", 10)
    assert [(one.user, one.run_id, one.rating) for one in listed] == [
        ("ana", "run|1", "down"),
        ("ben", "run-2", "down"),
    ]
    assert [one.run_id for one in await store.of_tenant("acme", 1, 1)] == ["run-2"]
    assert len(await store.of_conversation(*ANA, "c")) == 1
    await store.forget(thread_id(*ANA, "c"))
    assert [one.user for one in await store.of_tenant("acme", 10)] == ["ben"]
    assert await store.of_conversation(*ANA, "c") == []


async def test_ratings_are_bounded(client: Any) -> None:
    store, limits = FeedbackStore(client), POLICY.conversation
    await store.rate(*ANA, "c", "r", "up", "x" * limits.comment_chars)
    with pytest.raises(InvalidInput, match="comment"):
        await store.rate(*ANA, "c", "r", "up", "x" * (limits.comment_chars + 1))
    for number in range(limits.ratings - 1):
        await store.rate(*ANA, "c", f"r{number}", "up")
    with pytest.raises(InvalidInput, match="ratings"):
        await store.rate(*ANA, "c", "one more", "up")
    await store.rate(*ANA, "c", "r", "down")


TEXT = "".join(chr(0x1F600 + number % 50) + f"é{number} " for number in range(2_000))


async def test_windows_count_characters_and_join_to_the_whole(client: Any) -> None:
    store, thread = UploadStore(client), thread_id(*ANA, "c")
    added = await store.add(thread, "a.txt", 10, TEXT, "en")
    assert added.characters == len(TEXT)
    read, offset = "", 0
    while True:
        window = await store.window(thread, added.id, offset, 777)
        assert len(window.text) == min(777, len(TEXT) - offset)
        read += window.text
        if window.next_offset is None:
            break
        offset = window.next_offset
    assert read == TEXT
    for begin in (0, 1, BLOCK_CHARS - 1, BLOCK_CHARS, BLOCK_CHARS + 1, len(TEXT) - 1, len(TEXT)):
        window = await store.window(thread, added.id, begin, 3)
        assert window.text == TEXT[begin : begin + 3]
    beyond = await store.window(thread, added.id, len(TEXT) + 5, 3)
    assert (beyond.text, beyond.next_offset) == ("", None)
    limit = POLICY.document.window_chars
    assert len((await store.window(thread, added.id, 0, limit + 1)).text) == limit


async def test_a_window_reads_only_the_blocks_that_it_touches(client: Any) -> None:
    store, thread = UploadStore(client), thread_id(*ANA, "c")
    added = await store.add(thread, "a.txt", 10, "x" * 1_000_000, "en")
    before = (await client.info("stats"))["total_net_output_bytes"]
    await store.window(thread, added.id, 500_000, 10)
    sent = (await client.info("stats"))["total_net_output_bytes"] - before
    assert sent < 3 * BLOCK_CHARS + 10_000


async def test_documents_belong_to_their_conversation(client: Any) -> None:
    store, thread = UploadStore(client), thread_id(*ANA, "c")
    added = await store.add(thread, "a.txt", 10, "text", "en")
    for foreign in (thread_id(*ANA, "d"), thread_id("acme", "ben", "c")):
        assert await store.list(foreign) == []
        with pytest.raises(NotFound):
            await store.window(foreign, added.id, 0, 5)
        with pytest.raises(NotFound):
            await store.delete(foreign, added.id)
    assert [upload.id for upload in await store.list(thread)] == [added.id]
    await store.delete(thread, added.id)
    assert [key async for key in client.scan_iter()] == []


async def test_of_many_uploads_at_once_only_as_many_as_allowed_are_kept(client: Any) -> None:
    store, thread = UploadStore(client, DocumentLimits(per_conversation=3)), "acme|ana|c"
    adding = (store.add(thread, f"{number}.txt", 1, "text", "en") for number in range(10))
    done = await asyncio.gather(*adding, return_exceptions=True)
    assert sum(isinstance(one, InvalidInput) for one in done) == 7
    assert len(await store.list(thread)) == 3
    with pytest.raises(InvalidInput, match="more than 3"):
        await store.check_room(thread)
    await store.delete_all(thread)
    assert [key async for key in client.scan_iter()] == []


async def test_a_store_that_is_gone_is_an_error_of_ours() -> None:
    client = open_redis("redis://127.0.0.1:1/0")
    calls = [
        ConversationStore(client).get(*ANA, "c"),
        ConversationStore(client).touch(*ANA, "c", "x"),
        ConversationStore(client).page(*ANA, 5),
        PreferenceStore(client).read(*ANA),
        PreferenceStore(client).write(*ANA, [], 0),
        FeedbackStore(client).rate(*ANA, "c", "r", "up"),
        UploadStore(client).list("t"),
        UploadStore(client).add("t", "n", 1, "text", "en"),
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable):
            await call
    await client.aclose()
