"""The crawler pool on Ray: work spread, a death contained, hostile pages and no leftovers."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import psutil
import pytest
import pytest_asyncio
from served import settings_for
from sites import Site, site

from actors.handles import ActorPort
from actors.role_handles import CrawlerHandle
from crawler.pages import FetchedPage, PageRequest
from crawler.scope import WebSource
from domain.errors import ActorUnavailable, PageFailed

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

HOST = "hr.acme.example"
PROSE = "<p>Full-time staff receive 27 days of annual leave in every calendar year. </p>"
HOSTILE = "".join(f"<p><a href=/x/{n}>Link {n}</a> <b>x</b></p>" for n in range(40_000))
PAGES = {
    **{f"/{n}": f"<main><h1>Page {n}</h1>{PROSE * 5}</main>" for n in range(200)},
    "/hostile": HOSTILE,
    "/nested": PROSE * 20 + "<div>words " * 100_000,
}


@pytest.fixture(scope="module")
def pages() -> Iterator[tuple[Site, str]]:
    with site(PAGES) as running:
        yield running


class Pool:
    """Two crawler actors and the handle that a researcher would have."""

    def __init__(self, connect_to: dict[str, str]) -> None:
        import ray

        from actors.role_host import RoleHost

        settings = settings_for(connect_to=connect_to, crawlers=2, directory=None)
        host = ray.remote(RoleHost).options(num_cpus=0, max_restarts=-1, max_concurrency=1_000)
        self.names = ("crawler_1", "crawler_2")
        self.actors = [host.remote(settings, (name,), {}) for name in self.names]
        self.ports = [
            ActorPort(name, actor) for name, actor in zip(self.names, self.actors, strict=True)
        ]
        self.handle = CrawlerHandle(list(self.ports))

    async def pids(self) -> list[int]:
        return [(await port.call("health", seconds=60))["pid"] for port in self.ports]

    async def fetch(self, path: str) -> FetchedPage:
        return await self.handle.fetch(request(path))

    async def close(self) -> None:
        import ray

        for actor in self.actors:
            await actor.close.remote()
            ray.kill(actor)


def request(path: str) -> PageRequest:
    return PageRequest(source=WebSource(f"http://{HOST}/"), url=f"http://{HOST}{path}")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def pool(ray_cluster: None, pages: tuple[Site, str]) -> AsyncIterator[Pool]:
    pool = Pool({f"{HOST}:80": pages[1]})
    await pool.pids()
    yield pool
    parsers = [child for pid in await pool.pids() for child in parsers_of(pid)]
    await pool.close()
    assert gone(parsers), "closing the actors ended their parser processes"


def parsers_of(pid: int) -> list[psutil.Process]:
    """The parser processes of an actor."""
    try:
        children = psutil.Process(pid).children(recursive=True)
        return [one for one in children if "crawler.parser_process" in " ".join(one.cmdline())]
    except psutil.NoSuchProcess:
        return []


def gone(processes: list[psutil.Process], seconds: float = 10) -> bool:
    return psutil.wait_procs(processes, timeout=seconds)[1] == []


@pytest.mark.asyncio(loop_scope="module")
async def test_work_is_spread_and_bodies_are_read_in_child_processes(pool: Pool) -> None:
    found = await asyncio.gather(*(pool.fetch(f"/{n}") for n in range(30)))
    for number, fetched in enumerate(found):
        assert fetched.page is not None
        assert fetched.page.headings[0].title == f"Page {number}"
    for pid in await pool.pids():
        assert parsers_of(pid), "each of the two read pages, in processes of its own"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", ["/hostile", "/nested"])
async def test_a_hostile_page_does_not_block_its_crawler(pool: Pool, path: str) -> None:
    port = pool.ports[0]
    await port.call("fetch", request("/1"))
    begun = time.monotonic()
    hostile = asyncio.create_task(attempt(port.call("fetch", request(path))))
    await asyncio.sleep(0.05)
    slowest = 0.0
    for number in range(10):
        started = time.monotonic()
        assert (await port.call("fetch", request(f"/{number}"))).page is not None
        slowest = max(slowest, time.monotonic() - started)
    assert slowest < 3
    assert await hostile in ("read", "timeout", "oversized")
    assert time.monotonic() - begun < 13, "5 s of parsing after 8 s of network at the very most"


@pytest.mark.asyncio(loop_scope="module")
async def test_an_error_of_a_page_crosses_the_actor_with_its_fields(pool: Pool) -> None:
    with pytest.raises(PageFailed) as failure:
        await pool.fetch("/nowhere")
    assert (failure.value.code, failure.value.fields["status"]) == ("http_error", 404)
    assert len(failure.value.fields["trail"]) == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_a_crawler_that_dies_costs_its_requests_and_nothing_else(
    pool: Pool, pages: tuple[Site, str]
) -> None:
    await asyncio.gather(*(pool.fetch(f"/{n}") for n in range(8)))
    before = await pool.pids()
    orphans = parsers_of(before[0])
    assert orphans
    pages[0].delay = 1.0
    asked = len(pages[0].requests)
    doomed = asyncio.create_task(attempt(pool.ports[0].call("fetch", request("/100"))))
    spared = asyncio.create_task(attempt(pool.ports[1].call("fetch", request("/101"))))
    await eventually(lambda: len(pages[0].requests) >= asked + 2)
    os.kill(before[0], signal.SIGKILL)
    assert await doomed == "actor_unavailable"
    assert await spared == "read", "the other crawler did not notice"
    pages[0].delay = 0.0
    assert pages[0].requests.count("/100") == 1, "nothing is sent twice"
    assert gone(orphans), "parser processes end with their actor"
    # From here on pages are read: by the other crawler at once, by the restarted one soon.
    outcomes = [await attempt(pool.fetch(f"/{n}")) for n in range(110, 116)]
    assert outcomes.count("read") >= 3
    assert set(outcomes) <= {"read", "actor_unavailable"}
    await eventually_read(pool.ports[0])
    after = await pool.pids()
    assert after[0] != before[0]
    assert after[1] == before[1]
    found = await asyncio.gather(*(pool.fetch(f"/{n}") for n in range(120, 140)))
    assert all(one.page is not None for one in found)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_cancelled_request_leaves_its_crawler_in_order(
    pool: Pool, pages: tuple[Site, str]
) -> None:
    pages[0].delay = 1.0
    asked = len(pages[0].requests)
    tasks = [asyncio.create_task(pool.fetch(f"/{n}")) for n in range(150, 154)]
    await eventually(lambda: len(pages[0].requests) > asked)
    for task in tasks:
        task.cancel()
    assert all(
        isinstance(one, asyncio.CancelledError)
        for one in await asyncio.gather(*tasks, return_exceptions=True)
    )
    pages[0].delay = 0.0
    found = await asyncio.gather(*(pool.fetch(f"/{n}") for n in range(160, 170)))
    assert all(one.page is not None for one in found)


async def attempt(call: Any) -> str:
    """How a request ended: ``read`` or a code."""
    try:
        await call
    except (PageFailed, ActorUnavailable) as failure:
        return str(failure.code)
    return "read"


async def eventually(holds: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.02)


async def eventually_read(port: ActorPort) -> None:
    async with asyncio.timeout(60):
        while await attempt(port.call("fetch", request("/1"))) != "read":
            await asyncio.sleep(0.2)
