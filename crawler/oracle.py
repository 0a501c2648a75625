"""trafilatura, asked one question only: which text of a page is main content.

Its links are resolved wrongly and its ids are lost, so nothing but the text of its result is used,
and only to find our own blocks again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import trafilatura
from lxml import html

from crawler.blocks import Block, comparable
from crawler.markup import HEADINGS

_SEARCHED_CHARS = 60_000_000
_SOLID = 40
_LONG = 60
_PIECE = 20
_PIECES = 40
_NEAR = 150
_FAR = 3_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What the oracle gave: its paragraphs, and all of their text without white space."""

    paragraphs: list[str]
    text: str


def ask(root: html.HtmlElement) -> Answer | None:
    """The main content, discussion included; ``None`` when trafilatura has none or fails."""
    _forget_section_ids(root)
    _drop_scripts(root)
    try:
        found = trafilatura.bare_extraction(root, with_metadata=False)
    except Exception:  # noqa: BLE001 - it fails in many ways on hostile trees; our rules decide
        return None
    if found is None or isinstance(found, dict):
        return None
    bodies = [body for body in (found.body, found.commentsbody) if body is not None]
    paragraphs = ["".join(map(str, part.itertext())) for body in bodies for part in body]
    text = comparable("".join(str(piece) for body in bodies for piece in body.itertext()))
    return Answer(paragraphs, text) if text else None


def _drop_scripts(root: html.HtmlElement) -> None:
    """Scripts are copied several times there, and only embedded data is ever read."""
    for script in list(root.iter("script")):
        if script.get("type") != "application/ld+json":
            script.drop_tree()


def _forget_section_ids(root: html.HtmlElement) -> None:
    """A section's id is often made of its title; the oracle would read "related" or "author" in
    it as a name of furniture and drop the section. Our own walk has the ids by then."""
    for element in root.iter("section", "div"):
        if "id" in element.attrib and any(child.tag in HEADINGS for child in islice(element, 2)):
            del element.attrib["id"]


def mark(blocks: list[Block], wanted: list[str], text: str) -> int:
    """Mark the blocks whose comparable text (``wanted``) is found in ``text``; returns how many
    characters of it they cover.

    Both are in the page's order for the most part. Long prose is found first, wherever it is,
    because the oracle appends what it recovers late; a short block or a menu's entry counts only
    between the prose that surrounds it.
    """
    finder = _Finder(text)
    spans: list[tuple[int, int] | None] = [None] * len(blocks)
    for number, block in enumerate(blocks):
        if len(wanted[number]) >= _SOLID and block.linked * 2 < len(block.text):
            spans[number] = finder.find(wanted[number])
    following = _following_starts(spans, len(text))
    place = 0
    for number in range(len(blocks)):
        span = spans[number]
        if span is None and wanted[number]:
            span = spans[number] = finder.between(wanted[number], place, following[number])
        if span is not None and span[0] >= place:
            place = span[1]
    covered = 0
    for block, key, span in zip(blocks, wanted, spans, strict=True):
        block.main = span is not None or (len(key) >= _LONG and finder.share(key) > 0.5)
        covered += len(key) if span is not None else 0
    return covered


def _following_starts(spans: list[tuple[int, int] | None], end: int) -> list[int]:
    """For each block, where the next found one starts."""
    starts = [end] * len(spans)
    for number in range(len(spans) - 1, -1, -1):
        starts[number] = end
        span = spans[number]
        if span is not None:
            end = span[0]
    return starts


class _Finder:
    """Finds blocks in the oracle's text, each place of it once, with bounded work."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._taken = bytearray(len(text))
        self._place = 0
        self._budget = _SEARCHED_CHARS

    def find(self, wanted: str) -> tuple[int, int] | None:
        """Where the block is: behind the last one found, near it, or anywhere."""
        if self._text.startswith(wanted, self._place):
            self._place += len(wanted)
            return self._take(self._place - len(wanted), wanted)
        found = self._search(wanted, self._place, self._place + _FAR + len(wanted))
        if found >= 0:
            self._place = found + len(wanted)
            return self._take(found, wanted)
        return self._take_free(self._search(wanted, 0, len(self._text)), wanted)

    def between(self, wanted: str, start: int, end: int) -> tuple[int, int] | None:
        """Where the block is between two others, not far from the first."""
        end = min(end if end >= start else len(self._text), start + _NEAR + len(wanted))
        return self._take_free(self._search(wanted, start, end), wanted)

    def share(self, wanted: str) -> float:
        """Which share of a block's pieces the text has: the oracle drops parts of some blocks."""
        starts = range(0, len(wanted) - _PIECE + 1, _PIECE)
        step = max(1, len(starts) // _PIECES)
        tried = hits = 0
        for start in starts[::step]:
            tried += 1
            found = self._search(wanted[start : start + _PIECE], 0, len(self._text))
            if found >= 0 and not self._is_taken(found, _PIECE):
                hits += 1
        return hits / max(1, tried)

    def _take_free(self, found: int, wanted: str) -> tuple[int, int] | None:
        if found < 0 or self._is_taken(found, len(wanted)):
            return None
        return self._take(found, wanted)

    def _take(self, found: int, wanted: str) -> tuple[int, int]:
        self._taken[found : found + len(wanted)] = b"\x01" * len(wanted)
        return found, found + len(wanted)

    def _is_taken(self, found: int, length: int) -> bool:
        return self._taken.find(1, found, found + length) >= 0

    def _search(self, wanted: str, start: int, end: int) -> int:
        self._budget -= max(0, min(end, len(self._text)) - start)
        return self._text.find(wanted, start, end) if self._budget > 0 else -1
