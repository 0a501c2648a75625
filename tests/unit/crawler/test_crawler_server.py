"""The handed-over server behaviours (server_cases.md), one test each, over a raw-socket site."""

from __future__ import annotations

import asyncio
import gzip
import logging
import socket
import time
import zlib
from collections.abc import Callable
from typing import Any

import httpcore
import pytest
from crawler_site import HOST, SEED, Site, answer, browsing, page, redirect

from config.tenants import WebConfig, WebSourceConfig
from crawler.cache import Hit, PageCache, PageKey
from crawler.fetch import PageFetcher
from crawler.limits import WINDOW
from crawler.pages import FetchedPage, PageRequest
from crawler.session import BrowsingSession
from crawler.windows import SourceOutcome
from domain.errors import PageFailed, PageRejected

pytestmark = pytest.mark.asyncio

MakeFetcher = Callable[..., PageFetcher]
HTTP_SEED = SEED.replace("https:", "http:")
PATH = "/policies/index.html"
PROSE = b"<html><body><main><h1>Leave</h1><p>" + b"Ask two weeks ahead for leave. " * 20 + b"</p>"
SECRETS = ("example.org", "/policies", "evil", "Ask two weeks", "93.184", "Location")


def html(*headers: str, body: bytes = PROSE, status: str = "200 OK", length: bool = True) -> bytes:
    types = (
        []
        if any(h.lower().startswith("content-type") for h in headers)
        else ["Content-Type: text/html"]
    )
    return answer(status, [*types, *headers], body, length)


def assert_clean(caplog: pytest.LogCaptureFixture) -> None:
    """No record of anybody says more than codes, counts and hashes."""
    for record in caplog.records:
        if record.name in ("asyncio",):
            continue
        text = f"{record.getMessage()} {record.__dict__}"
        for secret in SECRETS:
            assert secret not in text.replace(record.pathname, ""), record.name


async def enter(session: BrowsingSession) -> SourceOutcome:
    (outcome,) = await session.discover(18)
    return outcome


async def fails(
    site: Site,
    fetcher: PageFetcher,
    code: str,
    caplog: pytest.LogCaptureFixture,
    seed: str = SEED,
    requests: int | None = 1,
) -> None:
    """The seed fails with ``code``: once, counted, not retried, and logged by code only."""
    caplog.set_level(logging.DEBUG)
    session = browsing(fetcher, seed)
    outcome = await enter(session)
    assert (outcome.status, outcome.code) == ("failed", code)
    assert session.web_budget().used == 1
    made, dialled = len(site.requests), len(site.dialled)
    if requests is not None:
        assert made == requests
    # Neither a second discovery nor a link to the same page asks the server again.
    await session.discover(18)
    with pytest.raises((PageFailed, PageRejected)):
        await session._visits.page(session._sources[0], seed, 1)
    assert (len(site.requests), len(site.dialled)) == (made, dialled)
    assert session.web_budget().used == 1
    if seed.startswith("https"):
        assert "http" not in site.schemes
    assert any(code in record.getMessage() for record in caplog.records)
    assert_clean(caplog)


async def reads(fetcher: PageFetcher, seed: str = SEED) -> SourceOutcome:
    outcome = await enter(browsing(fetcher, seed))
    assert outcome.code is None
    assert outcome.window is not None
    return outcome


# Redirects


