"""Fixtures of the crawler's tests: a certificate authority, a site, and fetchers that reach it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from crawler.fetch import PageFetcher
from crawler.parsers import ThreadParsers

# The tests' own support module is found in whatever mode pytest imports them.
sys.path.insert(0, str(Path(__file__).parent))

from crawler_site import LIMITS, Authority, Site


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest_asyncio.fixture
async def site(authority: Authority) -> AsyncIterator[Site]:
    site = Site(authority)
    await site.start()
    yield site
    await site.stop()


@pytest_asyncio.fixture
async def make_fetcher(site: Site) -> AsyncIterator[Callable[..., PageFetcher]]:
    """Builds fetchers that reach only the site, and closes them."""
    made: list[PageFetcher] = []

    def build(**changes: object) -> PageFetcher:
        fetcher = PageFetcher(
            limits=replace(LIMITS, **changes),  # type: ignore[arg-type]
            resolver=site.resolver,
            connector=site.connector,
            parsers=ThreadParsers(),
            ssl_context=site.authority.trusting,
        )
        made.append(fetcher)
        return fetcher

    yield build
    for fetcher in made:
        await fetcher.close()
