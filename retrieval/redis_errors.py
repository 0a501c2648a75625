"""Errors of the Redis client become ours where they enter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import RedisError

from domain.errors import StoreUnavailable


@contextmanager
def redis_errors() -> Iterator[None]:
    """Raises StoreUnavailable when Redis does not answer, or not as expected."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise StoreUnavailable("Redis", type(error).__name__) from error
