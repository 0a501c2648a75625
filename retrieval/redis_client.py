"""The client of the store on the Redis protocol."""

from __future__ import annotations

import socket

import redis.asyncio as redis

CONNECTIONS = 64
WAIT_SECONDS = 5.0
_ALIVE = {socket.TCP_KEEPIDLE: 10, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3}
"""A silent server is asked after ten seconds and given up after three more questions."""


def open_redis(url: str) -> redis.Redis:
    """A client that lives with the process. Under load callers wait for a connection.

    There is no timeout a command: the client would wait with ``asyncio.wait_for``, which on Python
    3.11 can lose a cancellation. A server that vanished is noticed by keep-alive probes instead.
    """
    pool = redis.BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=WAIT_SECONDS,
        socket_connect_timeout=WAIT_SECONDS,
        socket_timeout=None,
        socket_keepalive=True,
        socket_keepalive_options=_ALIVE,
    )
    return redis.Redis(connection_pool=pool)
