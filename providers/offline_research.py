"""The offline model's research policy: search, read what promises most, quote, or report a miss.

Four calls are all there is: a search, two reads at most, and the answer. A read is spent on the
link, the section or the continuation whose words promise most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.messages import BaseMessage, HumanMessage

from config.prompt_files import phrase
from providers.embedding import Embedder
from providers.extractive import Finding, findings
from providers.extractive_verdict import SURE, chance, quotable
from providers.extractive_words import WantedWords
from providers.labelled_data import is_labelled, read_labelled
from providers.offline_delivery import READ_TOOL, SEARCH_TOOL, Delivery, Link, delivery_of
from providers.offline_vectors import RememberedVectors

ANSWER_TOOL = "StructuredAnswer"

NAME_SHARE, LITERAL_WEIGHT, SOFT_WEIGHT, LANGUAGE_BONUS = 0.3, 0.2, 0.5, 0.12
"""How a link's name and its context, the question's words and language make its promise. Set on
questions about two sites: the right page is among the two best for four out of five."""

READ_PROMISE = 0.15
"""The promise below which a link is not worth one of the few page attempts."""

PART_BONUS = 0.05
"""What a section of a page that was chosen already has over a page that was not."""

LINKS_LOOKED_AT = 400
LINKS_COMPARED = 40


class ResearchPolicy:
    """Chooses the next tool call of a research. Lives with the process."""

    def __init__(self, embedder: Embedder) -> None:
        self._vectors = RememberedVectors(embedder)

    async def next_call(
        self, messages: Sequence[BaseMessage], tools: frozenset[str]
    ) -> tuple[str, dict[str, Any]]:
        locale = (read_labelled(messages, "request") or {}).get("language", "en")
        question = next(
            message.text
            for message in reversed(messages)
            if isinstance(message, HumanMessage) and not is_labelled(message)
        )
        state = delivery_of(messages)
        if not state.searched and SEARCH_TOOL in tools:
            comment = phrase("offline_comment_search", locale)
            return SEARCH_TOOL, {"query": question, "comment": comment}
        found = await findings(self._vectors, question, state.texts, locale)
        if READ_TOOL in tools and state.reads_left > 0:
            target = await self._next_read(question, found, state, locale)
            if target:
                return READ_TOOL, {**target, "comment": phrase("offline_comment_read", locale)}
        return ANSWER_TOOL, _answer(found, state, locale)

    async def _next_read(
        self, question: str, found: Sequence[Finding], state: Delivery, locale: str
    ) -> dict[str, Any] | None:
        """The link or the part of a page that promises most; ``None`` when none does.

        After a sure finding the read that is left goes to the page that may say the same or
        contradict it: the one whose description is nearest to what was found. After a finding on
        an archived page it goes to what that page says has replaced it.
        """
        links = _nearest_first(state, locale)[:LINKS_LOOKED_AT]
        parts = state.unread_parts()
        names = [link.name for link in links] + [part.title for part in parts]
        if not names:
            return None
        hints = [link.hint for link in links] + [part.title for part in parts]
        spoken = [link.language for link in links] + [part.language for part in parts]
        comparing = bool(found) and chance(found[0]) >= SURE
        sought = found[0].unit.text if comparing else question
        successor = found[0].unit.source.successor if found else ""
        if successor:
            comparing, sought = False, successor
        name_share = 0.0 if comparing else NAME_SHARE
        asked = (await self._vectors.of([sought]))[0]
        wanted = WantedWords(sought, hints)
        promise = (
            name_share * ((await self._vectors.of(names)) @ asked)
            + (1.0 - name_share) * ((await self._vectors.of(hints)) @ asked)
            + LITERAL_WEIGHT * wanted.literal()
            + LANGUAGE_BONUS * np.array([language == locale for language in spoken])
        )
        promise[len(links) :] += PART_BONUS
        compared = [int(index) for index in np.argsort(-promise)[:LINKS_COMPARED]]
        if not comparing:
            matches = await wanted.matches(self._vectors, [hints[index] for index in compared])
            for index, held in zip(compared, matches, strict=True):
                promise[index] += SOFT_WEIGHT * wanted.covered(held)
        best = max(compared, key=lambda index: float(promise[index]))
        if promise[best] < READ_PROMISE:
            return None
        if best < len(links):
            return {"page_id": links[best].page_id}
        return parts[best - len(links)].arguments()


def _nearest_first(state: Delivery, locale: str) -> list[Link]:
    """Unread links, those of the question's language before the others."""
    return sorted(state.unread_links(), key=lambda link: link.language != locale)


def _answer(found: list[Finding], state: Delivery, locale: str) -> dict[str, Any]:
    """The quotable findings, word for word, or the miss."""
    chosen = quotable(found)
    if not chosen:
        status = "unavailable" if state.failed and not state.texts else "unanswerable"
        return {"status": status, "answer": "", "citations": []}
    lines = [phrase("offline_quote_intro", locale), ""]
    for finding in chosen:
        lines += [f"> {line}" for line in finding.unit.text.split("\n") if line.strip()]
        lines += [f"> — {finding.unit.source.title}", ""]
    return {
        "status": "answered",
        "answer": "\n".join(lines).strip(),
        "citations": [
            {"source_id": finding.unit.source.source_id, "quote": finding.unit.text}
            for finding in chosen
        ],
    }
