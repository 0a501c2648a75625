"""Blocks: what a reader of a page sees as one piece of text.

A block is a paragraph, a heading, a list item, a table row, a piece of code, a caption or a
definition's term. :mod:`crawler.walk` finds them, :mod:`crawler.main_content` chooses among them,
:mod:`crawler.rendering` writes the text and :mod:`crawler.linking` offers the links.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from crawler.regions import Region

BlockKind = Literal["text", "heading", "item", "row", "code", "term", "caption"]

_SPACE = re.compile(r"[ \t\n\r\f\u00a0\u2028\u2029]+")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\u200e\u200f]")
_UNCOMPARED = re.compile(
    "[\\s|\u00ad\u0600-\u0605\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ue000-\uf8ff]+"
)


def squeeze(text: str) -> str:
    """Every run of white space as one space, invisible characters gone; ends are kept."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    return _SPACE.sub(" ", text)


def comparable(text: str) -> str:
    """Text without white space and whatever extractors drop, for finding it in their output."""
    return _UNCOMPARED.sub("", text)


@dataclass(slots=True)
class RawLink:
    """A link as found: its target, its label, where the label begins in its block's text, and
    the text that the same anchor carries besides its label (a card's description)."""

    href: str
    place: int = 0
    label: str = ""
    rest: str = ""


@dataclass(slots=True)
class Block:
    """One block, in the page's order.

    ``container`` is the number of the nearest enclosing block element; ``linked`` counts the
    characters that are labels of links; ``ids`` are the anchors that lead here.
    """

    kind: BlockKind
    text: str
    region: Region
    inside_main: bool
    container: int
    tag: str
    level: int = 0
    indent: int = 0
    ids: tuple[str, ...] = ()
    links: list[RawLink] = field(default_factory=list)
    linked: int = 0
    panel: bool = False
    """It stands in a part that a reader opens, or beside the text."""
    main: bool = False
