"""Summaries of long conversations: when one is due, what it covers, and how it is written."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately

from actors.conversation import to_langchain
from config import prompt_files
from config.policy import POLICY
from config.settings import Settings
from domain.budgets import Spent
from domain.errors import ModelUnavailable
from domain.messages import Message
from domain.outcomes import Summary
from domain.requests import RequestContext
from providers.failures import model_failures
from providers.interface import Models
from providers.labelled_data import labelled
from providers.usage import CallMeter

log = logging.getLogger("manta.supervisor")


def due(since: Sequence[Message]) -> int:
    """How many of the completed messages since the last summary a new one should cover; 0 for none.

    A summary ends where a turn ends, so that no call is parted from its result.
    """
    limits = POLICY.summary
    tokens = count_tokens_approximately(to_langchain(since))
    if tokens <= limits.trigger_tokens and len(since) <= limits.trigger_messages:
        return 0
    cut = max(0, len(since) - limits.kept_messages)
    while cut > 0 and not _begins_turn(since[cut]):
        cut -= 1
    return cut


def _begins_turn(message: Message) -> bool:
    return message.role == "user" and message.interaction is None


class Compaction:
    """Writes the summary on the mini model, with an output limit of its own."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models = models
        self._settings = settings

    async def summarised(
        self,
        context: RequestContext,
        model: str,
        messages: Sequence[Message],
        previous: Summary | None,
    ) -> tuple[Summary, Spent]:
        """The previous summary and ``messages`` in one new summary.

        Raises:
            ModelUnavailable: the call failed.
        """
        meter = CallMeter("manta.compaction", self._settings.prices, context.request_id)
        chat = self._models.chat(model, "manta.compaction", max_tokens=POLICY.summary.tokens)
        records = [
            {"role": message.role, "tool": message.tool_name, "text": message.text}
            for message in messages
            if message.text.strip()
        ]
        prompt: list[BaseMessage] = [SystemMessage(prompt_files.text("compaction"))]
        if previous is not None:
            prompt.append(labelled("summary", previous.text))
        prompt.append(labelled("conversation", records))
        with model_failures():
            reply = await chat.ainvoke(prompt, {"callbacks": [meter]})
        text = reply.text.strip()
        if not text:
            raise ModelUnavailable("the model", "empty reply")
        covers = (previous.covers if previous else 0) + len(messages)
        log.info(
            "summarised",
            extra={
                "request_id": context.request_id,
                "tenant": context.tenant,
                "covers": covers,
                "output_tokens": meter.spent.output_tokens,
            },
        )
        return Summary(text=text, covers=covers), meter.spent
