"""One turn at a time in a conversation, on whichever replica it runs.

Two turns that read the same history would each write a conversation without the other's. A turn
therefore holds a lease of its conversation; the next one waits for it a while. A lease is renewed
as long as its turn runs and expires soon after its process died.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import redis.asyncio as redis
from redis.asyncio.lock import Lock
from redis.exceptions import LockError, RedisError

from config.policy import POLICY, LeaseLimits
from domain.errors import ConversationBusy, StoreUnavailable

log = logging.getLogger("manta.turn")
PREFIX = "manta:lease"


@asynccontextmanager
async def conversation_lease(
    client: redis.Redis, key: str, limits: LeaseLimits = POLICY.lease
) -> AsyncIterator[None]:
    """Hold the conversation ``key`` for the block.

    Raises:
        ConversationBusy: another turn still ran after the wait.
        StoreUnavailable: Redis did not answer.
    """
    lock = client.lock(
        f"{PREFIX}:{key}", timeout=limits.seconds, blocking_timeout=limits.wait_seconds, sleep=0.05
    )
    try:
        if not await lock.acquire():
            raise ConversationBusy
    except (RedisError, OSError) as error:
        raise StoreUnavailable("Redis", type(error).__name__) from error
    renewing = asyncio.create_task(_renew(lock, limits.seconds / 3))
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait({renewing})
        try:
            await lock.release()
        except (LockError, RedisError, OSError) as error:
            # It expired, or the store has gone: nobody is kept waiting either way.
            log.warning("lease_lost", extra={"error_type": type(error).__name__})


async def _renew(lock: Lock, interval: float) -> None:
    while True:
        await asyncio.sleep(interval)
        try:
            await lock.reacquire()
        except (LockError, RedisError, OSError) as error:
            log.warning("lease_not_renewed", extra={"error_type": type(error).__name__})
