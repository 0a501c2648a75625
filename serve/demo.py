"""The demo organisation: its settings, and its web site on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "demo"
SITE = "handbook.tidewater.example"
TENANT = "tidewater"
USER = "ana"


def demo_settings() -> dict[str, Any]:
    """Defaults of the demo; the environment and the command line still win over them."""
    return {
        "tenants": FOLDER / "tenants",
        "tasks": FOLDER / "tasks.jsonl",
        "examples": FOLDER / "examples.json",
        "default_tenant": TENANT,
        "default_user": USER,
    }


@contextmanager
def demo_site() -> Iterator[dict[str, dict[str, str]]]:
    """Serve the demo's pages on a free port; yields the settings that lead there: what the reader
    dials for the site's fictional name, and what a browser opens in its place."""
    handler = partial(_Quiet, directory=str(FOLDER / "site"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, name="demo-site", daemon=True)
    thread.start()
    try:
        address = f"127.0.0.1:{server.server_port}"
        yield {
            "connect_to": {f"{SITE}:80": address},
            "shown_urls": {f"http://{SITE}/": f"http://{address}/"},
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: a log of URLs is what the product never writes."""
