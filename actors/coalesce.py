"""Merging of text deltas, because one message per token costs more CPU than the token is worth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from actors.pump import Pump
from config.policy import POLICY
from domain.events import TextDelta


async def coalesced(
    source: AsyncGenerator[Any, None],
    *,
    seconds: float = POLICY.stream.coalesce_seconds,
    tokens: int = POLICY.stream.coalesce_tokens,
) -> AsyncGenerator[Any, None]:
    """Pass the items of ``source`` on in order, with consecutive text deltas merged.

    A merged delta leaves ``seconds`` after its first token or with its ``tokens``-th, whichever
    comes first.
    """
    clock = asyncio.get_running_loop().time
    held: list[TextDelta] = []
    due = 0.0
    async with Pump(source) as pump:
        while True:
            item: Any = None
            try:
                item = await pump.next(max(0.0, due - clock()) if held else None)
            except StopAsyncIteration:
                break
            except TimeoutError:
                if pump.ended:
                    raise
            except Exception:
                # What was written before the source failed has been written.
                if held:
                    yield _merged(held)
                raise
            if isinstance(item, TextDelta):
                if not held:
                    due = clock() + seconds
                held.append(item)
                if len(held) < tokens:
                    continue
            if held:
                yield _merged(held)
                held = []
            if item is not None and not isinstance(item, TextDelta):
                yield item
        if held:
            yield _merged(held)


def _merged(held: list[TextDelta]) -> TextDelta:
    return TextDelta(agent=held[0].agent, text="".join(delta.text for delta in held))
