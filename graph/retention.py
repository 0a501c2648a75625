"""How long conversations are kept.

A conversation with an open pause is left alone: whoever was asked may still answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import redis.asyncio as redis
from redis.exceptions import LockError

from config.policy import POLICY
from domain.errors import ConversationBusy, MantaError
from graph.checkpoints import ConversationSaver
from graph.conversations import ConversationStore
from graph.erasure import ConversationEraser
from retrieval.redis_errors import redis_errors

log = logging.getLogger("manta.turn")
LOCK = "manta:sweep"
LOCK_SECONDS = 600.0
DAY = 86_400.0
BATCH = 100


class Retention:
    """Lives with the process, over its stores. ``days`` of ``None`` keeps conversations for ever.

    Raises StoreUnavailable.
    """

    def __init__(
        self,
        client: redis.Redis,
        saver: ConversationSaver,
        conversations: ConversationStore,
        eraser: ConversationEraser,
        *,
        days: float | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client: Any = client
        self._saver = saver
        self._conversations = conversations
        self._eraser = eraser
        self._days = days
        self._clock = clock

    async def sweep(self) -> int:
        """Delete what was kept long enough, on one replica at a time.

        Returns:
            How many conversations were deleted.
        """
        if self._days is None:
            return 0
        lock = self._client.lock(LOCK, timeout=LOCK_SECONDS, blocking=False)
        with redis_errors():
            if not await lock.acquire():
                return 0
        try:
            deleted = await self._sweep(self._clock() - self._days * DAY)
        finally:
            with redis_errors():
                try:
                    await lock.release()
                except LockError:
                    # It took longer than the lock lasts; another replica may sweep already, which
                    # does no harm: every deletion holds its conversation's own lease.
                    log.info("sweep_lock_expired")
        log.info("conversations_swept", extra={"deleted": deleted})
        return deleted

    async def run(self, seconds: float = POLICY.conversation.sweep_seconds) -> None:
        """Sweep now and then until cancelled; a store that does not answer is asked again later."""
        while True:
            try:
                await self.sweep()
            except MantaError as error:
                log.warning("sweep_failed", extra={"code": error.code})
            await asyncio.sleep(seconds)

    async def _sweep(self, before: float) -> int:
        deleted = left = 0
        while threads := await self._conversations.unused_since(before, BATCH, left):
            for thread in threads:
                if await self._delete(thread, before):
                    deleted += 1
                else:
                    left += 1
        return deleted

    async def _delete(self, thread: str, before: float) -> bool:
        async def still() -> bool:
            """Nobody used it since it was found, and nobody is asked anything."""
            updated = await self._conversations.updated(thread)
            if updated is None or updated >= before:
                return False
            with redis_errors():
                return not await self._saver.apaused(thread)

        try:
            return await self._eraser.erase(thread, wait_seconds=0.0, still=still)
        except ConversationBusy:
            return False
