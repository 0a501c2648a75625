"""What the tools of a research have delivered so far, read back from its messages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from providers.extractive_units import Delivered

SEARCH_TOOL = "search_knowledge"
READ_TOOL = "read_knowledge_page"
_MIN_HINT_CHARS = 3
_BULLET = re.compile(r"^[-*•·]\s+")


@dataclass(frozen=True, slots=True)
class Link:
    """A page that may be read. ``place`` is the last part of its path, as words."""

    page_id: str
    source: int
    label: str
    place: str
    context: str
    language: str | None

    @property
    def name(self) -> str:
        return f"{self.label} {self.place}".strip()

    @property
    def hint(self) -> str:
        return f"{self.name} {self.context}".strip()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page that was read in part: a section, or the continuation without one."""

    page_id: str
    title: str
    language: str | None
    section_id: str | None = None
    offset: int | None = None

    def arguments(self) -> dict[str, Any]:
        if self.section_id is not None:
            return {"page_id": self.page_id, "section_id": self.section_id}
        return {"page_id": self.page_id, "offset": self.offset}


@dataclass(slots=True)
class Delivery:
    """The state of a research as its policy sees it."""

    texts: list[Delivered] = field(default_factory=list)
    links: dict[str, Link] = field(default_factory=dict)
    parts: dict[str, list[Part]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    searched: bool = False
    failed: bool = False
    reads_left: int = 0
    attempts_left: int = 0
    sources_left: dict[int, int] = field(default_factory=dict)

    def unread_links(self) -> list[Link]:
        """Links that may still be fetched within the page attempts of their source."""
        if self.attempts_left <= 0:
            return []
        return [
            link
            for link in self.links.values()
            if link.page_id not in self.read and self.sources_left.get(link.source, 1) > 0
        ]

    def unread_parts(self) -> list[Part]:
        return [part for parts in self.parts.values() for part in parts]


def delivery_of(messages: Sequence[BaseMessage]) -> Delivery:
    """Read all tool results of the run; calls that were refused count as read."""
    state = Delivery()
    calls = {
        call["id"]: call["args"]
        for message in messages
        for call in getattr(message, "tool_calls", ())
    }
    for message in messages:
        if not isinstance(message, ToolMessage) or message.name not in (SEARCH_TOOL, READ_TOOL):
            continue
        result = json.loads(message.text)
        _budget(state, result.get("web_budget") or {})
        if message.name == SEARCH_TOOL:
            state.searched = True
            _searched(state, result)
        else:
            asked = calls.get(message.tool_call_id, {})
            state.read.add(str(asked.get("page_id", "")))
            if "page" in result:
                _page(state, result["page"], entry=False)
            else:
                state.parts.pop(str(asked.get("page_id", "")), None)
    return state


def _budget(state: Delivery, budget: dict[str, Any]) -> None:
    state.reads_left = budget.get("remaining_reads") or 0
    state.attempts_left = budget.get("remaining") or 0
    for source in budget.get("per_source") or ():
        state.sources_left[source["source"]] = source["remaining"]


def _searched(state: Delivery, result: dict[str, Any]) -> None:
    documents = result.get("documents") or {}
    state.failed |= documents.get("status") == "unavailable"
    state.failed |= bool(result.get("failed_sources"))
    for passage in documents.get("passages") or ():
        state.texts.append(
            Delivered(
                passage["source_id"],
                str(passage["text"]),
                str(passage.get("title") or ""),
                str(passage.get("heading") or ""),
            )
        )
    pages = result.get("pages")
    for page in pages if isinstance(pages, list) else ():
        _page(state, page, entry=True)


def _page(state: Delivery, page: dict[str, Any], *, entry: bool) -> None:
    page_id, text, title = page["page_id"], str(page["text"]), str(page.get("title") or "")
    language = (page.get("language") or "")[:2] or None
    links = [_link(page, link, language) for link in page.get("links") or ()]
    headings = [str(section["title"]) for section in page.get("headings") or ()]
    hints = _navigation(text, links, headings)
    if entry:
        hints |= _hints(text, links)
    state.read.add(page_id)
    state.texts.append(Delivered(page["source_id"], text, title, language=language, hints=hints))
    for link in links:
        state.links.setdefault(link.page_id, link)
    state.parts[page_id] = [] if entry else _parts(state, page, title, language)


def _parts(state: Delivery, page: dict[str, Any], title: str, language: str | None) -> list[Part]:
    """What of the page was not delivered yet: its other sections, else its continuation."""
    following = page.get("next_offset")
    if following is None:
        return []
    seen = {
        line.strip()
        for delivered in state.texts
        if delivered.source_id == page["source_id"]
        for line in delivered.text.split("\n")
    }
    parts = [
        Part(page["page_id"], f"{entry['title']} {title}", language, section_id=entry["section_id"])
        for entry in page.get("headings") or ()
        if entry["title"].strip() not in seen
    ]
    return [*parts, Part(page["page_id"], title, language, offset=following)]


def _link(page: dict[str, Any], link: dict[str, Any], language: str | None) -> Link:
    path = re.split(r"[/#]", str(link.get("path", "")).rstrip("/"))[-1]
    place = re.sub(r"\.x?html?$", "", path).replace("-", " ").replace("_", " ")
    return Link(
        page_id=link["page_id"],
        source=int(page.get("source") or 0),
        label=str(link.get("label") or ""),
        place=place,
        context=str(link.get("context") or ""),
        language=language,
    )


def _hints(text: str, links: Sequence[Link]) -> frozenset[str]:
    """The lines of an entry page that describe where its links lead."""
    labels = {link.label.strip() for link in links if len(link.label.strip()) >= _MIN_HINT_CHARS}
    lines = {line.strip() for line in text.split("\n")}
    return frozenset(line for line in lines if any(label in line for label in labels))


def _navigation(text: str, links: Sequence[Link], headings: Sequence[str]) -> frozenset[str]:
    """The lines of a page that are nothing but the name of a link or of a section."""
    names = {link.label.strip() for link in links} | {heading.strip() for heading in headings}
    lines = {line.strip() for line in text.split("\n")}
    return frozenset(line for line in lines if _BULLET.sub("", line) in names)
