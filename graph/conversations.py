"""Records of conversations: what a list shows, and when each was last used.

Keys, all under ``manta:``: ``conversation:{thread}`` is a hash, ``conversations:{owner}`` orders an
owner's threads by their last update, ``conversations`` all threads, for retention.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable
from typing import Any

import redis.asyncio as redis
from pydantic import BaseModel, ConfigDict

from config.policy import POLICY
from domain.errors import InvalidInput
from domain.requests import owner_id, thread_id
from retrieval.redis_errors import redis_errors

RECORD = "manta:conversation"
OWNERS = "manta:conversations"
EVERYBODY = "manta:conversations"


class Conversation(BaseModel):
    """One conversation as its owner sees it in a list; times are seconds since 1970."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str
    created: int
    updated: int
    turns: int


class ConversationStore:
    """Lives with the process; ``client`` stays its owner's to close.

    An identity that does not own a conversation asks under its own key and finds nothing, so that
    no method can return another owner's record. Raises StoreUnavailable.
    """

    def __init__(self, client: redis.Redis, clock: Callable[[], float] = time.time) -> None:
        self._client: Any = client
        self._clock = clock

    async def touch(self, tenant: str, user: str, conversation: str, first_text: str) -> None:
        """Count an acknowledged turn; ``first_text`` names the conversation if it is its first.

        To be called while the conversation's lease is held, so that a deletion either comes before
        the turn or removes this record too.
        """
        await self._update(tenant, user, conversation, {"title": title_of(first_text)}, turns=1)

    async def keep(self, tenant: str, user: str, conversation: str, first_text: str) -> None:
        """Like :meth:`touch` for a turn that is not acknowledged yet: one that pauses."""
        await self._update(tenant, user, conversation, {"title": title_of(first_text)}, turns=0)

    async def add_document(self, tenant: str, user: str, conversation: str, name: str) -> None:
        """Keep a conversation that may have nothing but a document, whose name it then bears."""
        await self._update(tenant, user, conversation, {"document": title_of(name)}, turns=0)

    async def get(self, tenant: str, user: str, conversation: str) -> Conversation | None:
        with redis_errors():
            return _record(await self._client.hgetall(_key(tenant, user, conversation)))

    async def rename(
        self, tenant: str, user: str, conversation: str, title: str
    ) -> Conversation | None:
        """Give it another title; ``None`` when there is no such conversation.

        Raises:
            InvalidInput: an empty or a too long title.
        """
        title = " ".join(title.split())
        limit = POLICY.conversation.renamed_chars
        if not title or len(title) > limit or not title.isprintable():
            raise InvalidInput("title", f"is not 1 to {limit} printable characters", "change it")
        key = _key(tenant, user, conversation)
        with redis_errors():
            async with self._client.pipeline() as pipe:
                while True:
                    # Watched, because a deletion in between must not leave half a record.
                    await pipe.watch(key)
                    if not await pipe.exists(key):
                        return None
                    pipe.multi()
                    pipe.hset(key, "renamed", title)
                    pipe.hgetall(key)
                    try:
                        return _record((await pipe.execute())[-1])
                    except redis.WatchError:
                        continue

    async def page(
        self, tenant: str, user: str, limit: int, before: str | None = None
    ) -> tuple[list[Conversation], str | None]:
        """An owner's conversations, the last used first, and where the next page begins.

        A conversation that is used between two pages moves to the front; none is left out.

        Raises:
            InvalidInput: ``before`` is no cursor of ours.
        """
        owner = f"{OWNERS}:{owner_id(tenant, user)}"
        with redis_errors():
            if before is None:
                found = await self._client.zrange(owner, 0, limit, desc=True, withscores=True)
            else:
                score, member = _cursor(before)
                same = await self._client.zrange(owner, score, score, byscore=True, withscores=True)
                # Those of the same moment follow each other by name, the last name first.
                found = [entry for entry in reversed(same) if entry[0] < member]
                found += await self._client.zrange(
                    owner,
                    f"({score!r}",
                    "-inf",
                    desc=True,
                    byscore=True,
                    offset=0,
                    num=limit + 1,
                    withscores=True,
                )
            shown, more = found[:limit], len(found) > limit
            pipe = self._client.pipeline(transaction=False)
            for member, _ in shown:
                pipe.hgetall(f"{RECORD}:{member.decode()}")
            records = [_record(fields) for fields in await pipe.execute()]
        following = _cursor_of(shown[-1]) if more else None
        return [record for record in records if record is not None], following

    async def forget(self, thread: str) -> None:
        """Delete the record and its places in the lists."""
        owner = thread.rpartition("|")[0]
        with redis_errors():
            pipe = self._client.pipeline()
            pipe.delete(f"{RECORD}:{thread}")
            pipe.zrem(f"{OWNERS}:{owner}", thread)
            pipe.zrem(EVERYBODY, thread)
            await pipe.execute()

    async def unused_since(self, moment: float, limit: int, offset: int = 0) -> list[str]:
        """Threads that were last updated before ``moment``, the oldest first."""
        with redis_errors():
            found = await self._client.zrange(
                EVERYBODY, "-inf", f"({moment!r}", byscore=True, offset=offset, num=limit
            )
        return [thread.decode() for thread in found]

    async def updated(self, thread: str) -> float | None:
        """When a thread was last updated."""
        with redis_errors():
            score: float | None = await self._client.zscore(EVERYBODY, thread)
        return score

    async def _update(
        self, tenant: str, user: str, conversation: str, once: dict[str, str], turns: int
    ) -> None:
        now = self._clock()
        thread, key = thread_id(tenant, user, conversation), _key(tenant, user, conversation)
        with redis_errors():
            pipe = self._client.pipeline()
            for name, value in {"id": conversation, "created": repr(now), **once}.items():
                pipe.hsetnx(key, name, value)
            pipe.hset(key, "updated", repr(now))
            pipe.hincrby(key, "turns", turns)
            pipe.zadd(f"{OWNERS}:{owner_id(tenant, user)}", {thread: now})
            pipe.zadd(EVERYBODY, {thread: now})
            await pipe.execute()


def title_of(text: str) -> str:
    """The beginning of a text as a title, cut at a word where there is one."""
    limit = POLICY.conversation.title_chars
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit + 1].rpartition(" ")[0]
    return cut or line[:limit]


def _key(tenant: str, user: str, conversation: str) -> str:
    return f"{RECORD}:{thread_id(tenant, user, conversation)}"


def _record(fields: dict[bytes, bytes]) -> Conversation | None:
    if not fields:
        return None
    plain = {name.decode(): value.decode() for name, value in fields.items()}
    names = (plain.get(name) for name in ("renamed", "title", "document"))
    return Conversation(
        id=plain["id"],
        title=next((name for name in names if name), ""),
        created=int(float(plain["created"])),
        updated=int(float(plain["updated"])),
        turns=int(plain["turns"]),
    )


def _cursor_of(entry: tuple[bytes, float]) -> str:
    member, score = entry
    return base64.urlsafe_b64encode(f"{score!r} {member.decode()}".encode()).decode()


def _cursor(before: str) -> tuple[float, bytes]:
    try:
        score, _, member = base64.urlsafe_b64decode(before.encode()).decode().partition(" ")
        moment = float(score)
        if not math.isfinite(moment):
            raise ValueError(score)
        return moment, member.encode()
    except ValueError as error:
        raise InvalidInput("before", "is no cursor of this list", "use the last next") from error
