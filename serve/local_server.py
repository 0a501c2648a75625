"""``manta serve``: stores, Ray and the chat on one machine, started and stopped together."""

from __future__ import annotations

import logging
import signal
import threading
import time
from contextlib import ExitStack
from typing import Any

from config.embedded import stores
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import Unavailable
from serve.data_folder import own_data_folder
from serve.demo import demo_network, index_demo
from serve.local_ray import local_ray
from serve.start_checks import check_port, check_start, check_subagents

READY_SECONDS = 120.0
EXAMPLE = "How many days of leave can I carry over?"


def run_server(settings: Settings, *, demo: bool) -> None:
    """Serve until Ctrl-C or SIGTERM, then stop everything that was started here.

    Raises:
        MantaError: what is wrong, in one line, before anything is left running.
    """
    tenants = TenantDirectory.load(settings.tenants)
    check_start(settings, tenants)
    check_port(settings)
    stop = StopSignal()
    stop.install()
    try:
        with ExitStack() as stack:
            _start(stack, settings, tenants, stop, demo)
            stop.wait()
            print("stopping ...", flush=True)
    except KeyboardInterrupt:
        print("stopped", flush=True)


class StopSignal:
    """Ctrl-C and SIGTERM: while the server starts they interrupt the start, later they end it."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._starting = True

    def install(self) -> None:
        """Take the signals; again after Ray, which takes SIGTERM for itself."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def started(self) -> None:
        self._starting = False

    def wait(self) -> None:
        self._asked.wait()

    def _handle(self, *_: object) -> None:
        self._asked.set()
        if self._starting:
            # Only once: what was started must be stopped without being interrupted.
            self._starting = False
            raise KeyboardInterrupt


def _start(
    stack: ExitStack,
    settings: Settings,
    tenants: TenantDirectory,
    stop: StopSignal,
    demo: bool,
) -> None:
    """Start everything in order; ``stack`` stops it in the opposite order."""
    stack.enter_context(own_data_folder(settings))
    urls = stack.enter_context(stores(settings))
    demo_at = stack.enter_context(demo_network()) if demo else {}
    settings = settings.model_copy(
        update={
            "redis_url": urls.redis_url,
            "milvus_uri": urls.milvus_uri,
            "connect_to": {**demo_at.get("connect_to", {}), **settings.connect_to},
            "shown_urls": {**demo_at.get("shown_urls", {}), **settings.shown_urls},
        }
    )
    if demo:
        index_demo(settings, urls.milvus_uri)
    check_subagents(settings, tenants)
    print("starting Ray and the chat ...", flush=True)
    stack.enter_context(local_ray(dashboard=True))
    stop.install()
    stack.callback(_deploy(settings, tenants))
    stop.started()
    _greet(settings)


def _deploy(settings: Settings, tenants: TenantDirectory) -> Any:
    """Deploy the chat and wait until it is ready; returns what takes it down."""
    from ray import serve

    from serve.deployment import APPLICATION, application

    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    serve.start(http_options={"host": settings.host, "port": settings.port})
    serve.run(application(settings, tenants), name=APPLICATION, route_prefix="/", blocking=False)
    _await_ready(settings)
    # Deleting drains the replicas; Ray itself ends right after, and Serve's own actors with it.
    return lambda: serve.delete(APPLICATION)


def _await_ready(settings: Settings) -> None:
    """Poll the probe, which asks every role."""
    import httpx

    url = f"{settings.address}readyz"
    with httpx.Client(trust_env=False, timeout=10.0) as client:
        for _ in range(int(READY_SECONDS / 0.25)):
            try:
                if client.get(url).status_code == 200:
                    return
            except httpx.HTTPError:
                # The proxy is not listening yet; the loop ends in an error of ours if it never is.
                pass
            time.sleep(0.25)
    raise Unavailable("the chat", f"it was not ready within {READY_SECONDS:g} s")


def _greet(settings: Settings) -> None:
    print(f"\nManta is ready: {settings.address}", flush=True)
    print(f'Try: "{EXAMPLE}"', flush=True)
    print("Ctrl-C stops everything.", flush=True)
