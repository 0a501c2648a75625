"""A page from a real server through crawler and cache: conditional, shared, and kept apart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from sites import ConditionalSite

from actors.crawler import Crawler
from actors.handles import LocalPort
from actors.page_source import PageSource
from actors.role_handles import CrawlerHandle, PageCacheHandle
from config.tenants import WebConfig, WebSourceConfig
from crawler.cache import PageCache
from crawler.fetch import PageFetcher
from crawler.pages import PageRequest
from crawler.parsers import ThreadParsers
from crawler.scope import WebSource
from domain.errors import ActorUnavailable, PageFailed

pytestmark = pytest.mark.integration

HOST = "hr.acme.example"
URL = f"http://{HOST}/hr/"
PROSE = "Full-time staff receive {} days of annual leave in every calendar year. "


def body(days: int) -> str:
    return f"<html><title>Leave</title><main><h1>Leave</h1><p>{PROSE.format(days)}</p></main>"


class World:
    """The real fetcher and the real cache around one site; time is the test's."""

    def __init__(self, site: ConditionalSite) -> None:
        self.site = site
        self.now = 1000.0
        self.fetcher = PageFetcher(connect_to={f"{HOST}:80": site.address}, parsers=ThreadParsers())
        self.cache = PageCache(clock=lambda: self.now)

    def source(self, tenant: str = "a", cache: Any = None, **web: Any) -> PageSource:
        config = WebConfig(
            enabled=True,
            sources=(WebSourceConfig(url=URL),),
            **{"refresh_interval_seconds": 60, **web},
        )
        cached = PageCacheHandle(cache or LocalPort("page_cache", self.cache))
        crawlers = CrawlerHandle([LocalPort("crawler_1", Crawler(self.fetcher))])
        return PageSource(tenant, config, cached, crawlers)

    async def read(self, source: PageSource | None = None, url: str = URL) -> str:
        page = await (source or self.source()).fetch(request(url))
        assert page.page is not None
        return page.page.text


def request(url: str = URL) -> PageRequest:
    return PageRequest(source=WebSource(URL), url=url)


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    async with ConditionalSite(body(27)) as site:
        world = World(site)
        yield world
        await world.fetcher.close()


@pytest.mark.parametrize(
    ("etag", "modified", "sent"),
    [
        ('W/"abc"', None, 'If-None-Match: W/"abc"'),
        (None, "Wed, 21 Oct 2025 07:28:00 GMT", "If-Modified-Since: Wed, 21 Oct 2025 07:28:00 GMT"),
        ('"x"', "Wed, 21 Oct 2025 07:28:00 GMT", 'If-None-Match: "x"'),
    ],
    ids=["etag", "last-modified", "both"],
)
async def test_a_304_renews(world: World, etag: str, modified: str, sent: str) -> None:
    world.site.etag, world.site.modified = etag, modified
    assert "27 days" in await world.read()
    world.now += 59
    assert "27 days" in await world.read()
    assert len(world.site.heads) == 1, "young enough to serve"
    world.now += 1
    assert "27 days" in await world.read()
    assert (len(world.site.heads), world.site.not_modified) == (2, 1)
    assert sent in world.site.heads[1].split("\r\n")
    assert ("If-Modified-Since" in world.site.heads[1]) == (modified is not None)
    world.now += 59
    await world.read()
    assert len(world.site.heads) == 2, "the 304 renewed it for a whole interval"
    world.now += 1
    await world.read()
    assert world.site.not_modified == 2, "and its validators are still known"


async def test_a_change_replaces(world: World) -> None:
    await world.read()
    world.site.body, world.site.etag = body(30), '"2"'
    assert "27 days" in await world.read()
    world.now += 60
    assert "30 days" in await world.read()
    world.now += 60
    assert "30 days" in await world.read()
    assert 'If-None-Match: "2"' in world.site.heads[-1]


async def test_a_page_without_validators_is_fetched_again(world: World) -> None:
    world.site.etag = None
    await world.read()
    world.now += 60
    await world.read()
    assert "If-" not in world.site.heads[1]


async def test_a_failed_refresh_serves_nothing_and_forgets(world: World) -> None:
    await world.read()
    world.now += 60
    world.site.status = 503
    with pytest.raises(PageFailed) as failure:
        await world.read()
    assert (failure.value.code, failure.value.status) == ("http_error", 503)
    assert failure.value.fields["trail"], "the run learns which URLs failed"
    world.site.status = 200
    assert "27 days" in await world.read()
    assert "If-" not in world.site.heads[-1], "nothing of the old page is left"


