"""Deleting a conversation with everything that was kept about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import redis.asyncio as redis

from config.policy import POLICY
from graph.checkpoints import ConversationSaver
from graph.conversations import ConversationStore
from graph.feedback import FeedbackStore
from graph.leases import conversation_lease
from retrieval.redis_errors import redis_errors
from retrieval.uploads import UploadStore


class ConversationEraser:
    """Lives with the process, over its stores.

    ``forget_runs`` deletes the logs of a thread's runs. The record goes last, so that a deletion
    which failed half way can be asked for again.
    """

    def __init__(
        self,
        client: redis.Redis,
        saver: ConversationSaver,
        conversations: ConversationStore,
        uploads: UploadStore,
        feedback: FeedbackStore,
        forget_runs: Callable[[str], Awaitable[None]],
    ) -> None:
        self._client: Any = client
        self._saver = saver
        self._conversations = conversations
        self._uploads = uploads
        self._feedback = feedback
        self._forget_runs = forget_runs

    async def erase(
        self,
        thread: str,
        wait_seconds: float = POLICY.conversation.delete_wait_seconds,
        still: Callable[[], Awaitable[bool]] | None = None,
    ) -> bool:
        """Delete the conversation, unless ``still`` says otherwise once its turns are held off.

        Returns:
            Whether it was deleted.

        Raises:
            ConversationBusy: a turn still ran after the wait.
            StoreUnavailable: Redis did not answer.
        """
        limits = replace(POLICY.lease, wait_seconds=wait_seconds)
        async with conversation_lease(self._client, thread, limits):
            if still is not None and not await still():
                return False
            await self._forget_runs(thread)
            await self._feedback.forget(thread)
            await self._uploads.delete_all(thread)
            with redis_errors():
                await self._saver.adelete_thread(thread)
            await self._conversations.forget(thread)
        return True
