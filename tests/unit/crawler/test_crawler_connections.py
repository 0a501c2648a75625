"""At most two connections to one host, idle ones included, whatever is asked for at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from crawler_site import HOST, LIMITS, Site, page, redirect

from crawler.connections import HostConnections
from crawler.fetch import PageFetcher
from crawler.pages import PageRequest
from crawler.parsers import ThreadParsers
from crawler.pool import CrawlerPool, connections_share, members_of
from crawler.scope import WebSource
from domain.errors import ActorUnavailable, PageFailed

MakeFetcher = Callable[..., PageFetcher]
HTTP, HTTPS = f"http://{HOST}/policies/", f"https://{HOST}/policies/"


class Counted:
    """Counts, at the site's ports, the connections that are open whenever one is accepted."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.most = 0
        self.accepted = 0
        for path in range(40):
            site.routes[f"/policies/{path}"] = self.reply
        site.routes["http:/policies/up"] = redirect(f"{HTTPS}0")

    async def reply(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        """Serve this connection to its end, slowly."""
        self.accepted += 1
        while True:
            self.most = max(self.most, self.open())
            await asyncio.sleep(0.01)
            writer.write(page())
            await writer.drain()
            await reader.readuntil(b"\r\n\r\n")

    def open(self) -> int:
        """Connections of the kernel's that neither side has closed, seen from the server."""
        ports = set(self.site._ports.values())
        return sum(
            1
            for one in psutil.Process().net_connections("tcp")
            if one.status == psutil.CONN_ESTABLISHED and one.laddr.port in ports
        )


async def read(fetcher: PageFetcher, url: str) -> str:
    secure = url.startswith("https")
    source = WebSource(HTTPS if secure else HTTP)
    fetched = await fetcher.fetch(PageRequest(source=source, url=url, secure=secure))
    return fetched.url


async def test_two_connections_over_http_and_https_together(
    site: Site, make_fetcher: MakeFetcher
) -> None:
    counted, fetcher = Counted(site), make_fetcher()
    urls = [f"{HTTP if n % 2 else HTTPS}{n}" for n in range(24)]
    assert await asyncio.gather(*(read(fetcher, url) for url in urls)) == urls
    assert counted.most == 2


@pytest.mark.parametrize("first", [HTTP, HTTPS])
async def test_idle_connections_make_room_for_the_other_scheme(
    site: Site, make_fetcher: MakeFetcher, first: str
) -> None:
    counted, fetcher = Counted(site), make_fetcher()
    await asyncio.gather(read(fetcher, f"{first}0"), read(fetcher, f"{first}1"))
    assert counted.open() == 2, "both are kept for what comes"
    other = HTTPS if first == HTTP else HTTP
    await asyncio.gather(read(fetcher, f"{other}2"), read(fetcher, f"{other}3"))
    assert counted.most == 2
    assert counted.accepted == 4


async def test_an_upgrade_in_a_redirect_stays_within_the_limit(
    site: Site, make_fetcher: MakeFetcher
) -> None:
    counted, fetcher = Counted(site), make_fetcher()
    assert (
        await asyncio.gather(*(read(fetcher, f"{HTTP}up") for _ in range(6))) == [f"{HTTPS}0"] * 6
    )
    assert counted.most <= 2


async def test_idle_connections_are_used_again(site: Site, make_fetcher: MakeFetcher) -> None:
    counted, fetcher = Counted(site), make_fetcher()
    for number in range(5):
        await read(fetcher, f"{HTTPS}{number}")
    assert counted.accepted == 1


async def test_cancelled_pages_give_their_connections_back(
    site: Site, make_fetcher: MakeFetcher
) -> None:
    counted, fetcher = Counted(site), make_fetcher()
    for _ in range(4):
        tasks = [asyncio.create_task(read(fetcher, f"{HTTP}{n}")) for n in range(6)]
        await asyncio.sleep(0.008)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert await read(fetcher, f"{HTTP}1") == f"{HTTP}1"
    assert counted.most <= 2


async def test_waiting_for_a_connection_is_the_pages_own_time(
    site: Site, make_fetcher: MakeFetcher
) -> None:
    async def silent(*_: Any) -> None:
        await asyncio.sleep(60)

    site.routes["/policies/s"] = silent
    fetcher = make_fetcher(seconds=0.3)
    tasks = [asyncio.create_task(read(fetcher, f"{HTTP}s")) for _ in range(2)]
    await asyncio.sleep(0.15)
    site.routes["/policies/1"] = page()
    begun = asyncio.get_running_loop().time()
    assert await read(fetcher, f"{HTTP}1") == f"{HTTP}1", "after the silent ones gave up"
    assert asyncio.get_running_loop().time() - begun < 0.3
    for task in tasks:
        with pytest.raises(PageFailed):
            await task


async def test_two_crawlers_share_the_connections_of_a_host(site: Site) -> None:
    """What a pool of two does: each opens one connection, together they keep to two."""
    counted = Counted(site)
    fetchers = [
        PageFetcher(
            limits=LIMITS,
            pool_size=2,
            resolver=site.resolver,
            connector=site.connector,
            parsers=ThreadParsers(),
            ssl_context=site.authority.trusting,
        )
        for _ in range(2)
    ]
    urls = [f"{HTTP if n % 3 else HTTPS}{n}" for n in range(24)]
    await asyncio.gather(*(read(fetchers[n % 2], url) for n, url in enumerate(urls)))
    assert counted.most == 2
    for fetcher in fetchers:
        await fetcher.close()
    await asyncio.sleep(0.05)
    assert counted.open() == 0


async def test_idle_hosts_are_forgotten(site: Site) -> None:
    now = [0.0]
    connections = HostConnections(NoNetwork(), 2, clock=lambda: now[0])  # type: ignore[arg-type]
    for number in range(100):
        async with connections.to(f"h{number}"):
            pass
    assert len(connections._hosts) <= 34
    now[0] = 6.0
    async with connections.to("other"), connections.to("h99"):
        assert set(connections._hosts) == {"other", "h99"}


class NoNetwork:
    """Nothing is dialled."""


def test_a_host_has_as_many_crawlers_as_connections_and_always_the_same() -> None:
    for members in (1, 2, 3, 8):
        for number in range(50):
            chosen = members_of(f"h{number}.example", members)
            assert len(set(chosen)) == min(2, members)
            assert chosen == members_of(f"h{number}.example", members)
            assert len(chosen) * connections_share(members) <= 2
    assert (connections_share(1), connections_share(2), connections_share(5)) == (2, 1, 1)
    # All of a pool's members have hosts, and one more member moves few of them.
    sets = [members_of(f"h{number}.example", 4) for number in range(200)]
    assert {member for chosen in sets for member in chosen} == {0, 1, 2, 3}
    moved = sum(
        set(members_of(f"h{number}.example", 5)) != set(sets[number]) for number in range(200)
    )
    assert moved < 120


def test_the_least_busy_crawler_of_a_host_is_taken() -> None:
    pool = CrawlerPool(5)
    allowed = set(members_of(HOST, 5))
    with pool.member_for(HTTP) as first, pool.member_for(HTTPS) as second:
        assert {first, second} == allowed
        with pool.member_for(HTTP) as third:
            assert third in allowed
    with pool.member_for(HTTP) as again:
        assert again in allowed


def test_a_crawler_that_died_rests_while_another_can_do_its_work() -> None:
    now = [0.0]
    pool = CrawlerPool(2, clock=lambda: now[0])
    with pytest.raises(ActorUnavailable), pool.member_for(HTTP) as dead:
        raise ActorUnavailable(f"crawler_{dead}", "its process ended")
    for _ in range(3):
        with pool.member_for(HTTP) as other, pool.member_for(HTTP) as also:
            assert dead not in (other, also)
    with pytest.raises(PageFailed), pool.member_for(HTTP) as other:
        raise PageFailed("http_error")
    now[0] = 5.1
    with pool.member_for(HTTP) as one, pool.member_for(HTTP) as two:
        assert {one, two} == {dead, other}, "a page's failure is no reason to rest"
    alone = CrawlerPool(1, clock=lambda: now[0])
    with pytest.raises(ActorUnavailable), alone.member_for(HTTP):
        raise ActorUnavailable("crawler_1", "its process ended")
    with alone.member_for(HTTP) as only:
        assert only == 0
