"""A summary without writing: what the user said, quoted; the latest words stay when room is
short."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from config.policy import POLICY
from providers.labelled_data import read_labelled
from providers.offline_steps import Step

_QUOTE_CHARS = 200


def summary_step(messages: Sequence[BaseMessage]) -> Step:
    """The previous summary's lines and the user's messages, as quotations, within the limit."""
    previous = str(read_labelled(messages, "summary") or "").splitlines()
    said = [
        f"- “{' '.join(str(record['text']).split())[:_QUOTE_CHARS]}”"
        for record in read_labelled(messages, "conversation") or ()
        if record.get("role") == "user"
    ]
    lines = [*(line for line in previous if line.startswith("- ")), *said]
    while len(lines) > 1 and _tokens(lines) > POLICY.summary.tokens:
        lines.pop(0)
    return Step(text="\n".join(["The user said, among other things:", *lines]))


def _tokens(lines: Sequence[str]) -> int:
    return count_tokens_approximately([HumanMessage("\n".join(lines))])
