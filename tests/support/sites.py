"""A web site on loopback for the reader: real HTTP, pages under the test's control."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Site:
    """Pages by path; ``requests`` counts what was asked; ``delay`` slows every page down."""

    def __init__(self, pages: dict[str, str]) -> None:
        self.pages = dict(pages)
        self.requests: list[str] = []
        self.delay = 0.0
        self.open_requests = 0
        self.status = 200


@contextmanager
def site(pages: dict[str, str]) -> Iterator[tuple[Site, str]]:
    """Serve ``pages``; yields the site and its ``address:port``."""
    state = Site(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests.append(self.path)
            state.open_requests += 1
            try:
                time.sleep(state.delay)
                page = state.pages.get(self.path)
                body = (page or "not here").encode()
                self.send_response(state.status if page is not None else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                # The reader gave up on this page; the test looks at what it counted.
                return
            finally:
                state.open_requests -= 1

        def log_message(self, format: str, *args: Any) -> None:
            """Test output stays readable."""

    with _serving(Handler) as address:
        yield state, address


@contextmanager
def folder_site(folder: Path) -> Iterator[str]:
    """Serve the files of ``folder``; yields its ``address:port``."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Test output stays readable."""

    with _serving(partial(Quiet, directory=str(folder))) as address:
        yield address


@contextmanager
def _serving(handler: Any) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class ConditionalSite:
    """One page on a raw server that answers conditional requests; counts what it does.

    ``status`` other than 200 answers with that status; ``gate`` holds every answer until it is
    set; ``heads`` keeps the request heads.
    """

    def __init__(self, body: str) -> None:
        self.body = body
        self.etag: str | None = '"1"'
        self.modified: str | None = None
        self.status = 200
        self.heads: list[str] = []
        self.not_modified = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.address = ""
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> ConditionalSite:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                await self.gate.wait()
                writer.write(self._answer(head))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            self._open.discard(task)
            writer.close()

    def _answer(self, head: str) -> bytes:
        lines = []
        if self.etag is not None:
            lines.append(f"ETag: {self.etag}")
        if self.modified is not None:
            lines.append(f"Last-Modified: {self.modified}")
        if self.status != 200:
            return f"HTTP/1.1 {self.status} No\r\nContent-Length: 0\r\n\r\n".encode()
        same = f"If-None-Match: {self.etag}" if self.etag else f"If-Modified-Since: {self.modified}"
        if same in head.split("\r\n"):
            self.not_modified += 1
            return "\r\n".join(["HTTP/1.1 304 Not Modified", *lines, "", ""]).encode()
        body = self.body.encode()
        lines += ["Content-Type: text/html; charset=utf-8", f"Content-Length: {len(body)}"]
        return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode() + body


def main() -> None:
    """Serve a folder until the process is ended; the address is printed first."""
    with folder_site(Path(sys.argv[1])) as address:
        print(address, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
