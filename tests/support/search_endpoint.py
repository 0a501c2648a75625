"""A site search on loopback: real HTTP, an answer under the test's control."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PART = 16 * 1024


class SearchEndpoint:
    """``answer`` is sent with ``status``, slowly if ``pause`` says so. What was asked is kept."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.answer: bytes = b"{}"
        self.status = 200
        self.headers: dict[str, str] = {}
        self.pause = 0.0
        self.paths: list[str] = []
        self.cookies: list[str | None] = []

    def links(self, *links: Any) -> None:
        self.answer = json.dumps({"items": [{"link": link} for link in links]}).encode()


@contextmanager
def search_endpoint() -> Iterator[SearchEndpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            endpoint.paths.append(self.path)
            endpoint.cookies.append(self.headers["Cookie"])
            try:
                self.send_response(endpoint.status)
                for name, value in endpoint.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for start in range(0, len(endpoint.answer), PART):
                    time.sleep(endpoint.pause)
                    self.wfile.write(endpoint.answer[start : start + PART])
            except OSError:
                # The client gave up, which is what a test of limits waits for.
                return

        def log_message(self, format: str, *args: Any) -> None:
            """Test output stays readable."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint = SearchEndpoint(f"127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()
