"""The crawler role: one member of the pool that fetches and reads public pages."""

from __future__ import annotations

from crawler.fetch import PageFetcher
from crawler.pages import FetchedPage, PageRequest


class Crawler:
    """Fetches one page a call; the fetcher and its parser processes live with the actor."""

    def __init__(self, fetcher: PageFetcher) -> None:
        self._fetcher = fetcher

    async def fetch(self, request: PageRequest) -> FetchedPage:
        return await self._fetcher.fetch(request)

    async def close(self) -> None:
        await self._fetcher.close()
