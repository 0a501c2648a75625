"""The links of a page: labels, canonical targets, and the prose that says what they lead to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crawler.blocks import Block, RawLink
from crawler.limits import ParseLimits
from crawler.regions import Region
from domain.errors import PageRejected

Admit = Callable[[str], str]
"""Gives the absolute URL of a reference of the page; raises ``PageRejected``."""


@dataclass(slots=True)
class FoundLink:
    """A link to offer; ``fragment`` names an anchor of the target page."""

    label: str
    url: str
    context: str
    fragment: str = ""


def collect(
    blocks: list[Block],
    page_url: str,
    admit: Admit,
    limits: ParseLimits,
    context_chars: int,
) -> list[FoundLink]:
    """All links of ``blocks``, each target once, in the page's order.

    A malformed or refused link is left out, and so is one to the page itself. The first prose
    context that a target has anywhere on the page is the one that is offered.
    """
    found: dict[tuple[str, str], FoundLink] = {}
    targets: dict[str, str | None] = {}
    for place, block in enumerate(blocks):
        for link in block.links:
            reference, _, fragment = link.href.partition("#")
            if not reference.strip():
                continue
            if reference in targets:
                url = targets[reference]
            elif len(found) >= limits.links:
                continue
            else:
                url = targets[reference] = _admitted(admit, reference)
            if url is None or url == page_url:
                continue
            label = " ".join(link.label.split())[: limits.label_chars]
            if not any(character.isalnum() for character in label):
                continue
            key = (url, fragment.strip())
            known = found.get(key)
            if known is not None and known.context:
                continue
            context = _context(blocks, place, link, context_chars)
            if known is not None:
                if context:
                    known.label, known.context = label, context
            elif len(found) < limits.links:
                found[key] = FoundLink(label, url, context, key[1][:200])
    return list(found.values())


def _admitted(admit: Admit, reference: str) -> str | None:
    try:
        return admit(reference)
    except PageRejected:
        return None


def _context(blocks: list[Block], place: int, link: RawLink, limit: int) -> str:
    block = blocks[place]
    if block.region == Region.FURNITURE:
        return ""
    text = block.text
    if len(text) - block.linked > max(8, len(text) // 10):
        return _window(text, link.place, len(link.label), limit)
    if link.rest:
        return _window(link.rest, 0, 0, limit)
    # A label that stands alone, a card's heading for example, is described by what follows it.
    for following in blocks[place + 1 : place + 2]:
        if following.region == block.region and following.kind == "text" and not following.links:
            return _window(following.text, 0, 0, limit)
    return ""


def _window(text: str, place: int, length: int, limit: int) -> str:
    """At most ``limit`` characters of ``text`` around a place, cut between words."""
    if len(text) <= limit:
        return " ".join(text.split())
    start = max(0, min(place + length // 2 - limit // 2, len(text) - limit))
    piece = text[start : start + limit]
    if start > 0:
        piece = piece.partition(" ")[2] or piece
    if start + limit < len(text):
        piece = piece.rpartition(" ")[0] or piece
    return " ".join(piece.split())
