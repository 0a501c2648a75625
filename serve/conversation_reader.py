"""A conversation as its owner reads it: what was said, what is asked, what was added."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from domain.answers import Reply
from domain.errors import NotFound
from domain.messages import Message
from domain.requests import thread_id
from graph.checkpoints import ConversationSaver
from graph.conversations import Conversation, ConversationStore
from graph.feedback import FeedbackStore
from graph.state import OpenPause, messages_of
from retrieval.redis_errors import redis_errors
from retrieval.uploads import Upload, UploadStore
from serve.identity import Identity, not_the_callers
from serve.interrupts import public_interrupt

SHOWN_FIELDS = ("run_id", "status", "agent", "citations")
"""What a message's artifact says about the reply that it was."""


class ConversationReader:
    """Lives with the process, over its stores.

    ``shown`` gives a reply with its citations as people can open them. Raises StoreUnavailable.
    """

    def __init__(
        self,
        saver: ConversationSaver,
        conversations: ConversationStore,
        uploads: UploadStore,
        feedback: FeedbackStore,
        shown: Callable[[Reply], Reply],
    ) -> None:
        self._saver = saver
        self._conversations = conversations
        self._uploads = uploads
        self._feedback = feedback
        self._shown = shown

    async def record(self, identity: Identity, conversation: str) -> Conversation:
        """Raises NotFound for a conversation that does not exist or is not the caller's."""
        found = await self._conversations.get(identity.tenant, identity.user, conversation)
        if found is None:
            raise not_the_callers(identity, "conversation")
        return found

    async def read(self, identity: Identity, conversation: str) -> dict[str, Any]:
        """The conversation as ``GET /v1/conversations/{id}`` shows it.

        Raises:
            NotFound: as :meth:`record`.
        """
        record = await self.record(identity, conversation)
        thread = thread_id(identity.tenant, identity.user, conversation)
        values = await self._values(thread)
        pause = OpenPause.of(values)
        said = list(values.get("history", ()))
        if pause is not None:
            said += [*pause.incoming, *pause.draft]
        messages = [*messages_of(said), *(pause.pause.exchange if pause is not None else ())]
        rated = await self._feedback.of_conversation(identity.tenant, identity.user, conversation)
        ratings = {feedback.run_id: feedback.rating for feedback in rated}
        return {
            "id": record.id,
            "title": record.title,
            "created": record.created,
            "updated": record.updated,
            "messages": self._messages(messages, ratings),
            "pause": None if pause is None else _interrupt(pause),
            "documents": [document(upload) for upload in await self._uploads.list(thread)],
        }

    async def check_run(self, identity: Identity, conversation: str, run_id: str) -> None:
        """Raises NotFound for a run that gave no reply in the conversation."""
        values = await self._values(thread_id(identity.tenant, identity.user, conversation))
        replies = (message.get("artifact") or {} for message in values.get("history", ()))
        if not any(reply.get("run_id") == run_id for reply in replies):
            raise NotFound("the run")

    async def export(self, identity: Identity, conversation: str) -> AsyncIterator[str]:
        """All of the conversation as one JSON text, in pieces: documents are long.

        Raises:
            NotFound: as :meth:`record`, before the first piece.
        """
        content = await self.read(identity, conversation)
        rated = await self._feedback.of_conversation(identity.tenant, identity.user, conversation)
        content["feedback"] = [feedback.model_dump(exclude={"user"}) for feedback in rated]
        del content["documents"]
        thread = thread_id(identity.tenant, identity.user, conversation)
        return self._export(content, thread, await self._uploads.list(thread))

    async def _export(
        self, content: dict[str, Any], thread: str, uploads: Sequence[Upload]
    ) -> AsyncIterator[str]:
        yield json.dumps(content, ensure_ascii=False)[:-1] + ', "documents": ['
        for number, upload in enumerate(uploads):
            head = json.dumps(document(upload), ensure_ascii=False)[:-1]
            yield (", " if number else "") + head + ', "text": "'
            offset: int | None = 0
            while offset is not None:
                window = await self._uploads.window(thread, upload.id, offset, upload.characters)
                yield json.dumps(window.text, ensure_ascii=False)[1:-1]
                offset = window.next_offset
            yield '"}'
        yield "]}"

    async def _values(self, thread: str) -> dict[str, Any]:
        with redis_errors():
            kept = await self._saver.aget_tuple({"configurable": {"thread_id": thread}})
        return kept.checkpoint["channel_values"] if kept else {}

    def _messages(
        self, messages: Sequence[Message], ratings: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """What people said and were told. A model's turn that called a tool was never shown."""
        return [
            {"role": message.role, "text": message.text, **self._reply(message, ratings)}
            for message in messages
            if message.role != "tool" and not message.tool_calls and message.text
        ]

    def _reply(self, message: Message, ratings: Mapping[str, str]) -> dict[str, Any]:
        known = message.artifact or {}
        fields = {name: known[name] for name in SHOWN_FIELDS if name in known}
        if message.interaction is not None:
            fields["interaction"] = message.interaction
        if known.get("run_id") in ratings:
            fields["rating"] = ratings[known["run_id"]]
        if fields.get("citations"):
            reply = Reply.model_validate(
                {
                    "status": known.get("status", "answered"),
                    "agent": known.get("agent", ""),
                    "text": message.text,
                    "citations": known["citations"],
                }
            )
            fields["citations"] = self._shown(reply).model_dump(mode="json")["citations"]
        return fields


def document(upload: Upload) -> dict[str, Any]:
    """A document as the routes show it."""
    return upload.model_dump(include={"id", "name", "bytes", "characters"})


def _interrupt(pause: OpenPause) -> dict[str, Any]:
    """The pause as a run shows it, with its questions where a reader looks for them."""
    shown = public_interrupt(pause.pause).model_dump(mode="json", by_alias=True, exclude_none=True)
    return {**shown, "questions": shown["metadata"]["questions"]}
