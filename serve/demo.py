"""The demo organisation: its settings, and its web site on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from config.settings import Settings
from domain.records import RECORD_KINDS

FOLDER = Path(__file__).resolve().parents[1] / "demo"
SITE = "handbook.tidewater.example"
TENANT = "tidewater"
USER = "ana"


def demo_settings() -> dict[str, Any]:
    """Defaults of the demo; the environment and the command line still win over them."""
    return {
        "tenants": FOLDER / "tenants",
        "directory": FOLDER / "directory",
        "examples": FOLDER / "examples.json",
        "default_tenant": TENANT,
        "default_user": USER,
    }


def index_demo(settings: Settings, milvus_uri: str) -> None:
    """The demo's documents and records into stores that run; what is unchanged writes nothing."""
    from serve.indexing import index_with_bar, load_with_summary

    index_with_bar(settings, FOLDER / "documents", TENANT, milvus_uri, use_ray=False)
    for kind in RECORD_KINDS:
        file = FOLDER / "records" / f"{kind}.jsonl"
        load_with_summary(settings, kind, file, TENANT, milvus_uri)


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
