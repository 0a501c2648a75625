"""Running an async generator in a task of its own.

A generator that is consumed across several tasks, or that yields inside a timeout, can be
cancelled at the wrong place. A pump gives the source one task for its whole life, puts the timeout
inside that task, and cancels and drains it when the consumer stops early.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Generic, TypeVar

from actors.own_context import own_task

T = TypeVar("T")


class Pump(Generic[T]):
    """Use as an async context manager; :meth:`next` gives items in order.

    Args:
        source: the generator; the pump closes it.
        seconds: wall clock for the whole source, ``None`` for unlimited.
        ahead: how many items may wait for the consumer.
        own_context: whether the source may outlive the request that started it.
    """

    def __init__(
        self,
        source: AsyncGenerator[T, None],
        *,
        seconds: float | None = None,
        ahead: int = 64,
        own_context: bool = False,
    ) -> None:
        self._source = source
        self._seconds = seconds
        self._items: asyncio.Queue[T] = asyncio.Queue(ahead)
        self._start = own_task if own_context else asyncio.create_task
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Pump[T]:
        self._task = self._start(self._run())
        self._task.add_done_callback(_observed)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel the source once and wait for its end.

        Behind a stream whose client has gone, every await is cancelled again. A wait, unlike a
        gather, does not pass that on, so the source's clean-up is interrupted by nobody.
        """
        self.task.cancel()
        await asyncio.wait({self.task})

    async def _run(self) -> None:
        async with asyncio.timeout(self._seconds), aclosing(self._source) as items:
            async for item in items:
                await self._items.put(item)

    async def next(self, wait: float | None = None) -> T:
        """The next item.

        Raises:
            StopAsyncIteration: the source ended well.
            TimeoutError: no item within ``wait`` seconds, or the source's own time ran out; the
                two are told apart by :attr:`ended`.
            Exception: whatever the source raised.
        """
        if not self._items.empty():
            return self._items.get_nowait()
        assert self._task is not None
        getter = asyncio.create_task(self._items.get())
        try:
            await asyncio.wait(
                {getter, self._task}, timeout=wait, return_when=asyncio.FIRST_COMPLETED
            )
            if getter.done():
                return getter.result()
            if not self._task.done():
                raise TimeoutError
        finally:
            if not getter.done():
                getter.cancel()
        if not self._items.empty():
            return self._items.get_nowait()
        if self._task.cancelled():
            raise asyncio.CancelledError
        error = self._task.exception()
        raise error if error is not None else StopAsyncIteration

    @property
    def task(self) -> asyncio.Task[None]:
        """The source's task, for an owner that drains it at shutdown."""
        assert self._task is not None
        return self._task

    @property
    def ended(self) -> bool:
        return self.task.done()


def _observed(task: asyncio.Task[None]) -> None:
    """Take note of a failure that nobody is left to hear of."""
    if not task.cancelled():
        task.exception()


async def pumped(
    source: AsyncGenerator[T, None], *, seconds: float | None = None
) -> AsyncGenerator[T, None]:
    """The items of ``source``, run in a task of its own within ``seconds``.

    Raises:
        TimeoutError: the source did not end in time.
    """
    async with Pump(source, seconds=seconds) as pump:
        while True:
            try:
                item = await pump.next()
            except StopAsyncIteration:
                return
            yield item
