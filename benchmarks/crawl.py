"""Pages per second that researches get through the crawler pool, cold and cached.

    uv run python benchmarks/crawl.py [--ray] [--crawlers 2] [--seconds 5] [--json]

A site on loopback, in a process of its own, serves generated pages of about 20 KB under eight host
names. A research is what the product's is: it discovers its entry page and reads four linked ones.
``cold`` gives each research a tenant of its own, so that nothing is shared; ``cached`` lets all of
them belong to one tenant whose pages were read before. The pool is that of a cell: the crawlers
with their parser processes, and one page cache; with ``--ray`` each of them is an actor.

Every row is also given as a ratio to reading the same pages in this process, one after the other,
without any network (``extract``). Figures are of one run on one machine: compare rows of one run,
never seconds of two. On a busy machine more CPUs than the pool has processes are not to be had:
pages per second then say how busy it was, and the ratios still say what the pool costs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from actors.crawler import Crawler  # noqa: E402
from actors.handles import ActorPort, LocalPort, Port  # noqa: E402
from actors.page_source import PageSource  # noqa: E402
from actors.role_handles import CrawlerHandle, PageCacheHandle  # noqa: E402
from actors.roles import PAGE_CACHE  # noqa: E402
from config.settings import Settings  # noqa: E402
from config.tenants import WebConfig, WebSourceConfig  # noqa: E402
from crawler.cache import PageCache  # noqa: E402
from crawler.extract import extract  # noqa: E402
from crawler.fetch import PageFetcher  # noqa: E402
from crawler.session import BrowsingSession  # noqa: E402

HOSTS = [f"h{number}.bench.example" for number in range(8)]
PAGES = 24
READS = 4
AT_A_TIME = (1, 32)


def page(number: int) -> bytes:
    """A page as a handbook has them: navigation, headings, prose, a list and a table."""
    chance = random.Random(number)
    words = ("leave", "contract", "office", "travel", "request", "manager", "notice", "training")

    def prose() -> str:
        return " ".join(chance.choice(words) for _ in range(60)).capitalize() + "."

    links = "".join(f"<li><a href='/p{n}.html'>Guide {n}</a></li>" for n in range(PAGES))
    sections = "".join(
        f"<section id=s{n}><h2>Section {n}</h2><p>{prose()}</p><p>See <a href='/p{n}.html'>guide "
        f"{n}</a>. {prose()}</p><ul><li>{prose()}</li><li>{prose()}</li></ul>"
        f"<table><tr><th>Year</th><th>Days</th></tr><tr><td>{n}</td><td>27</td></tr></table>"
        "</section>"
        for n in range(10)
    )
    text = (
        f"<!DOCTYPE html><html lang=en><title>Guide {number}</title><body><nav><ul>{links}</ul>"
        f"</nav><main><h1>Guide {number}</h1>{sections}</main><footer>Imprint</footer></body>"
    )
    return text.encode()


@asynccontextmanager
async def local_pool(crawlers: int, connect_to: dict[str, str]) -> AsyncIterator[list[Port]]:
    """The crawlers and the cache in this process; pages are read in parser processes."""
    fetchers = [PageFetcher(connect_to=connect_to, pool_size=crawlers) for _ in range(crawlers)]
    ports: list[Port] = [
        LocalPort(f"crawler_{number}", Crawler(fetcher))
        for number, fetcher in enumerate(fetchers, 1)
    ]
    try:
        yield [LocalPort(PAGE_CACHE, PageCache()), *ports]
    finally:
        for fetcher in fetchers:
            await fetcher.close()


@asynccontextmanager
async def ray_pool(crawlers: int, connect_to: dict[str, str]) -> AsyncIterator[list[Port]]:
    """The same as actors."""
    import ray

    from actors.role_host import RoleHost

    settings = Settings.load(connect_to=connect_to, crawlers=crawlers)
    host = ray.remote(RoleHost).options(num_cpus=0, max_concurrency=1_000)
    names = [PAGE_CACHE, *(f"crawler_{number}" for number in range(1, crawlers + 1))]
    actors = [host.remote(settings, (name,), {}) for name in names]
    ports: list[Port] = [ActorPort(name, one) for name, one in zip(names, actors, strict=True)]
    for port in ports:
        await port.call("health", seconds=60)
    try:
        yield ports
    finally:
        for actor in actors:
            await actor.close.remote()
            ray.kill(actor)


class Load:
    """Researches over one pool."""

    def __init__(self, ports: list[Port], seconds: float) -> None:
        self._cache = PageCacheHandle(ports[0])
        self._crawlers = CrawlerHandle(ports[1:])
        self._seconds = seconds
        self._numbers = itertools.count()

    async def level(self, at_a_time: int, cached: bool) -> float:
        """Pages per second; those of unfinished researches count for the time they took."""
        end = time.monotonic() + self._seconds
        begun, pages = time.monotonic(), 0

        async def researches() -> None:
            nonlocal pages
            while time.monotonic() < end:
                number = next(self._numbers)
                await self.research(number, "bench" if cached else f"tenant-{number}")
                pages += 1 + READS

        await asyncio.gather(*(researches() for _ in range(at_a_time)))
        return pages / (time.monotonic() - begun)

    async def research(self, number: int, tenant: str) -> None:
        source = WebSourceConfig(url=f"http://{HOSTS[number % len(HOSTS)]}/")
        web = WebConfig(
            enabled=True,
            sources=(source,),
            refresh_interval_seconds=3600,
            max_pages=READS + 1,
            max_pages_per_source=READS + 1,
        )
        pages = PageSource(tenant, web, self._cache, self._crawlers)
        session = BrowsingSession(web, pages.fetch)
        (outcome,) = await session.discover(18)
        assert outcome.window is not None, outcome.code
        wanted = random.Random(number % 16).sample(outcome.window.links[:PAGES], READS)
        for link in wanted:
            await session.read(link.page_id)

    async def warm(self) -> None:
        """Start every parser process, and fill the one tenant's cache."""
        await asyncio.gather(*(self.research(number, "bench") for number in range(32)))
        await asyncio.gather(*(self.research(number, "bench") for number in range(32)))