async def test_V01(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = redirect("/policies/1")
    for n in range(1, 5):
        site.routes[f"/policies/{n}"] = redirect(f"/policies/{n + 1}")
    site.routes["/policies/5"] = page()
    outcome = await reads(make_fetcher())
    assert outcome.window
    assert outcome.window.url == f"https://{HOST}/policies/5"


async def test_V02(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.routes[PATH] = redirect("/policies/1")
    for n in range(1, 7):
        site.routes[f"/policies/{n}"] = redirect(f"/policies/{n + 1}")
    await fails(site, make_fetcher(), "redirect_limit", caplog, requests=6)
    assert "/policies/6" not in site.paths()


async def test_V03(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.routes[PATH] = redirect("/policies/b")
    site.routes["/policies/b"] = redirect(PATH)
    await fails(site, make_fetcher(), "redirect_limit", caplog, requests=None)


async def test_V04(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.routes[PATH] = redirect("index.html")
    await fails(site, make_fetcher(), "redirect_limit", caplog, requests=None)


async def test_V06(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[f"http:{PATH}"] = redirect(SEED, "301 Moved Permanently")
    site.routes[f"https:{PATH}"] = page(f"http://{HOST}/policies/a", "b")
    site.routes["/policies/a"] = site.routes["/policies/b"] = page()
    session = browsing(make_fetcher(), HTTP_SEED)
    outcome = await enter(session)
    assert outcome.window
    assert len(outcome.window.links) == 2
    for link in outcome.window.links:
        await session.read(link.page_id)
    assert site.schemes == ["http", "https", "https", "https"]


async def test_V08(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[f"http:{PATH}"] = page("b", f"http://{HOST}/policies/c")
    site.routes["http:/policies/b"] = redirect(f"https://{HOST}/policies/b")
    site.routes["https:/policies/b"] = page(f"http://{HOST}/policies/c")
    site.routes["https:/policies/c"] = page()
    session = browsing(make_fetcher(), HTTP_SEED)
    outcome = await enter(session)
    assert outcome.window
    to_b, to_c = outcome.window.links
    await session.read(to_b.page_id)
    assert (await session.read(to_c.page_id)).url == f"https://{HOST}/policies/c"
    assert site.schemes == ["http", "http", "https", "https"]


@pytest.mark.parametrize("status", ["301 A", "302 B", "303 C", "307 D", "308 E"])
async def test_V09(site: Site, make_fetcher: MakeFetcher, status: str) -> None:
    site.routes[PATH] = redirect("/policies/new", status)
    site.routes["/policies/new"] = page()
    await reads(make_fetcher())
    assert [head.split(b" ")[0] for head in site.requests] == [b"GET", b"GET"]
    assert b"content-length" not in site.requests[1].lower()


@pytest.mark.parametrize("status", ["300 A", "304 B", "305 C", "306 D"])
async def test_V10(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, status: str
) -> None:
    site.routes[PATH] = redirect("http://proxy.example/", status)
    await fails(site, make_fetcher(), "http_error", caplog)


async def test_V11(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.routes[PATH] = answer("302 Found", [])
    await fails(site, make_fetcher(), "redirect_missing_location", caplog)


@pytest.mark.parametrize("location", ["", "   "])
async def test_V12(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, location: str
) -> None:
    site.routes[PATH] = redirect(location)
    await fails(site, make_fetcher(), "redirect_missing_location", caplog)


@pytest.mark.parametrize(
    "location", ["javascript:alert(1)", "data:text/html,x", "https:evil.example"]
)
async def test_V14(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, location: str
) -> None:
    site.routes[PATH] = redirect(location)
    await fails(site, make_fetcher(), "invalid_url", caplog)


@pytest.mark.parametrize(
    "location",
    [b"/policies/" + b"x" * 70_000, b"/policies/\xff\xfe", b"/policies/\xe9"],
    ids=["long", "bytes", "latin-1"],
)
async def test_V16(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, location: bytes
) -> None:
    site.routes[PATH] = redirect(location)
    await fails(site, make_fetcher(), "invalid_url", caplog)


async def test_V18(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = answer("302 Found", ["Location: /policies/b", "Set-Cookie: sid=1; Path=/"])
    site.routes["/policies/b"] = page()
    await reads(make_fetcher())
    assert b"cookie" not in site.requests[1].lower()


async def test_V19(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = redirect("/policies/two")
    site.routes["/policies/two"] = page("two", "three")
    site.routes["/policies/three"] = page("two", "index.html")
    session = browsing(make_fetcher())
    outcome = await enter(session)
    assert outcome.window
    (three,) = outcome.window.links
    window = await session.read(three.page_id)
    for link in window.links:
        assert (await session.read(link.page_id)).url == f"https://{HOST}/policies/two"
    assert site.paths().count("/policies/two") == 1
    assert session.web_budget().used == 2


async def test_V20(site: Site, make_fetcher: MakeFetcher) -> None:
    body = (
        b"<html><head><meta http-equiv=refresh content='0; url=/policies/x'>"
        b"<link rel=canonical href=/policies/y></head><body><main><h1>A</h1><p>"
        + b"Ask two weeks ahead. " * 20
        + b"</p><script>location.href='/policies/z'</script></main>"
    )
    site.routes[PATH] = html("Refresh: 0; url=/policies/x", body=body)
    outcome = await reads(make_fetcher())
    assert outcome.window
    assert [link.path for link in outcome.window.links] == ["/policies/x"]
    assert site.paths() == [PATH]


async def test_V21(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = html("Location: /policies/x")
    await reads(make_fetcher())
    assert site.paths() == [PATH]


# DNS and addresses


@pytest.mark.parametrize("answers", [["93.184.216.34", "10.0.0.1"], ["10.0.0.1", "93.184.216.34"]])
async def test_V23(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, answers: list[str]
) -> None:
    site.dns[HOST] = [answers]
    await fails(site, make_fetcher(), "non_public_address", caplog, requests=0)
    assert site.dialled == []


async def test_V25(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = page()
    site.dns[HOST] = [["93.184.216.34"], ["127.0.0.1"]]
    await reads(make_fetcher())
    assert site.lookups == [HOST]
    assert site.dialled == [("93.184.216.34", 443)]


async def test_V26(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = answer(
        headers=["Content-Type: text/html", "Connection: close"],
        body=PROSE + b"<a href=b>More about leave</a>",
    )
    site.dns[HOST] = [["93.184.216.34"], ["127.0.0.1"]]
    session = browsing(make_fetcher())
    outcome = await enter(session)
    assert outcome.window
    with pytest.raises(PageRejected) as refusal:
        await session.read(outcome.window.links[0].page_id)
    assert refusal.value.code == "non_public_address"
    assert len(site.dialled) == 1


async def test_V29(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.dns[HOST] = [[f"93.184.216.{n}" for n in range(1, 51)]]
    site.black_holes = True
    begun = time.monotonic()
    await fails(site, make_fetcher(seconds=1.0), "timeout", caplog, requests=0)
    assert time.monotonic() - begun < 2
    assert 1 <= len(site.dialled) <= 4


async def test_V30(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = page()
    site.dns[HOST] = [["93.184.216.1", "93.184.216.2"]]
    site.refusing.add("93.184.216.1")
    await reads(make_fetcher())
    assert [address for address, _ in site.dialled] == ["93.184.216.1", "93.184.216.2"]


@pytest.mark.parametrize(
    "found",
    [
        socket.gaierror(socket.EAI_NONAME, "evil text"),
        socket.gaierror(socket.EAI_AGAIN, "evil text"),
        [],
    ],
    ids=["nxdomain", "servfail", "empty"],
)
async def test_V31(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, found: Any
) -> None:
    site.dns[HOST] = [found]
    await fails(site, make_fetcher(), "dns_error", caplog, requests=0)


async def test_V33(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.dns[HOST] = [UnicodeError("label too long: evil")]
    await fails(site, make_fetcher(), "invalid_url", caplog, requests=0)


@pytest.mark.parametrize("answers", [["garbage"], ["fe80::1%2"], ["93.184.216.34", ""]])
async def test_V34(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, answers: list[str]
) -> None:
    site.dns[HOST] = [answers]
    await fails(site, make_fetcher(), "non_public_address", caplog, requests=0)
    assert site.dialled == []


# TLS and connection


@pytest.mark.parametrize(
    ("names", "days", "trusted"),
    [
        (("other.example",), 30, True),
        ((HOST,), -1, True),
        ((HOST,), 30, False),
        (("93.184.216.34",), 30, True),
    ],
    ids=["other name", "expired", "self-signed", "address only"],
)
async def test_V35(
    site: Site,
    make_fetcher: MakeFetcher,
    caplog: pytest.LogCaptureFixture,
    names: tuple[str, ...],
    days: int,
    trusted: bool,
) -> None:
    site.handshake = site.authority.server_context(*names, days=days, trusted=trusted)
    await fails(site, make_fetcher(), "tls_error", caplog, requests=0)


async def test_V37(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.handshake = None  # a plain server that waits for a whole request never answers a hello
    await fails(site, make_fetcher(seconds=0.5), "timeout", caplog, requests=None)


@pytest.mark.parametrize("how", ["refused", "reset", "closed"])
async def test_V38(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        if how == "reset":
            writer.transport.abort()

    site.routes[PATH] = drop
    if how == "refused":
        site.refusing.add("93.184.216.34")
    await fails(site, make_fetcher(), "network_error", caplog, requests=None)


async def test_V39(
    site: Site, make_fetcher: MakeFetcher, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    address = f"http://user:pass@127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, address)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    (tmp_path / ".netrc").write_text(f"machine {HOST} login a password b\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    site.routes[PATH] = page()
    await reads(make_fetcher())
    server.close()
    assert asked == []
    assert b"authorization" not in site.requests[0].lower()


@pytest.mark.parametrize("status", ["401 Unauthorized", "407 Proxy Authentication Required"])
async def test_V40(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, status: str
) -> None:
    site.routes[PATH] = html(
        "WWW-Authenticate: Basic realm=x", "WWW-Authenticate: Negotiate", status=status
    )
    await fails(site, make_fetcher(), "http_error", caplog)


async def test_V41(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = page()
    await reads(make_fetcher())
    line, *headers = site.requests[0].decode().strip().split("\r\n")
    assert line == f"GET {PATH} HTTP/1.1"
    names = [header.split(":")[0].lower() for header in headers]
    assert names == ["host", "user-agent", "accept", "accept-encoding"]


async def test_V42(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = answer(
        headers=[
            "Content-Type: text/html",
            "Strict-Transport-Security: max-age=99999",
            'Alt-Svc: h2="evil.example:443"',
            "Link: </policies/style.css>; rel=preload",
        ],
        body=PROSE + b"<a href=b>More about leave</a>",
    )
    site.routes["/policies/b"] = page()
    session = browsing(make_fetcher(), HTTP_SEED)
    outcome = await enter(session)
    assert outcome.window
    await session.read(outcome.window.links[0].page_id)
    assert site.paths() == [PATH, "/policies/b"]
    assert set(site.schemes) == {"http"}


# Status codes


@pytest.mark.parametrize("status", ["204 No Content", "205 Reset Content"])
async def test_V43(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, status: str
) -> None:
    site.routes[PATH] = answer(status, ["Content-Type: text/html"])
    await fails(site, make_fetcher(), "http_error", caplog)


async def test_V44(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.routes[PATH] = html("Content-Range: bytes 0-9/100", status="206 Partial Content")
    await fails(site, make_fetcher(), "http_error", caplog)


@pytest.mark.parametrize("status", [401, 403, 404, 410, 451, 500, 502, 504])
async def test_V45(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    site.routes[PATH] = html(status=f"{status} No", body=PROSE + b"<a href=b>Other page</a>")
    await fails(site, make_fetcher(), "http_error", caplog)
    assert any(f"status={status}" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("after", ["1", "99999999", "Wed, 21 Oct 2065 07:28:00 GMT"])
async def test_V46(
    site: Site,
    make_fetcher: MakeFetcher,
    caplog: pytest.LogCaptureFixture,
    status: int,
    after: str,
) -> None:
    site.routes[PATH] = html(f"Retry-After: {after}", status=f"{status} Later")
    begun = time.monotonic()
    await fails(site, make_fetcher(), "http_error", caplog)
    assert time.monotonic() - begun < 0.9


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", ""),
        (b"HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n", ""),
        (b"HTTP/1.1 999 High\r\nContent-Length: 0\r\n\r\n", "http_error"),
        (b"<html>hello</html>", ""),
        (b"SSH-2.0-OpenSSH_9.0\r\n", ""),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""),
    ],
    ids=["101", "099", "999", "0.9", "ssh", "h2"],
)
async def test_V48(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, raw: bytes, code: str
) -> None:
    async def reply(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        writer.write(raw)
        await writer.drain()

    site.routes[PATH] = reply
    await fails(site, make_fetcher(), code or "network_error", caplog)


# Time


async def test_V49(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    async def silent(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        await asyncio.sleep(60)

    site.routes[PATH] = silent
    await fails(site, make_fetcher(seconds=0.4), "timeout", caplog)


async def test_V51(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    site.routes[PATH] = drip
    begun = time.monotonic()
    await fails(site, make_fetcher(seconds=0.6), "timeout", caplog)
    assert time.monotonic() - begun < 1.2


async def test_V52(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    def slowly(reply: bytes) -> Any:
        async def hop(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
        ) -> None:
            await asyncio.sleep(0.3)
            writer.write(reply)
            await writer.drain()

        return hop

    site.routes[PATH] = slowly(redirect("/policies/1"))
    for n in range(1, 5):
        site.routes[f"/policies/{n}"] = slowly(redirect(f"/policies/{n + 1}"))
    begun = time.monotonic()
    await fails(site, make_fetcher(seconds=0.7), "timeout", caplog, requests=None)
    assert time.monotonic() - begun < 1.4


# Size and encoding


async def test_V53(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    sent = []

    async def endless(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10737418240\r\n\r\n"
        )
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent.append(65536)
            await asyncio.sleep(0.01)

    site.routes[PATH] = endless
    await fails(site, make_fetcher(), "oversized", caplog)
    assert sum(sent) < 2**24


@pytest.mark.parametrize("extra", [0, 1], ids=["at the limit", "one over"])
@pytest.mark.parametrize("chunked", [True, False])
async def test_V54(
    site: Site,
    make_fetcher: MakeFetcher,
    caplog: pytest.LogCaptureFixture,
    extra: int,
    chunked: bool,
) -> None:
    limit = 100_000
    body = (PROSE + b" filler" * limit)[: limit + extra]
    if chunked:
        raw = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
        reply = html("Transfer-Encoding: chunked", body=raw, length=False)
    else:
        reply = html("Connection: close", body=body, length=False)
    site.routes[PATH] = reply
    if extra:
        await fails(site, make_fetcher(body_bytes=limit), "oversized", caplog)
    else:
        await reads(make_fetcher(body_bytes=limit))


async def test_V55(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    import tracemalloc

    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"\0" * 2**20) for _ in range(200)) + packer.flush()
    site.routes[PATH] = html("Content-Encoding: gzip", body=bomb)
    fetcher = make_fetcher()
    tracemalloc.start()
    await fails(site, fetcher, "oversized", caplog)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 2**20


@pytest.mark.parametrize("name", ["br", "zstd", "deflate", "compress"])
async def test_V57(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    site.routes[PATH] = html(f"Content-Encoding: {name}", body=b"\x00" * 165)
    await fails(site, make_fetcher(), "unsupported_content_encoding", caplog)
    assert b"br" not in site.requests[0].split(b"Accept-Encoding:")[1]


@pytest.mark.parametrize("name", ["identity", "GZIP", "x-gzip"])
async def test_V59(site: Site, make_fetcher: MakeFetcher, name: str) -> None:
    body = PROSE if name == "identity" else gzip.compress(PROSE)
    site.routes[PATH] = html(f"Content-Encoding: {name}", body=body)
    await reads(make_fetcher())


async def test_V59_two_headers(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture
) -> None:
    site.routes[PATH] = html(
        "Content-Encoding: gzip", "Content-Encoding: gzip", body=gzip.compress(PROSE)
    )
    await fails(site, make_fetcher(), "unsupported_content_encoding", caplog)


@pytest.mark.parametrize("body", [PROSE, gzip.compress(PROSE)[:-9]], ids=["plain", "truncated"])
async def test_V60(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    site.routes[PATH] = html("Content-Encoding: gzip", body=body)
    await fails(site, make_fetcher(), "unsupported_content_encoding", caplog)


@pytest.mark.parametrize(
    "body",
    [gzip.compress(PROSE) + b"garbage", gzip.compress(PROSE[:99]) + gzip.compress(PROSE[99:])],
    ids=["trailing", "members"],
)
async def test_V60_page(site: Site, make_fetcher: MakeFetcher, body: bytes) -> None:
    site.routes[PATH] = html("Content-Encoding: gzip", body=body)
    outcome = await reads(make_fetcher())
    assert outcome.window
    assert outcome.window.text.count("Ask two weeks") == 20


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Length: 5000\r\n\r\nshort",
        b"Transfer-Encoding: chunked\r\n\r\n10\r\nshort",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\nshort\r\n0\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nshort",
        b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ],
    ids=["length", "chunk", "size", "conflict", "coding"],
)
async def test_V61(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, raw: bytes
) -> None:
    async def reply(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + raw)
        await writer.drain()

    site.routes[PATH] = reply
    await fails(site, make_fetcher(), "network_error", caplog)


@pytest.mark.parametrize(
    "raw",
    [
        b"X: " + b"x" * 200_000 + b"\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"a: b\r\n" * 100_000 + b"\r\n",
    ],
    ids=["header", "trailers", "lines"],
)
async def test_V63(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, raw: bytes
) -> None:
    async def reply(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + raw)
        await writer.drain()

    site.routes[PATH] = reply
    await fails(site, make_fetcher(), "network_error", caplog)


# Content


@pytest.mark.parametrize(
    "types",
    [
        ["application/octet-stream"],
        ["application/pdf"],
        ["image/svg+xml"],
        ["application/json"],
        ["text/xml"],
        [],
        ["text/html", "text/html"],
    ],
)
async def test_V64(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, types: list[str]
) -> None:
    site.routes[PATH] = answer(headers=[f"Content-Type: {t}" for t in types], body=PROSE)
    await fails(site, make_fetcher(), "unsupported_content_type", caplog)


@pytest.mark.parametrize(
    "body", [b"%PDF-1.7 ...", b"\x89PNG\r\n\x1a\n....", b"PK\x03\x04....", b"\0\0\1\2\3" * 50]
)
async def test_V64_sniffed(
    site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    site.routes[PATH] = html(body=body)
    await fails(site, make_fetcher(), "unsupported_content_type", caplog)


@pytest.mark.parametrize(
    "kind", ['TEXT/HTML ; Charset="UTF-8"', "application/xhtml+xml", "text/plain"]
)
async def test_V66(site: Site, make_fetcher: MakeFetcher, kind: str) -> None:
    site.routes[PATH] = answer(headers=[f"Content-Type: {kind}"], body=PROSE)
    outcome = await reads(make_fetcher())
    assert outcome.window
    assert "Ask two weeks" in outcome.window.text


async def test_V68(site: Site, make_fetcher: MakeFetcher) -> None:
    text = (
        '<html><head><meta charset="windows-1252"></head><body><main><h1>Congé</h1><p>'
        + "Demander deux semaines avant l’été. &#xD800;&#1;" * 20
        + "</p></main>"
    )
    body = b"\xff\xfe" + text.encode("utf-16-le") + b"\x00\xd8"
    site.routes[PATH] = answer(headers=["Content-Type: text/html; charset=utf-8"], body=body)
    outcome = await reads(make_fetcher())
    assert outcome.window
    assert "avant l’été" in outcome.window.text
    outcome.window.text.encode("utf-8")


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % d SYSTEM "http://127.0.0.1:9/d"> %d;',
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY x "&b;&b;&b;&b;">',
    ],
    ids=["file", "dtd", "laughs"],
)
async def test_V69(site: Site, make_fetcher: MakeFetcher, declaration: str) -> None:
    body = f"<?xml version='1.0'?><!DOCTYPE html [{declaration}]>".encode() + PROSE + b"<p>&x;</p>"
    site.routes[PATH] = answer(headers=["Content-Type: application/xhtml+xml"], body=body)
    outcome = await reads(make_fetcher())
    assert outcome.window
    assert "root:" not in outcome.window.text
    assert "haha" not in outcome.window.text
    assert len(site.dialled) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 100_000 + b"deep",
        b"".join(b"<a href=p%d>Link %d</a> " % (n, n) for n in range(200_000))[: 2**20 - 100],
        b"<div title='" + b"x" * 900_000 + b"'>" + PROSE,
    ],
    ids=["nested", "links", "attribute"],
)
async def test_V70(site: Site, make_fetcher: MakeFetcher, body: bytes) -> None:
    site.routes[PATH] = html(body=body)
    begun = time.monotonic()
    outcome = await reads(make_fetcher())
    assert time.monotonic() - begun < 5
    assert outcome.window
    assert len(outcome.window.links) <= WINDOW.links


async def test_V71(site: Site, make_fetcher: MakeFetcher) -> None:
    body = (
        b"<base target=_top><base href='/policies/sub/'><base href='https://evil.example/'>"
        + PROSE
        + b"<a href=page>A page about leave</a>"
    )
    site.routes[PATH] = html(body=body)
    outcome = await reads(make_fetcher())
    assert outcome.window
    assert [link.path for link in outcome.window.links] == ["/policies/sub/page"]


async def test_V73(site: Site, make_fetcher: MakeFetcher) -> None:
    site.routes[PATH] = page("a", "broken")
    site.routes["/policies/a"] = redirect("/policies/broken")
    session = browsing(make_fetcher())
    outcome = await enter(session)
    assert outcome.window
    first, second = outcome.window.links
    for link in (first, second):
        with pytest.raises(PageFailed) as failure:
            await session.read(link.page_id)
        assert failure.value.code == "http_error"
    assert site.paths().count("/policies/broken") == 1
    assert session.web_budget().used == 2


async def test_V74(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    site.dns[HOST] = [RuntimeError(f"https://{HOST}/policies/evil")]
    await fails(site, make_fetcher(), "unexpected", caplog, requests=0)
    assert any("error_type=RuntimeError" in record.getMessage() for record in caplog.records)


async def test_V75(site: Site, make_fetcher: MakeFetcher, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpcore", "httpcore.connection", "httpcore.http11", "httpx"):
        caplog.set_level(logging.DEBUG, logger=name)
    site.routes[PATH] = redirect("/policies/1")
    site.routes["/policies/1"] = page("/policies/evil")
    await reads(make_fetcher())
    assert caplog.records
    assert_clean(caplog)


async def test_the_mapped_target_is_dialled_as_given(site: Site) -> None:
    site.routes[PATH] = page()
    port = site._ports[80]
    fetcher = PageFetcher(connect_to={f"{HOST}:80": f"127.0.0.1:{port}"})
    try:
        outcome = await enter(browsing(fetcher, HTTP_SEED))
        assert outcome.status == "read"
    finally:
        await fetcher.close()


async def test_a_peer_that_is_not_the_dialled_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from crawler.network import dial

    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    stream = await dial("127.0.0.1", port, 1.0)
    await stream.aclose()
    original = httpcore.AnyIOBackend.connect_tcp

    async def elsewhere(self: Any, host: str, port: int, **given: Any) -> Any:
        return await original(self, "127.0.0.1", port, **given)

    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", elsewhere)
    with pytest.raises(PageRejected):
        await dial("127.0.0.2", port, 1.0)
    server.close()


async def test_https_that_a_cached_page_established_holds_for_the_run_and_no_longer(
    site: Site, make_fetcher: MakeFetcher
) -> None:
    site.routes[f"http:{PATH}"] = redirect(SEED, "301 Moved Permanently")
    site.routes[f"https:{PATH}"] = page(f"http://{HOST}/policies/a")
    site.routes["/policies/a"] = page()
    fetcher, cache = make_fetcher(), PageCache()

    async def fetch(request: PageRequest) -> FetchedPage:
        key = PageKey(tenant="t", fingerprint="f", url=request.url)
        answer = await cache.begin(key, 60)
        if isinstance(answer, Hit):
            return answer.page
        found = await fetcher.fetch(request)
        await cache.complete(key, answer.lease, found)
        return found

    config = WebConfig(enabled=True, sources=(WebSourceConfig(url=HTTP_SEED),))
    await enter(BrowsingSession(config, fetch))
    assert site.schemes == ["http", "https"]
    second = BrowsingSession(config, fetch)
    outcome = await enter(second)
    assert site.schemes == ["http", "https"], "the entry page came from the cache"
    assert outcome.window
    assert (await second.read(outcome.window.links[0].page_id)).url == f"https://{HOST}/policies/a"
    assert site.schemes == ["http", "https", "https"]
    # Nothing was written back: the next run begins with the source as it is configured.
    assert config.active_sources[0].url == HTTP_SEED
    await enter(browsing(fetcher, HTTP_SEED))
    assert site.schemes[3:] == ["http", "https"]
