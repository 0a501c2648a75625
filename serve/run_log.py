"""The log of a run: its events in Redis, so that any replica can show them.

A run's events are a Redis stream whose entry ids are the events' numbers, 1, 2, 3 and so on; Redis
refuses a number that is not above the last one, which makes the log append-only for everybody. The
owner of a run renews a heartbeat beside it. Whoever finds neither a heartbeat nor a last event
closes the log with the error that the owner had left for this case, under a number that no owner
ever reaches: from then on an owner that was only stalled cannot write any more, and finds out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import redis.asyncio as redis
from redis.exceptions import RedisError, ResponseError, WatchError

from config.policy import POLICY, RunLimits
from domain.errors import StoreUnavailable
from domain.requests import escaped

PREFIX = "manta:run"
INDEX = "manta:runs"
PAGE = 500
"""Events a round trip, so that a slow reader of a long run holds little of it."""


@dataclass(frozen=True, slots=True)
class RunName:
    """A run is its owner's: ``owner`` is :func:`domain.requests.owner_id`, ``run_id`` the
    client's own choice."""

    owner: str
    run_id: str

    @property
    def key(self) -> str:
        return f"{PREFIX}:{self.owner}|{escaped(self.run_id)}"


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event as it is sent: its number and its JSON; ``last`` ends the run."""

    seq: int
    data: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class Signals:
    """What an owner learns when it writes.

    ``fate``: ``kept`` the log is the owner's, ``lost`` it was closed as a dead owner's,
    ``forgotten`` it was deleted.
    """

    fate: Literal["kept", "lost", "forgotten"]
    stop: bool = False
    watched: bool = False


@dataclass(frozen=True, slots=True)
class LogPage:
    """Events of a log after a number. ``known`` the log exists, ``alive`` its owner was heard of,
    ``ended`` its last event is not after that number."""

    events: tuple[RunEvent, ...]
    known: bool
    alive: bool
    ended: bool


class RunLog:
    """All runs' logs; lives with the process over the process's client."""

    def __init__(self, client: redis.Redis, limits: RunLimits = POLICY.run) -> None:
        self._redis: Any = client
        self._limits = limits
        self._kept = limits.kept_seconds
        self._lost_ms = int(limits.lost_seconds * 1000)

    async def claim(self, name: RunName, thread: str, first: RunEvent, lost: str) -> bool:
        """Begin the log of a new run; False when the owner already has a run of this name.

        Args:
            thread: the conversation, so that deleting it finds the log.
            lost: the JSON of the event that ends the log if its owner dies.
        """
        with _translated():
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(name.key)
                if await pipe.exists(name.key):
                    return False
                pipe.multi()
                pipe.xadd(name.key, {**_fields(first), "lost": lost}, id=first.seq)
                self._renew(pipe, name, thread)
                pipe.zremrangebyscore(_index(thread), 0, time.time() - self._kept)
                try:
                    await pipe.execute()
                except WatchError:
                    return False
        return True

    async def write(self, name: RunName, thread: str, events: Sequence[RunEvent]) -> Signals:
        """Append ``events``, renew the heartbeat and look for signals, in one round trip.

        An answer that was lost on its way may be asked for again: what is there stays as it is.
        """
        with _translated():
            async with self._redis.pipeline(transaction=True) as pipe:
                for event in events:
                    pipe.xadd(name.key, _fields(event), id=event.seq, nomkstream=True)
                self._renew(pipe, name, thread)
                pipe.xrevrange(name.key, count=1)
                pipe.mget(f"{name.key}:stop", f"{name.key}:watched")
                if events and events[-1].last:
                    pipe.delete(f"{name.key}:alive")
                done = await pipe.execute(raise_on_error=False)
            for problem in done:
                # A refused number is told by the log's end below; anything else is a failure.
                if isinstance(problem, Exception) and not _is_refused(problem):
                    raise problem
            last, (stop, watched) = done[len(events) + 4], done[len(events) + 5]
            if not last:
                # The heartbeat of a log that is gone must not outlive it.
                await self._redis.delete(f"{name.key}:alive")
                return Signals("forgotten")
        if _event(last[0]).seq > self._limits.kept_events:
            return Signals("lost")
        return Signals("kept", stop=stop is not None, watched=watched is not None)

    async def read(self, name: RunName, after: int) -> LogPage:
        """The next events after number ``after``, and how the run is."""
        with _translated():
            async with self._redis.pipeline(transaction=True) as pipe:
                pipe.xrange(name.key, min=after + 1, count=PAGE)
                pipe.xrevrange(name.key, count=1)
                pipe.exists(f"{name.key}:alive")
                found, last, alive = await pipe.execute()
        ended = bool(last) and _event(last[0]).last and not found
        events = tuple(_event(entry) for entry in found)
        return LogPage(events, known=bool(last), alive=bool(alive), ended=ended)

    async def known(self, name: RunName) -> bool:
        with _translated():
            return bool(await self._redis.exists(name.key))

    async def watch(self, name: RunName, seconds: float) -> None:
        """Tell the owner that somebody reads, for the next ``seconds``."""
        with _translated():
            await self._redis.set(f"{name.key}:watched", 1, px=int(seconds * 1000))

    async def ask_stop(self, name: RunName) -> None:
        """Tell the owner to stop; it hears of it at its next heartbeat."""
        with _translated():
            await self._redis.set(f"{name.key}:stop", 1, ex=self._kept)

    async def declare_lost(self, name: RunName) -> None:
        """Close the log of a dead owner. Of several that try at once, one does it."""
        alive = f"{name.key}:alive"
        with _translated():
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(name.key, alive)
                last = await pipe.xrevrange(name.key, count=1)
                if await pipe.exists(alive) or not last or _event(last[0]).last:
                    return
                (_, first), *_ = await pipe.xrange(name.key, count=1)
                closing = RunEvent(self._limits.kept_events + 1, first[b"lost"].decode(), last=True)
                pipe.multi()
                pipe.xadd(name.key, _fields(closing), id=closing.seq, nomkstream=True)
                pipe.expire(name.key, self._kept)
                try:
                    await pipe.execute()
                except WatchError:
                    # Somebody else wrote meanwhile; the next look at the log tells who.
                    return

    async def forget(self, thread: str) -> None:
        """Delete the logs of a conversation's runs; a run that still goes on is cancelled by its
        owner, which finds its log gone."""
        with _translated():
            members = await self._redis.zrange(_index(thread), 0, -1)
            keys = [f"{member.decode()}{part}" for member in members for part in _PARTS]
            await self._redis.delete(_index(thread), *keys)

    def _renew(self, pipe: Any, name: RunName, thread: str) -> None:
        """Four commands: the heartbeat, and that nothing of the log expires."""
        pipe.set(f"{name.key}:alive", 1, px=self._lost_ms)
        pipe.expire(name.key, self._kept)
        pipe.zadd(_index(thread), {name.key: time.time()})
        pipe.expire(_index(thread), self._kept)


_PARTS = ("", ":alive", ":stop", ":watched")


def _index(thread: str) -> str:
    return f"{INDEX}:{thread}"


def _fields(event: RunEvent) -> dict[str, str]:
    return {"data": event.data, "last": "1"} if event.last else {"data": event.data}


def _event(entry: tuple[bytes, dict[bytes, bytes]]) -> RunEvent:
    number, fields = entry
    return RunEvent(int(number.partition(b"-")[0]), fields[b"data"].decode(), b"last" in fields)


def _is_refused(error: Exception) -> bool:
    return isinstance(error, ResponseError) and "equal or smaller" in str(error)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        raise StoreUnavailable("Redis", type(error).__name__) from error
