"""Conversation checkpoints on the Redis protocol: plain commands, no modules."""

from __future__ import annotations

import redis.asyncio as redis
from langgraph_checkpoint_plainredis import AsyncRedisSaver

from domain.errors import StoreUnavailable

PREFIX = "manta:checkpoint"
CONNECTIONS = 64
WAIT_SECONDS = 5.0


def open_redis(url: str) -> redis.Redis:
    """A client that lives with the process. Under load callers wait for a connection."""
    pool = redis.BlockingConnectionPool.from_url(
        url, max_connections=CONNECTIONS, timeout=WAIT_SECONDS, socket_connect_timeout=WAIT_SECONDS
    )
    return redis.Redis(connection_pool=pool)


def open_saver(client: redis.Redis) -> AsyncRedisSaver:
    """The saver over ``client``, which stays its owner's to close."""
    return AsyncRedisSaver(client, prefix=PREFIX)


async def check_redis(client: redis.Redis) -> None:
    """Raises StoreUnavailable when the store does not answer."""
    try:
        await client.ping()
    except (redis.RedisError, OSError) as error:
        raise StoreUnavailable("Redis", type(error).__name__) from error
