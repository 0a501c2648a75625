"""Which of a page's links and headings a window offers, when there are more than it may.

A window is read by a model: what a page with two thousand links says about itself must not crowd
out what it says. The best are kept, in the page's order, and the rest is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from crawler.extract import Heading, Link

_Entry = TypeVar("_Entry")


def offered_links(links: Sequence[Link], text: str, limit: int) -> list[Link]:
    """At most ``limit`` links: first those that the window's ``text`` itself contains with prose
    around them, then those with prose elsewhere on the page, then those of menus."""

    def rank(link: Link) -> int:
        if not link.context:
            return 2
        return 0 if link.label in text else 1

    return _best(links, rank, limit)


def offered_headings(
    headings: Sequence[Heading], start: int, end: int, limit: int
) -> list[Heading]:
    """At most ``limit`` headings: first those of the window from ``start`` to ``end``, then the
    highest of the page."""

    def rank(heading: Heading) -> int:
        return 0 if start <= heading.offset < end else heading.level

    return _best(headings, rank, limit)


def _best(entries: Sequence[_Entry], rank: Callable[[_Entry], int], limit: int) -> list[_Entry]:
    if len(entries) <= limit:
        return list(entries)
    places = sorted(range(len(entries)), key=lambda place: rank(entries[place]))[:limit]
    return [entries[place] for place in sorted(places)]
