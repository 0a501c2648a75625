"""The demo organisations: their settings, and what they are served from on loopback."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from config.settings import Settings
from domain.records import RECORD_KINDS
from retrieval.tenancy import COLLECTIONS

log = logging.getLogger("manta.demo")

FOLDER = Path(__file__).resolve().parents[1] / "demo"
SITE = "handbook.tidewater.example"
TENANT = "tidewater"
USER = "ana"
UNIVERSITY_FOLDER = FOLDER / "university"
UNIVERSITY_SITE = "www.uni-seehausen.example"
UNIVERSITY = "seehausen"
SITES = {SITE: FOLDER / "site", UNIVERSITY_SITE: UNIVERSITY_FOLDER / "site"}
REGULATIONS = "localhost:8931"
"""Where the university's configuration says that its MCP server is."""


def demo_settings() -> dict[str, Any]:
    """Defaults of the demo; the environment and the command line still win over them."""
    return {
        "tenants": FOLDER / "tenants",
        "directory": FOLDER / "directory",
        "examples": FOLDER / "examples.json",
        "default_tenant": TENANT,
        "default_user": USER,
        # Fifteen processes of one role each are for machines with more than a laptop's memory.
        "placement": "compact",
    }


def index_demo(settings: Settings, milvus_uri: str) -> None:
    """The demo's passages and records into stores that run; what is unchanged writes nothing."""
    from serve.indexing import index_with_bar, load_with_summary

    index_with_bar(settings, FOLDER / "documents", TENANT, milvus_uri, use_ray=False)
    for name, collection in COLLECTIONS.items():
        folder = UNIVERSITY_FOLDER / name
        index_with_bar(
            settings, folder, UNIVERSITY, milvus_uri, use_ray=False, collection=collection
        )
    for kind in RECORD_KINDS:
        file = FOLDER / "records" / f"{kind}.jsonl"
        load_with_summary(settings, kind, file, TENANT, milvus_uri)


async def index_university(settings: Settings, milvus_uri: str) -> None:
    """The university's passages alone and without a word, for one question on the command line."""
    from retrieval.ingest import ingest

    for name, collection in COLLECTIONS.items():
        folder = UNIVERSITY_FOLDER / name
        summary = await ingest(
            folder, UNIVERSITY, settings, milvus_uri, use_ray=False, collection=collection
        )
        if summary.failed:
            log.warning("demo_not_read", extra={"failed": len(summary.failed)})


@contextmanager
def demo_network() -> Iterator[dict[str, dict[str, str]]]:
    """Serve the demo's sites and its MCP server on free ports; yields the settings that lead there:
    what is dialled for the fictional names, and what a browser opens in their place."""
    from serve.demo_regulations import regulations_server

    connect_to, shown_urls = {}, {}
    with ExitStack() as stack:
        for host, folder in SITES.items():
            address = stack.enter_context(_site(folder))
            connect_to[f"{host}:80"] = address
            shown_urls[f"http://{host}/"] = f"http://{address}/"
        connect_to[REGULATIONS] = stack.enter_context(regulations_server())
        yield {"connect_to": connect_to, "shown_urls": shown_urls}


@contextmanager
def _site(folder: Path) -> Iterator[str]:
    """The pages of ``folder`` on a free port; yields the ``address:port``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, name="demo-site", daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: a log of URLs is what the product never writes."""
