"""A generator in a task of its own: order, errors, early ends and clean-up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from actors.pump import Pump, pumped


class Source:
    """Yields numbers, and says how it ended; its clean-up takes a while."""

    def __init__(self, count: int, *, error: Exception | None = None, pause: float = 0.0) -> None:
        self.count, self.error, self.pause = count, error, pause
        self.cleaned = False
        self.cancelled = False
        self.produced = 0

    async def items(self) -> AsyncGenerator[int, None]:
        try:
            for number in range(self.count):
                await asyncio.sleep(self.pause)
                self.produced += 1
                yield number
            if self.error:
                raise self.error
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            await asyncio.sleep(0.05)
            self.cleaned = True


async def collect(items: AsyncIterator[int], into: list[int]) -> None:
    """Append the items to ``into``, so that those before an error can be looked at."""
    async for item in items:
        into.append(item)


async def drained(pump: Pump[int]) -> None:
    while True:
        await pump.next()


async def take_one_and_raise(source: Source) -> None:
    async with Pump(source.items()) as pump:
        await pump.next()
        raise RuntimeError("mine")


async def test_items_come_in_order_and_then_the_end() -> None:
    source = Source(200)
    assert [item async for item in pumped(source.items())] == list(range(200))
    assert source.cleaned


async def test_an_error_of_the_source_comes_after_its_items() -> None:
    source = Source(3, error=KeyError("x"))
    got: list[int] = []
    with pytest.raises(KeyError, match="x"):
        await collect(pumped(source.items()), got)
    assert got == [0, 1, 2]
    assert source.cleaned


async def test_an_ended_source_stays_ended() -> None:
    async with Pump(Source(1).items()) as pump:
        assert await pump.next() == 0
        for _ in range(3):
            with pytest.raises(StopAsyncIteration):
                await pump.next()
        assert pump.ended


async def test_a_consumer_that_leaves_early_cancels_the_source_and_waits_for_its_clean_up() -> None:
    source = Source(100, pause=0.01)
    async with Pump(source.items()) as pump:
        await pump.next()
    assert source.cancelled
    assert source.cleaned
    assert source.produced < 100


async def test_a_consumer_that_raises_cancels_the_source_and_waits_for_its_clean_up() -> None:
    source = Source(100, pause=0.01)
    with pytest.raises(RuntimeError, match="mine"):
        await take_one_and_raise(source)
    assert source.cleaned


async def test_a_source_that_has_ended_well_is_not_cancelled_by_leaving() -> None:
    source = Source(2)
    async with Pump(source.items()) as pump:
        await asyncio.wait({pump.task})
    assert source.cleaned
    assert not source.cancelled


async def test_a_source_that_takes_too_long_is_stopped_with_a_timeout() -> None:
    source = Source(3, pause=10.0)
    with pytest.raises(TimeoutError):
        await collect(pumped(source.items(), seconds=0.05), [])
    assert source.cancelled
    assert source.cleaned


async def test_items_before_the_timeout_are_still_delivered() -> None:
    async def slow_after_two() -> AsyncGenerator[int, None]:
        yield 1
        yield 2
        await asyncio.sleep(10.0)

    got: list[int] = []
    with pytest.raises(TimeoutError):
        await collect(pumped(slow_after_two(), seconds=0.1), got)
    assert got == [1, 2]


async def test_waiting_too_short_leaves_the_source_running() -> None:
    source = Source(1, pause=0.15)
    async with Pump(source.items()) as pump:
        with pytest.raises(TimeoutError):
            await pump.next(0.01)
        assert not pump.ended
        assert await pump.next(5.0) == 0


async def test_the_sources_own_timeout_is_told_from_a_short_wait_by_ended() -> None:
    async with Pump(Source(1, pause=10.0).items(), seconds=0.05) as pump:
        with pytest.raises(TimeoutError):
            await pump.next(5.0)
        assert pump.ended


async def test_a_wait_of_nothing_takes_what_is_there() -> None:
    async with Pump(Source(2).items()) as pump:
        await asyncio.sleep(0.05)
        assert await pump.next(0.0) == 0
        assert await pump.next(0.0) == 1


async def test_no_item_is_lost_or_doubled_between_short_waits() -> None:
    source = Source(60, pause=0.002)
    got: list[int] = []
    async with Pump(source.items()) as pump:
        while True:
            try:
                got.append(await pump.next(0.001))
            except StopAsyncIteration:
                break
            except TimeoutError:
                continue
    assert got == list(range(60))


async def test_the_source_runs_at_most_the_given_number_of_items_ahead() -> None:
    source = Source(100)
    async with Pump(source.items(), ahead=5) as pump:
        await asyncio.sleep(0.05)
        assert source.produced == 6, "five wait and one is being put"
        assert await pump.next() == 0


async def test_a_cancelled_source_is_a_cancellation_not_an_end() -> None:
    async with Pump(Source(5, pause=0.05).items()) as pump:
        pump.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await drained(pump)


async def test_clean_up_is_not_cut_short_by_a_second_cancellation_of_the_consumer() -> None:
    source = Source(100, pause=0.01)

    async def consume() -> None:
        async with Pump(source.items()) as pump:
            while True:
                await pump.next()

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    await asyncio.sleep(0.15)
    assert source.cleaned