def alone(seconds: float) -> float:
    """Pages per second of reading alone, in this process."""
    bodies = [page(number) for number in range(PAGES)]
    end, begun, pages = time.monotonic() + seconds, time.monotonic(), 0
    while time.monotonic() < end:
        extract(bodies[pages % PAGES], "text/html; charset=utf-8", "http://bench.example/")
        pages += 1
    return pages / (time.monotonic() - begun)


async def measure(arguments: Any, address: str) -> dict[str, float]:
    connect_to = {f"{host}:80": address for host in HOSTS}
    pool = ray_pool if arguments.ray else local_pool
    figures = {}
    async with pool(arguments.crawlers, connect_to) as ports:
        load = Load(ports, arguments.seconds)
        await load.warm()
        for cached, at_a_time in itertools.product((False, True), AT_A_TIME):
            name = f"{'cached' if cached else 'cold'}, {at_a_time} at a time"
            figures[name] = await load.level(at_a_time, cached)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ray", action="store_true", help="crawlers and cache as Ray actors")
    parser.add_argument("--crawlers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each row")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    from serve.local_ray import local_ray, prepare_environment

    prepare_environment()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(PAGES):
            Path(folder, f"p{number}.html").write_bytes(page(number))
        Path(folder, "index.html").write_bytes(page(0))
        command = [sys.executable, str(ROOT / "tests/support/sites.py"), folder]
        site = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert site.stdout is not None
            address = site.stdout.readline().strip()
            with local_ray(dashboard=False, cpus=2) if arguments.ray else nullcontext():
                figures = {"extract": alone(arguments.seconds)}
                figures |= asyncio.run(measure(arguments, address))
        finally:
            site.terminate()
            site.wait()
    ratios = {name: figure / figures["extract"] for name, figure in figures.items()}
    if arguments.json:
        print(json.dumps({"pages_per_second": figures, "ratios": ratios}))
        return
    print(f"{'':24}{'pages/s':>10}{'to extract':>12}")
    for name, figure in figures.items():
        print(f"{name:24}{figure:10.1f}{ratios[name]:12.2f}")


if __name__ == "__main__":
    main()
