"""Documents that a user added to a conversation: their text, kept with it and read in windows.

``manta:uploads:{thread}`` is a hash of what each document is, ``manta:upload:{thread}:{id}`` a list
of blocks of its text, all of the same number of characters but the last. A window reads only the
blocks that it touches, and counts characters whatever their size in bytes.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import redis.asyncio as redis
from pydantic import BaseModel, ConfigDict

from config.policy import POLICY, DocumentLimits
from domain.errors import InvalidInput, NotFound
from retrieval.redis_errors import redis_errors

DOCUMENTS = "manta:uploads"
TEXT = "manta:upload"
BLOCK_CHARS = 2_000


class Upload(BaseModel):
    """One document; ``bytes`` is the size of its file, ``characters`` that of its text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    bytes: int
    characters: int
    language: str

    def brief(self) -> dict[str, Any]:
        """What a model is told of a document that it may read."""
        return {"document_id": self.id, "name": self.name, "characters": self.characters}


class UploadWindow(BaseModel):
    """A part of a document's text from the character ``offset``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    document: Upload
    offset: int
    text: str

    @property
    def next_offset(self) -> int | None:
        """Where to go on; ``None`` at the end of the document."""
        end = self.offset + len(self.text)
        return end if end < self.document.characters else None

    def shown(self) -> dict[str, Any]:
        """The window as a tool shows it to a model."""
        return {
            "document_id": self.document.id,
            "name": self.document.name,
            "characters": self.document.characters,
            "offset": self.offset,
            "text": self.text,
            "next_offset": self.next_offset,
        }


class UploadStore:
    """Lives with the process; ``client`` stays its owner's to close.

    ``thread`` is :func:`domain.requests.thread_id`: no identity reaches another owner's documents.
    Raises StoreUnavailable.
    """

    def __init__(self, client: redis.Redis, limits: DocumentLimits = POLICY.document) -> None:
        self._client: Any = client
        self._limits = limits

    async def check_room(self, thread: str) -> None:
        """Raises InvalidInput when the conversation holds as many documents as it may."""
        with redis_errors():
            count = await self._client.hlen(_documents(thread))
        if count >= self._limits.per_conversation:
            raise self._full()

    async def add(self, thread: str, name: str, size: int, text: str, language: str) -> Upload:
        """Keep a document; the name, the size and the text were checked.

        Raises:
            InvalidInput: the conversation holds as many documents as it may.
        """
        upload = Upload(
            id=uuid4().hex, name=name, bytes=size, characters=len(text), language=language
        )
        key = _documents(thread)
        blocks = [text[at : at + BLOCK_CHARS] for at in range(0, len(text), BLOCK_CHARS)]
        with redis_errors():
            async with self._client.pipeline() as pipe:
                while True:
                    # Watched, so that two uploads at once do not both take the last place.
                    await pipe.watch(key)
                    if await pipe.hlen(key) >= self._limits.per_conversation:
                        raise self._full()
                    pipe.multi()
                    pipe.hset(key, upload.id, upload.model_dump_json())
                    pipe.rpush(_text(thread, upload.id), *blocks)
                    try:
                        await pipe.execute()
                    except redis.WatchError:
                        continue
                    return upload

    async def list(self, thread: str) -> list[Upload]:
        """The conversation's documents, by name."""
        with redis_errors():
            kept = await self._client.hvals(_documents(thread))
        found = [Upload.model_validate(json.loads(value)) for value in kept]
        return sorted(found, key=lambda upload: (upload.name, upload.id))

    async def get(self, thread: str, upload: str) -> Upload:
        """Raises NotFound when the conversation has no such document."""
        with redis_errors():
            kept = await self._client.hget(_documents(thread), upload)
        if kept is None:
            raise NotFound("the document")
        return Upload.model_validate_json(kept)

    async def window(self, thread: str, upload: str, offset: int, chars: int) -> UploadWindow:
        """At most ``chars`` characters of the text from ``offset``, within the policy's window.

        Raises:
            NotFound: the conversation has no such document.
        """
        document = await self.get(thread, upload)
        offset = min(max(0, offset), document.characters)
        chars = max(0, min(chars, self._limits.window_chars))
        first, last = offset // BLOCK_CHARS, (offset + chars) // BLOCK_CHARS
        with redis_errors():
            blocks = await self._client.lrange(_text(thread, upload), first, last)
        text = b"".join(blocks).decode("utf-8")
        begin = offset - first * BLOCK_CHARS
        return UploadWindow(document=document, offset=offset, text=text[begin : begin + chars])

    async def delete(self, thread: str, upload: str) -> None:
        """Raises NotFound when the conversation has no such document."""
        with redis_errors():
            pipe = self._client.pipeline()
            pipe.hdel(_documents(thread), upload)
            pipe.delete(_text(thread, upload))
            known, _ = await pipe.execute()
        if not known:
            raise NotFound("the document")

    async def delete_all(self, thread: str) -> None:
        with redis_errors():
            ids = [name.decode() for name in await self._client.hkeys(_documents(thread))]
            await self._client.delete(_documents(thread), *(_text(thread, name) for name in ids))

    def _full(self) -> InvalidInput:
        limit = self._limits.per_conversation
        return InvalidInput("file", f"is more than {limit} in a conversation", "delete another one")


def _documents(thread: str) -> str:
    return f"{DOCUMENTS}:{thread}"


def _text(thread: str, upload: str) -> str:
    return f"{TEXT}:{thread}:{upload}"
