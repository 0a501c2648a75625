"""Durable facts about a user, kept under a version so that no writer overwrites what it never saw.

The memory of a turn reads, thinks for seconds and writes: it compares and sets. The owner's own
edit writes at once and makes every such comparison fail.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import redis.asyncio as redis

from config.policy import POLICY
from domain.errors import InvalidInput
from domain.preferences import Fact
from domain.requests import owner_id
from retrieval.redis_errors import redis_errors

PREFIX = "manta:preferences"
ERASED_SECONDS = 3_600
"""How long an erased list's version is remembered: longer than any memory update may run, so that
none that began before brings back what was erased."""


class PreferenceStore:
    """Lives with the process; ``client`` stays its owner's to close. Raises StoreUnavailable."""

    def __init__(self, client: redis.Redis) -> None:
        self._client: Any = client

    async def read(self, tenant: str, user: str) -> tuple[tuple[Fact, ...], int]:
        """The facts and their version; a list that never was has version 0."""
        with redis_errors():
            version, facts = await self._client.hmget(_key(tenant, user), "version", "facts")
        kept = tuple(Fact.model_validate(fact) for fact in json.loads(facts or b"[]"))
        return kept, int(version or 0)

    async def write(
        self, tenant: str, user: str, facts: Sequence[Fact], expected_version: int
    ) -> bool:
        """Replace the facts if they still have the version that was read.

        Returns:
            Whether they had; nothing was written otherwise.

        Raises:
            InvalidInput: too many facts, or a too long one.
        """
        check_facts(facts)
        key = _key(tenant, user)
        with redis_errors():
            async with self._client.pipeline() as pipe:
                await pipe.watch(key)
                if int(await pipe.hget(key, "version") or 0) != expected_version:
                    return False
                pipe.multi()
                _set(pipe, key, facts)
                try:
                    await pipe.execute()
                except redis.WatchError:
                    return False
        return True

    async def replace(self, tenant: str, user: str, facts: Sequence[Fact]) -> None:
        """Replace the facts, whatever anybody else does; the owner's own edit.

        Raises:
            InvalidInput: too many facts, or a too long one.
        """
        check_facts(facts)
        with redis_errors():
            pipe = self._client.pipeline()
            _set(pipe, _key(tenant, user), facts)
            await pipe.execute()

    async def erase(self, tenant: str, user: str) -> None:
        """Delete the facts; only their version stays for a while."""
        key = _key(tenant, user)
        with redis_errors():
            pipe = self._client.pipeline()
            pipe.hdel(key, "facts")
            pipe.hincrby(key, "version", 1)
            pipe.expire(key, ERASED_SECONDS)
            await pipe.execute()


def check_facts(facts: Sequence[Fact]) -> None:
    """Raises InvalidInput for more or longer facts than the policy allows."""
    limits = POLICY.preferences
    if len(facts) > limits.facts:
        raise InvalidInput("facts", f"has more than {limits.facts} items", "keep fewer")
    for index, fact in enumerate(facts):
        if len(fact.text) > limits.fact_chars:
            raise InvalidInput(
                f"facts.{index}.text",
                f"is longer than {limits.fact_chars} characters",
                "shorten it",
            )


def _set(pipe: Any, key: str, facts: Sequence[Fact]) -> None:
    plain = [fact.model_dump(mode="json") for fact in facts]
    pipe.hset(key, "facts", json.dumps(plain, ensure_ascii=False))
    pipe.hincrby(key, "version", 1)
    pipe.persist(key)


def _key(tenant: str, user: str) -> str:
    return f"{PREFIX}:{owner_id(tenant, user)}"
