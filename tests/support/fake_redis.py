"""The few commands of Redis that a cache needs, in memory."""

from __future__ import annotations

from redis.exceptions import ConnectionError as RedisConnectionError


class FakeRedis:
    """Keys with the expiry that they were set with; ``broken`` fails every command."""

    def __init__(self, *, broken: bool = False) -> None:
        self.values: dict[str, bytes] = {}
        self.expiries: dict[str, int | None] = {}
        self.broken = broken

    async def get(self, key: str) -> bytes | None:
        self._check()
        return self.values.get(key)

    async def set(self, key: str, value: str, ex: int | None = None) -> None:
        self._check()
        self.values[key] = value.encode()
        self.expiries[key] = ex

    def _check(self) -> None:
        if self.broken:
            raise RedisConnectionError("gone")
