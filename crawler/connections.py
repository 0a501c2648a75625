"""Connections to one host: never more than the policy's number, idle ones included.

Each host has a connection pool of its own, http and https together: when all of its connections
are open and another scheme is asked for, an idle one is closed first.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import certifi
import httpcore

_IDLE_SECONDS: Final = 5.0
_IDLE_HOSTS: Final = 32


@dataclass(slots=True)
class _Host:
    pool: httpcore.AsyncConnectionPool
    slots: asyncio.Semaphore
    users: int = 0
    idle_since: float = 0.0


class HostConnections:
    """The connection pools of all hosts; lives with the fetcher.

    Args:
        network: dials, and decides what may be dialled.
        per_host: connections to one host at once.
        ssl_context: verifies certificates; certifi's roots by default.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        network: httpcore.AsyncNetworkBackend,
        per_host: int,
        ssl_context: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._network = network
        self._per_host = per_host
        self._ssl_context = ssl_context
        self._clock = clock
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def to(self, host: str) -> AsyncIterator[httpcore.AsyncConnectionPool]:
        """The pool of ``host``, once one of its connections is free for the caller."""
        known = self._hosts.get(host)
        if known is None:
            known = self._hosts[host] = self._open()
        known.users += 1
        self._hosts.move_to_end(host)
        try:
            await self._close_idle()
            async with known.slots:
                yield known.pool
        finally:
            known.users -= 1
            known.idle_since = self._clock()

    async def close(self) -> None:
        """Close every connection."""
        hosts, self._hosts = self._hosts, OrderedDict()
        for host in hosts.values():
            await host.pool.aclose()

    def _open(self) -> _Host:
        if self._ssl_context is None:
            self._ssl_context = ssl.create_default_context(cafile=certifi.where())
        pool = httpcore.AsyncConnectionPool(
            ssl_context=self._ssl_context,
            max_connections=self._per_host,
            keepalive_expiry=_IDLE_SECONDS,
            http1=True,
            http2=False,
            retries=0,
            network_backend=self._network,
        )
        return _Host(pool, asyncio.Semaphore(self._per_host))

    async def _close_idle(self) -> None:
        """Forget the hosts that nobody uses: those of long ago, and the oldest of too many."""
        now = self._clock()
        idle = [name for name, host in self._hosts.items() if host.users == 0]
        excess = len(idle) - _IDLE_HOSTS
        closing = [
            self._hosts.pop(name).pool
            for place, name in enumerate(idle)
            if place < excess or now - self._hosts[name].idle_since > _IDLE_SECONDS
        ]
        if closing:
            # Shielded: a cancelled page must not leave the sockets of others open.
            await asyncio.shield(asyncio.gather(*(pool.aclose() for pool in closing)))
