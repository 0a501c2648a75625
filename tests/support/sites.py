"""A web site on loopback for the reader: real HTTP, pages under the test's control."""

from __future__ import annotations

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
