"""Parser processes: hostile pages end, processes are replaced, and none is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from crawler.limits import PARSE
from crawler.parsers import PageParsers
from crawler.scope import WebSource
from domain.errors import PageFailed

pytestmark = pytest.mark.asyncio

URL = "https://www.example.org/p"
SOURCE = WebSource(URL)
PROSE = b"<p>Some long prose of a page follows here and goes on. </p>"

HOSTILE = {
    "links": b"".join(b"<p><a href=/x/%d>Link number %d</a></p>" % (n, n) for n in range(100_000)),
    "prose": b"<p>" + b"Some long prose follows here. " * (20 * 2**20 // 30) + b"</p>",
    "text node": b"<p>" + b"a" * 12_000_000 + b"</p>",
    "nested": PROSE * 20 + b"<div>words " * 100_000,
    "attributes": b"<div " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">x</div>",
    "quoted attributes": b"<p " + b" ".join(b"a%d='>'" % n for n in range(200_000)) + b">x</p>",
    "spans": b"<table>" + b"<tr><td rowspan=65000 colspan=99999>x</td></tr>" * 2000 + b"</table>",
    "tables": PROSE * 20 + b"<table><tr><td>cell" * 1000,
    "headings": b"".join(b"<h2 id=h%d>Heading %d</h2>" % (n, n) for n in range(60_000)),
    "head": b"<title>x</title>" + b"<section>words</section>" * 100_000,
    "furniture": b"<div class=nav>x" * 20_000,
}


def descendants() -> list[psutil.Process]:
    """The parser processes that live; one that has just ended is none."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie is one of these
            if "crawler.parser_process" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest_asyncio.fixture
async def parsers() -> AsyncIterator[PageParsers]:
    pool = PageParsers(PARSE)
    yield pool
    await pool.close()
    assert descendants() == []


async def attempt(pool: PageParsers, body: bytes) -> str:
    """How a page ended: ``read``, ``truncated`` or a code."""
    try:
        page = await pool.parse(body, "text/html", URL, SOURCE, True)
    except PageFailed as failure:
        return str(failure.code)
    return "truncated" if page.truncated else "read"


async def read(pool: PageParsers, body: bytes) -> str:
    return (await pool.parse(body, "text/html", URL, SOURCE, True)).text


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_page_ends_in_a_result_or_a_code(name: str, parsers: PageParsers) -> None:
    """Within 5 seconds and 1 GB, with room to spare, while other pages are read."""
    await asyncio.gather(read(parsers, PROSE), read(parsers, PROSE))
    watch = asyncio.create_task(most_memory())
    begun = time.monotonic()
    hostile = asyncio.create_task(attempt(parsers, HOSTILE[name]))
    slowest = 0.0
    for _ in range(5):
        started = time.monotonic()
        assert "long prose" in await read(parsers, PROSE)
        slowest = max(slowest, time.monotonic() - started)
    assert slowest < 2
    assert await hostile in ("read", "truncated", "timeout", "oversized")
    assert time.monotonic() - begun < 5
    watch.cancel()
    assert await watch < 800 * 2**20
    assert "long prose" in await read(parsers, PROSE)


def peak_of(pid: int) -> int:
    """The most memory that a process held, in bytes; 0 when it is gone."""
    with contextlib.suppress(OSError, StopIteration):
        status = Path(f"/proc/{pid}/status").read_text()
        line = next(one for one in status.splitlines() if one.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return 0


async def most_memory() -> int:
    """The most that any parser process ever held, until this is cancelled."""
    most = 0
    try:
        while True:
            for child in descendants():
                most = max(most, peak_of(child.pid))
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        return most


async def test_a_page_that_takes_too_long_is_killed_and_its_process_replaced() -> None:
    pool = PageParsers(replace(PARSE, seconds=0.3, workers=1))
    try:
        assert await read(pool, PROSE)
        before = descendants()
        with pytest.raises(PageFailed) as failure:
            await read(pool, HOSTILE["links"])
        assert failure.value.code == "timeout"
        assert await read(pool, PROSE)
        assert [child.pid for child in descendants()] != [child.pid for child in before]
    finally:
        await pool.close()
    assert descendants() == []


async def test_memory_is_bounded() -> None:
    pool = PageParsers(replace(PARSE, memory_bytes=110 * 2**20, workers=1))
    try:
        # What does not fit is left out and said to be, or ends the process with a code.
        assert await attempt(pool, HOSTILE["headings"] * 2) in ("truncated", "oversized")
        assert await read(pool, PROSE)
    finally:
        await pool.close()


async def test_a_cancelled_caller_frees_its_process() -> None:
    pool = PageParsers(replace(PARSE, workers=1))
    try:
        await read(pool, PROSE)
        task = asyncio.create_task(read(pool, HOSTILE["links"]))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await read(pool, PROSE)
    finally:
        await pool.close()
    assert descendants() == []


async def test_a_killed_process_is_a_code_and_is_replaced() -> None:
    pool = PageParsers(replace(PARSE, workers=1))
    try:
        await read(pool, PROSE)
        task = asyncio.create_task(read(pool, HOSTILE["links"]))
        await asyncio.sleep(0.1)
        for child in descendants():
            child.kill()
        with pytest.raises(PageFailed):
            await task
        assert await read(pool, PROSE)
    finally:
        await pool.close()


async def test_a_parser_of_a_large_process_is_kept() -> None:
    """Linux hands the peak of a parent's memory down; the parser's own peak is what counts."""
    ballast = bytearray(PARSE.retired_bytes + 64 * 2**20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    pool = PageParsers(replace(PARSE, workers=1))
    try:
        await read(pool, PROSE)
        first = [child.pid for child in descendants()]
        await read(pool, PROSE)
        assert [child.pid for child in descendants()] == first != []
    finally:
        await pool.close()
        del ballast


async def test_closing_while_reading_leaves_no_process() -> None:
    pool = PageParsers(PARSE)
    await read(pool, PROSE)
    task = asyncio.create_task(read(pool, HOSTILE["links"]))
    await asyncio.sleep(0.05)
    await pool.close()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert descendants() == []
