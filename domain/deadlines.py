"""A wall clock over a block, whose end is an error of ours that names the operation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from domain.errors import DeadlineExceeded


@asynccontextmanager
async def within(seconds: float, operation: str) -> AsyncGenerator[None, None]:
    """Raises DeadlineExceeded when the block has not ended after ``seconds``."""
    try:
        async with asyncio.timeout(seconds) as timer:
            yield
    except TimeoutError as error:
        if timer.expired():
            raise DeadlineExceeded(operation, seconds) from error
        raise
