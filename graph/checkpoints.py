"""Conversation checkpoints on the Redis protocol: plain commands, no modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis.asyncio as redis
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph_checkpoint_plainredis import AsyncRedisSaver
from langgraph_checkpoint_plainredis.saver import _MISSING

from domain.errors import StoreUnavailable

PREFIX = "manta:checkpoint"
PAUSE = "pause"
"""The channel of :class:`graph.state.TurnState` that holds an open pause."""


class ConversationSaver(AsyncRedisSaver):
    """The published saver, which also knows every key that it wrote for a conversation.

    The published one finds a conversation's keys by reading the registry of all conversations,
    and only those that a listed checkpoint names. Here they are members of one set, noted before
    they are written, so that pruning and deleting cost what the conversation costs, and nothing
    stays behind whatever a crash interrupted.
    """

    client: Any

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread, ns = _place(config)
        written = [
            self._key_index(thread, ns),
            self._key_checkpoint(thread, ns, checkpoint["id"]),
            *(self._key_blob(thread, ns, name, version) for name, version in new_versions.items()),
        ]
        await self.client.sadd(self._key_written(thread), *written)
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        thread, ns = _place(config)
        key = self._key_writes(thread, ns, config["configurable"]["checkpoint_id"])
        await self.client.sadd(self._key_written(thread), key)
        await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all keys of a conversation and its entries in the registry.

        The caller holds the conversation's lease.
        """
        written = await self._written(thread_id)
        indexes = self._indexes(thread_id, written)
        for index, ns in indexes.items():
            names = await self._checkpoints(index)
            payloads = await self._payloads(thread_id, ns, names)
            written |= set(self._keys_to_delete(thread_id, ns, names, payloads))
        pipe = self.client.pipeline()
        pipe.delete(*written, self._key_written(thread_id))
        pipe.hdel(self._key_threads(), *indexes)
        await pipe.execute()

    async def aprune_thread(self, thread_id: str, keep: int) -> int:
        """Delete all but the ``keep`` newest checkpoints; values that they share stay. While a
        pause is open nothing is deleted.

        The caller holds the conversation's lease: a key that is noted and not yet listed belongs to
        a write that was interrupted, and not to one that goes on.

        Returns:
            How many keys were deleted.
        """
        if await self.apaused(thread_id):
            return 0
        written = await self._written(thread_id)
        needed: set[str] = set()
        pipe = self.client.pipeline()
        for index, ns in self._indexes(thread_id, written).items():
            names = await self._checkpoints(index)
            kept, dropped = names[-keep:], names[:-keep]
            for gone, payload in zip(
                dropped, await self._payloads(thread_id, ns, dropped), strict=True
            ):
                written |= set(self._keys_to_delete(thread_id, ns, [gone], [payload]))
                pipe.zrem(index, gone)
            payloads = await self._payloads(thread_id, ns, kept)
            needed |= {index, *self._keys_to_delete(thread_id, ns, kept, payloads)}
        unneeded = written - needed
        if not unneeded:
            return 0
        pipe.delete(*unneeded)
        pipe.srem(self._key_written(thread_id), *unneeded)
        await pipe.execute()
        return len(unneeded)

    async def apaused(self, thread_id: str) -> bool:
        """Whether the conversation waits for its user; only that channel is read."""
        newest = await self.client.zrevrange(self._key_index(thread_id, ""), 0, 0)
        if not newest:
            return False
        (payload,) = await self._payloads(thread_id, "", [newest[0].decode()])
        if payload is None:
            return False
        versions = self._parse_checkpoint_payload(payload)[3]
        if PAUSE not in versions:
            return False
        raw = await self.client.get(self._key_blob(thread_id, "", PAUSE, versions[PAUSE]))
        return self._decode_blob(raw) not in (None, _MISSING)

    def _key_written(self, thread_id: str) -> str:
        return f"{self.prefix}:written:{thread_id}"

    async def _written(self, thread_id: str) -> set[str]:
        return {key.decode() for key in await self.client.smembers(self._key_written(thread_id))}

    def _indexes(self, thread_id: str, written: set[str]) -> dict[str, str]:
        """The timelines of a conversation with their namespaces; the graph's own is always one."""
        begin = self._key_index(thread_id, "")
        found = {key: key.removeprefix(begin) for key in written if key.startswith(begin)}
        return {begin: "", **found}

    async def _checkpoints(self, index: str) -> list[str]:
        return [name.decode() for name in await self.client.zrange(index, 0, -1)]

    async def _payloads(self, thread_id: str, ns: str, names: Sequence[str]) -> list[bytes | None]:
        if not names:
            return []
        keys = [self._key_checkpoint(thread_id, ns, name) for name in names]
        payloads: list[bytes | None] = await self.client.mget(keys)
        return payloads


def open_saver(client: redis.Redis) -> ConversationSaver:
    """The saver over ``client``, which stays its owner's to close."""
    return ConversationSaver(client, prefix=PREFIX)


async def check_redis(client: redis.Redis) -> None:
    """Raises StoreUnavailable when the store does not answer."""
    try:
        await client.ping()
    except (redis.RedisError, OSError) as error:
        raise StoreUnavailable("Redis", type(error).__name__) from error


def _place(config: RunnableConfig) -> tuple[str, str]:
    configurable = config["configurable"]
    return configurable["thread_id"], configurable.get("checkpoint_ns", "")
