"""Merging of text deltas at its two boundaries: 24 tokens, and 40 ms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest

from actors.coalesce import coalesced
from domain.events import Activity, Comment, TextDelivered, TextDelta

LONG = 60.0
ACTIVITY = Activity(code="writing_reply", agent="a")


def delta(text: str) -> TextDelta:
    return TextDelta(agent="a", text=text)


async def stream(*items: Any, pause: float = 0.0) -> AsyncGenerator[Any, None]:
    for item in items:
        if pause:
            await asyncio.sleep(pause)
        if isinstance(item, Exception):
            raise item
        yield item


async def collect(items: AsyncIterator[Any], into: list[Any]) -> None:
    """Append the items to ``into``, so that those before an error can be looked at."""
    async for item in items:
        into.append(item)


async def merged(*items: Any, **options: Any) -> list[Any]:
    return [item async for item in coalesced(stream(*items), **options)]


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [1]), (23, [23]), (24, [24]), (25, [24, 1]), (49, [24, 24, 1])]
)
async def test_a_merged_delta_leaves_with_its_24th_token(count: int, sizes: list[int]) -> None:
    got = await merged(*[delta("x")] * count, seconds=LONG)
    assert [len(item.text) for item in got] == sizes


async def test_every_letter_arrives_once_and_in_order() -> None:
    words = [f"{number} " for number in range(500)]
    got = await merged(*[delta(word) for word in words])
    assert "".join(item.text for item in got) == "".join(words)


async def test_a_merged_delta_leaves_when_its_time_is_up_though_no_token_follows() -> None:
    finish = asyncio.Event()

    async def source() -> AsyncGenerator[Any, None]:
        yield delta("a")
        yield delta("b")
        await finish.wait()
        yield delta("c")

    async def first(items: Any) -> Any:
        return await anext(items)

    items = coalesced(source(), tokens=24)
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.timeout(5.0):
        got = await first(items)
    assert got.text == "ab"
    assert loop.time() - started >= 0.035, "not before 40 ms after the first token"
    finish.set()
    assert (await first(items)).text == "c"
    await items.aclose()


async def test_time_counts_from_the_first_token_not_the_last() -> None:
    words = [delta("x")] * 20
    got = [item async for item in coalesced(stream(*words, pause=0.01), seconds=0.05, tokens=1000)]
    assert len(got) > 1
    assert sum(len(item.text) for item in got) == 20


async def test_another_event_lets_the_held_text_leave_first() -> None:
    comment = Comment(agent="a", text="c")
    got = await merged(delta("a"), delta("b"), ACTIVITY, comment, delta("c"), seconds=LONG)
    assert got == [delta("ab"), ACTIVITY, comment, delta("c")]


async def test_only_deltas_are_merged() -> None:
    whole = TextDelivered(agent="a", text="x")
    items = [ACTIVITY, ACTIVITY, whole, whole]
    assert await merged(*items, seconds=LONG) == items


async def test_what_is_held_at_the_end_is_delivered() -> None:
    assert await merged(delta("a"), delta("b"), seconds=LONG) == [delta("ab")]


async def test_an_empty_stream_stays_empty() -> None:
    assert await merged() == []


async def test_an_error_of_the_source_passes() -> None:
    got: list[Any] = []
    with pytest.raises(KeyError, match="x"):
        await collect(coalesced(stream(ACTIVITY, KeyError("x"))), got)
    assert got == [ACTIVITY]


async def test_a_timeout_of_the_source_passes_and_is_not_taken_for_a_pause() -> None:
    with pytest.raises(TimeoutError, match="the source's"):
        await merged(delta("a"), TimeoutError("the source's"), seconds=LONG)


async def test_a_merged_delta_belongs_to_the_agent_that_wrote_it() -> None:
    got = await merged(TextDelta(agent="career_chat", text="a"), seconds=LONG)
    assert got[0].agent == "career_chat"


async def test_closing_the_stream_closes_the_source() -> None:
    closed = asyncio.Event()

    async def source() -> AsyncGenerator[Any, None]:
        try:
            while True:
                yield ACTIVITY
                await asyncio.sleep(0.001)
        finally:
            await asyncio.sleep(0.05)
            closed.set()

    items = coalesced(source())
    await anext(items)
    await items.aclose()
    assert closed.is_set()
