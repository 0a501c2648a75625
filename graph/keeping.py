"""What is done once a turn is stored, while its conversation's lease is still held."""

from __future__ import annotations

import logging

from domain.errors import StoreUnavailable
from graph.checkpoints import ConversationSaver
from graph.conversations import ConversationStore
from graph.state import TurnContext

log = logging.getLogger("manta.turn")


class ConversationKeeper:
    """Brings the conversation's record up to date and prunes its older checkpoints."""

    def __init__(
        self, conversations: ConversationStore, saver: ConversationSaver, checkpoints_kept: int
    ) -> None:
        self._conversations = conversations
        self._saver = saver
        self._kept = checkpoints_kept

    async def stored(self, context: TurnContext, first_text: str, *, paused: bool) -> None:
        """The turn itself is stored already, so that a failure here must not make it look failed:
        the record follows with the next turn."""
        request = context.request
        note = self._conversations.keep if paused else self._conversations.touch
        try:
            await note(request.tenant, request.user, request.conversation, first_text)
            await self._saver.aprune_thread(request.thread, self._kept)
        except StoreUnavailable as error:
            log.warning(
                "record_not_kept",
                extra={
                    "request_id": request.request_id,
                    "tenant": request.tenant,
                    "code": error.code,
                },
            )
