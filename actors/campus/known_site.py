"""What one turn knows of the tenant's pages: those that it has, and the links that lead on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from urllib.parse import urldefrag, urljoin

from actors.campus.query_cache import CachedPage
from crawler.session import PageWindow
from crawler.windows import OfferedLink

_BULLET = re.compile(r"\s*[-*•]\s+")


class KnownSite:
    """Lives with the turn, so that no search of it visits a page that an earlier one visited.

    ``pages`` are by their addresses. ``exploring`` is held while a search reads pages: what one
    search has read is then known to the next one.
    """

    def __init__(self) -> None:
        self.pages: dict[str, CachedPage] = {}
        self.exploring = asyncio.Lock()
        self._links: dict[str, OfferedLink] = {}
        self._visited: set[str] = set()
        self._shown: set[str] = set()

    def read(self, window: PageWindow, *, entry: bool = False) -> None:
        """Take up a page, and the links that it offers. What an ``entry`` page says about where its
        links lead is a hint, and no evidence."""
        page = CachedPage.of(window)
        if entry:
            page = page.model_copy(update={"text": without_hints(window)})
        self.know([page])
        for link in window.links:
            self.offer(window.url, link)

    def know(self, pages: Iterable[CachedPage]) -> None:
        """Take up pages that need no visit any more."""
        for page in pages:
            self.pages.setdefault(page.url, page)
            self._visited.add(page.url)

    def offer(self, page_url: str, link: OfferedLink) -> None:
        """Take up a link of a page; a section of a page is a link of its own."""
        self._links.setdefault(urljoin(page_url, link.path), link)

    def visiting(self, address: str) -> None:
        """Whether the visit succeeds or not, there is none to this page again."""
        self._visited.add(urldefrag(address).url)

    def unvisited(self) -> dict[str, OfferedLink]:
        """The links that lead to pages without a visit, by address."""
        return {
            address: link
            for address, link in self._links.items()
            if urldefrag(address).url not in self._visited
        }

    def unshown(self, pages: Iterable[CachedPage], limit: int) -> list[CachedPage]:
        """The first ``limit`` of ``pages`` that the turn's model has not seen; now it has."""
        fresh = [p for p in pages if p.url not in self._shown and p.text.strip()][:limit]
        self._shown.update(page.url for page in fresh)
        return fresh


def without_hints(window: PageWindow) -> str:
    """The page's text without the list items that begin with the name of a link."""
    labels = tuple(link.label.strip() for link in window.links if link.label.strip())
    return "\n".join(
        line
        for line in window.text.split("\n")
        if not _BULLET.sub("", line, 1).startswith(labels) or not _BULLET.match(line)
    )