async def test_simultaneous_requests_cause_one_fetch(world: World) -> None:
    world.site.gate.clear()
    sources = [world.source() for _ in range(8)]
    readers = [asyncio.create_task(world.read(source)) for source in sources]
    await _until(lambda: len(world.site.heads) == 1)
    await asyncio.sleep(0.05)
    world.site.gate.set()
    assert all("27 days" in text for text in await asyncio.gather(*readers))
    assert len(world.site.heads) == 1


async def test_simultaneous_requests_share_a_failure(world: World) -> None:
    world.site.gate.clear()
    world.site.status = 500
    readers = [asyncio.create_task(world.read()) for _ in range(3)]
    await _until(lambda: len(world.site.heads) == 1)
    await asyncio.sleep(0.05)
    world.site.gate.set()
    found = await asyncio.gather(*readers, return_exceptions=True)
    assert [(type(one), getattr(one, "code", "")) for one in found] == [
        (PageFailed, "http_error")
    ] * 3
    assert len(world.site.heads) == 1


async def test_a_cancelled_leader_does_not_fail_its_followers(world: World) -> None:
    world.site.gate.clear()
    leader = asyncio.create_task(world.read())
    await _until(lambda: len(world.site.heads) == 1)
    followers = [asyncio.create_task(world.read()) for _ in range(3)]
    await asyncio.sleep(0.02)
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    await _until(lambda: len(world.site.heads) == 2)
    world.site.gate.set()
    assert all("27 days" in text for text in await asyncio.gather(*followers))
    assert len(world.site.heads) == 2, "one follower led, the others waited for it"


class SlowPort(LocalPort):
    """A cache that takes its time to hear how a fetch ended."""

    async def call(self, method: str, *args: Any, seconds: float | None = None) -> Any:
        if method in ("complete", "fail", "abandon"):
            await asyncio.sleep(0.1)
        return await super().call(method, *args, seconds=seconds)


@pytest.mark.parametrize("status", [200, 500])
async def test_a_leader_cancelled_while_it_reports_still_reports(world: World, status: int) -> None:
    slow = SlowPort("page_cache", world.cache)
    world.site.status = status
    leader = asyncio.create_task(world.source(cache=slow).fetch(request()))
    await _until(lambda: len(world.site.heads) == 1)
    follower = asyncio.create_task(world.read())
    await asyncio.sleep(0.06)
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    async with asyncio.timeout(1):
        if status == 200:
            assert "27 days" in await follower
        else:
            with pytest.raises(PageFailed):
                await follower
    assert len(world.site.heads) == 1


class DyingPort(LocalPort):
    """A cache whose process ends while a page is fetched."""

    async def call(self, method: str, *args: Any, seconds: float | None = None) -> Any:
        if method in ("complete", "fail"):
            raise ActorUnavailable("page_cache", "its process ended")
        return await super().call(method, *args, seconds=seconds)


async def test_a_page_is_served_although_the_cache_died_meanwhile(world: World) -> None:
    dying = DyingPort("page_cache", world.cache)
    assert "27 days" in await world.read(world.source(cache=dying))
    world.site.status = 404
    with pytest.raises(PageFailed) as failure:
        await world.read(world.source("b", cache=dying))
    assert failure.value.code == "http_error"


async def test_tenants_and_configurations_never_share_an_entry(world: World) -> None:
    assert "27 days" in await world.read(world.source("a"))
    world.site.body, world.site.etag = body(30), '"2"'
    assert "30 days" in await world.read(world.source("b"))
    assert "30 days" in await world.read(world.source("a", max_pages=7))
    assert "27 days" in await world.read(world.source("a"))
    assert len(world.site.heads) == 3
    assert not any("If-" in head for head in world.site.heads)


async def test_a_tenant_keeps_its_128_latest_pages(world: World) -> None:
    source, other = world.source("a"), world.source("b")
    await world.read(other)
    for number in range(128):
        await world.read(source, f"{URL}{number}")
    assert world.cache.count("a") == 128
    assert len(world.site.heads) == 129
    await world.read(source, f"{URL}0")
    assert len(world.site.heads) == 129, "all 128 are there"
    await world.read(source, f"{URL}128")
    await world.read(source, f"{URL}0")
    assert len(world.site.heads) == 130, "the one used lately stayed"
    await world.read(source, f"{URL}1")
    assert len(world.site.heads) == 131, "the one not used for longest went"
    await world.read(other)
    assert len(world.site.heads) == 131, "another tenant's pages are not touched"
    assert (world.cache.count("a"), world.cache.count("b")) == (128, 1)


async def _until(holds: Any) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)
