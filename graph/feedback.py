"""What users thought of a reply: kept with their conversation, listed for their organisation.

``manta:feedback:{thread}`` is a hash by run, ``manta:rated:{tenant}`` orders a tenant's ratings by
time; a member is the thread and the run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Literal

import redis.asyncio as redis
from pydantic import BaseModel, ConfigDict

from config.policy import POLICY
from domain.errors import InvalidInput
from domain.requests import escaped, thread_id
from retrieval.redis_errors import redis_errors

PREFIX = "manta:feedback"
RATED = "manta:rated"
Rating = Literal["up", "down"]


class Feedback(BaseModel):
    """One rating of one run; ``created`` is in seconds since 1970."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    conversation: str
    user: str
    run_id: str
    rating: Rating
    comment: str | None = None
    created: int


class FeedbackStore:
    """Lives with the process; ``client`` stays its owner's to close. Raises StoreUnavailable."""

    def __init__(self, client: redis.Redis, clock: Callable[[], float] = time.time) -> None:
        self._client: Any = client
        self._clock = clock

    async def rate(
        self,
        tenant: str,
        user: str,
        conversation: str,
        run_id: str,
        rating: Rating,
        comment: str | None = None,
    ) -> Feedback:
        """Keep a rating; a second one of the same run replaces the first.

        The caller has made sure that the conversation is the user's own and exists.

        Raises:
            InvalidInput: a too long comment, or a conversation with too many ratings.
        """
        limits = POLICY.conversation
        if comment is not None and len(comment) > limits.comment_chars:
            raise InvalidInput(
                "comment", f"is longer than {limits.comment_chars} characters", "shorten it"
            )
        now = self._clock()
        thread = thread_id(tenant, user, conversation)
        feedback = Feedback(
            conversation=conversation,
            user=user,
            run_id=run_id,
            rating=rating,
            comment=comment,
            created=int(now),
        )
        key, run = f"{PREFIX}:{thread}", escaped(run_id)
        with redis_errors():
            if await self._client.hlen(key) >= limits.ratings and not await self._client.hexists(
                key, run
            ):
                raise InvalidInput(
                    "conversation", f"has {limits.ratings} ratings", "begin another conversation"
                )
            pipe = self._client.pipeline()
            pipe.hset(key, run, feedback.model_dump_json())
            pipe.zadd(f"{RATED}:{escaped(tenant)}", {f"{thread}|{run}": now})
            await pipe.execute()
        return feedback

    async def of_conversation(self, tenant: str, user: str, conversation: str) -> list[Feedback]:
        with redis_errors():
            kept = await self._client.hvals(f"{PREFIX}:{thread_id(tenant, user, conversation)}")
        found = [Feedback.model_validate_json(value) for value in kept]
        return sorted(found, key=lambda feedback: feedback.created)

    async def of_tenant(self, tenant: str, limit: int, skip: int = 0) -> list[Feedback]:
        """A tenant's ratings, the newest first."""
        with redis_errors():
            members = await self._client.zrange(
                f"{RATED}:{escaped(tenant)}", skip, skip + limit - 1, desc=True
            )
            pipe = self._client.pipeline(transaction=False)
            for member in members:
                thread, _, run = member.decode().rpartition("|")
                pipe.hget(f"{PREFIX}:{thread}", run)
            kept = await pipe.execute()
        return [Feedback.model_validate(json.loads(value)) for value in kept if value is not None]

    async def forget(self, thread: str) -> None:
        """Delete a conversation's ratings and their places in the tenant's list."""
        key, tenant = f"{PREFIX}:{thread}", thread.partition("|")[0]
        with redis_errors():
            runs = [run.decode() for run in await self._client.hkeys(key)]
            pipe = self._client.pipeline()
            pipe.delete(key)
            if runs:
                pipe.zrem(f"{RATED}:{tenant}", *(f"{thread}|{run}" for run in runs))
            await pipe.execute()
