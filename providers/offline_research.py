"""The offline model's research policy: search, read the best page, quote, or say that it is missing.

Scores decide everything: a link is read when its label and context promise more than what was
delivered so far, and a span answers only above a threshold that was set on questions with and
without an answer in real handbooks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from config.prompt_files import phrase
from providers.embedding import Embedder
from providers.extractive import Delivered, Span, rank_spans, rank_texts
from providers.labelled_data import is_labelled, read_labelled

ANSWER_THRESHOLD = 0.52
SURE_THRESHOLD = 0.80
LINK_THRESHOLD = 0.30
SECOND_MARGIN = 0.06
ANSWER_TOOL = "StructuredAnswer"


@dataclass(slots=True)
class _State:
    """What the tool results of this run say."""

    delivered: list[Delivered]
    titles: dict[str, str]
    links: dict[str, str]
    read_pages: set[str]
    continuations: list[tuple[str, int]]
    failed: bool
    searched: bool
    reads_left: int
    attempts_left: int


class ResearchPolicy:
    """Chooses the next tool call of a research."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def next_call(
        self, messages: Sequence[BaseMessage], tools: frozenset[str]
    ) -> tuple[str, dict[str, Any]]:
        locale = (read_labelled(messages, "request") or {}).get("language", "en")
        question = next(
            message.text
            for message in reversed(messages)
            if isinstance(message, HumanMessage) and not is_labelled(message)
        )
        state = _read_state(messages)
        if not state.searched and "search_knowledge" in tools:
            comment = phrase("offline_comment_search", locale)
            return "search_knowledge", {"query": question, "comment": comment}
        spans = await rank_spans(self._embedder, question, state.delivered)
        best = spans[0].score if spans else 0.0
        if "read_knowledge_page" in tools and state.reads_left > 0 and best < SURE_THRESHOLD:
            target = await self._page_to_read(question, state, best)
            if target:
                comment = phrase("offline_comment_read", locale)
                return "read_knowledge_page", {**target, "comment": comment}
        return ANSWER_TOOL, _answer(spans, state, locale)

    async def _page_to_read(
        self, question: str, state: _State, best: float
    ) -> dict[str, Any] | None:
        """The continuation of a promising page, else the best link that was not read yet."""
        if state.continuations and best < ANSWER_THRESHOLD:
            page_id, offset = state.continuations[-1]
            return {"page_id": page_id, "offset": offset}
        unread = {page: text for page, text in state.links.items() if page not in state.read_pages}
        if not unread or state.attempts_left <= 0:
            return None
        scores = await rank_texts(self._embedder, question, list(unread.values()))
        score, page_id = max(zip(scores, unread, strict=True))
        return {"page_id": page_id} if score >= LINK_THRESHOLD else None


def _read_state(messages: Sequence[BaseMessage]) -> _State:
    state = _State([], {}, {}, set(), [], False, False, 0, 0)
    calls = {
        call["id"]: call["args"]
        for message in messages
        for call in getattr(message, "tool_calls", ())
    }
    for message in messages:
        if not isinstance(message, ToolMessage) or message.name == ANSWER_TOOL:
            continue
        result = json.loads(message.text)
        budget = result.get("web_budget") or {}
        state.reads_left = budget.get("remaining_reads") or 0
        state.attempts_left = budget.get("remaining") or 0
        if message.name == "search_knowledge":
            state.searched = True
            documents = result.get("documents") or {}
            state.failed |= documents.get("status") == "unavailable"
            state.failed |= bool(result.get("failed_sources"))
            for passage in documents.get("passages") or ():
                _deliver(state, passage, passage.get("heading"))
            pages = result.get("pages")
            for page in pages if isinstance(pages, list) else ():
                _page(state, page)
        elif message.name == "read_knowledge_page":
            asked = str(calls.get(message.tool_call_id, {}).get("page_id", ""))
            state.read_pages.add(asked)
            if "page" in result:
                _page(state, result["page"], explicit=True)
    return state


def _page(state: _State, page: dict[str, Any], explicit: bool = False) -> None:
    state.read_pages.add(page["page_id"])
    _deliver(state, page, None)
    state.continuations = [c for c in state.continuations if c[0] != page["page_id"]]
    if explicit and page.get("next_offset") is not None:
        state.continuations.append((page["page_id"], page["next_offset"]))
    for link in page.get("links") or ():
        path = str(link.get("path", "")).rsplit("/", 1)[-1].rsplit(".", 1)[0].replace("-", " ")
        state.links.setdefault(
            link["page_id"], f"{link.get('label', '')} {path} {link.get('context', '')}".strip()
        )


def _deliver(state: _State, item: dict[str, Any], heading: str | None) -> None:
    title = str(item.get("title") or "")
    context = f"{title} {heading}" if heading else title
    state.delivered.append(Delivered(item["source_id"], context, str(item["text"])))
    state.titles[item["source_id"]] = title


def _answer(spans: list[Span], state: _State, locale: str) -> dict[str, Any]:
    """The best span and, from another source, one that is nearly as good."""
    if not spans or spans[0].score < ANSWER_THRESHOLD:
        status = "unavailable" if state.failed and not state.delivered else "unanswerable"
        return {"status": status, "answer": "", "citations": []}
    chosen = [spans[0]]
    second = next(
        (
            span
            for span in spans[1:]
            if span.source_id != spans[0].source_id
            and span.score >= max(ANSWER_THRESHOLD, spans[0].score - SECOND_MARGIN)
        ),
        None,
    )
    if second:
        chosen.append(second)
    lines = [phrase("offline_quote_intro", locale), ""]
    for span in chosen:
        lines.append(f"> {' '.join(span.text.split())}")
        lines.append(f"> — {state.titles.get(span.source_id, '')}")
        lines.append("")
    return {
        "status": "answered",
        "answer": "\n".join(lines).strip(),
        "citations": [{"source_id": span.source_id, "quote": span.text} for span in chosen],
    }
