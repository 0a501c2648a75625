"""Which crawler of a cell's pool fetches a page.

A host's connections are shared out: each host has as many crawlers as it may have connections,
chosen by a stable hash, and each of them opens its share. So the whole pool keeps the policy's
number of connections to a host without asking anybody, and one host's pages are still read by
more than one process.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Final

from config.policy import POLICY
from domain.errors import ActorUnavailable

_RESTING_SECONDS: Final = 5.0


def connections_share(members: int, connections: int = POLICY.page.connections_per_host) -> int:
    """How many connections to one host each of ``members`` crawlers may open."""
    return connections // min(members, connections)


def members_of(
    host: str, members: int, connections: int = POLICY.page.connections_per_host
) -> tuple[int, ...]:
    """The crawlers (numbers below ``members``) that fetch from ``host``, the same in every
    process and, for most hosts, after the pool's size changed."""
    ranked = sorted(range(members), key=lambda member: _weight(host, member), reverse=True)
    return tuple(ranked[: min(members, connections)])


def _weight(host: str, member: int) -> bytes:
    return blake2b(f"{member} {host}".encode(), digest_size=8).digest()


class CrawlerPool:
    """Chooses a crawler for each request; lives with the pool's handle.

    The least busy of a host's crawlers is taken. One whose process ended rests while it is being
    restarted, as long as another of the host's can do the work; nothing is ever sent twice.
    """

    def __init__(self, members: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._members = members
        self._clock = clock
        self._busy: Counter[int] = Counter()
        self._resting: dict[int, float] = {}

    @contextmanager
    def member_for(self, url: str) -> Iterator[int]:
        """The number of the crawler that fetches ``url``, for as long as it does.

        An ``ActorUnavailable`` that leaves the context lets that crawler rest.
        """
        host = url.split("/", 3)[2]
        now = self._clock()
        chosen = min(
            members_of(host, self._members),
            key=lambda member: (self._resting.get(member, 0.0) > now, self._busy[member]),
        )
        self._busy[chosen] += 1
        try:
            yield chosen
        except ActorUnavailable:
            self._resting[chosen] = self._clock() + _RESTING_SECONDS
            raise
        finally:
            self._busy[chosen] -= 1
