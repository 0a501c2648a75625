"""The HTTP application on loopback, over local handles: everything of Manta but Ray."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from actors.cell import LocalCell
from config.settings import Settings
from config.tenants import TenantDirectory
from serve.app import build_app
from serve.gateway import Gateway

DEMO = Path(__file__).resolve().parents[2] / "demo"


@dataclass(frozen=True)
class Served:
    """A running application and what it was built from."""

    url: str
    settings: Settings
    gateway: Gateway


def settings_for(**overrides: Any) -> Settings:
    """Settings of a test: nothing is read from the developer's environment or folders."""
    given = {
        "tenants": DEMO / "tenants",
        "default_tenant": "tidewater",
        "default_user": "ana",
        "directory": DEMO / "directory",
        "examples": DEMO / "examples.json",
        **overrides,
    }
    return Settings.load(**given)


@contextmanager
def served(settings: Settings) -> Iterator[Served]:
    """Serve the application in a thread with an event loop of its own."""
    cell = LocalCell(settings)
    gateway = Gateway(settings, TenantDirectory.load(settings.tenants), cell.handles)
    app = build_app(gateway, cell.close)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=3)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", settings, gateway)
    finally:
        server.should_exit = True
        thread.join(15)
        assert not thread.is_alive(), "the server did not stop"
