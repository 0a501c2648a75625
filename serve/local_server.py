"""``manta serve``: stores, Ray and the chat on one machine, started and stopped together."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import ExitStack
from typing import Any

from config.embedded import stores
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import InvalidConfiguration, Unavailable
from serve.demo import FOLDER, TENANT, demo_site
from serve.local_ray import local_ray
from serve.page_routes import load_examples

READY_SECONDS = 120.0
EXAMPLE = "How long do I have to claim back an expense?"


def run_server(settings: Settings, *, demo: bool) -> None:
    """Serve until Ctrl-C or SIGTERM, then stop everything that was started here.

    Raises:
        MantaError: what is wrong, in one line, before anything is left running.
    """
    check_loopback(settings)
    tenants = TenantDirectory.load(settings.tenants)
    check_default_tenant(settings, tenants)
    load_examples(settings)
    check_port(settings)
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with ExitStack() as stack:
        urls = stack.enter_context(stores(settings))
        site = stack.enter_context(demo_site()) if demo else {}
        settings = settings.model_copy(
            update={
                "redis_url": urls.redis_url,
                "milvus_uri": urls.milvus_uri,
                "connect_to": {**site.get("connect_to", {}), **settings.connect_to},
                "shown_urls": {**site.get("shown_urls", {}), **settings.shown_urls},
            }
        )
        if demo and not stopping.is_set():
            from serve.indexing import index_with_bar

            index_with_bar(settings, FOLDER / "documents", TENANT, urls.milvus_uri, use_ray=False)
        print("starting Ray and the chat ...", flush=True)
        stack.enter_context(local_ray(dashboard=True))
        stack.callback(_deploy(settings, tenants, stopping))
        if not stopping.is_set():
            _greet(settings)
        stopping.wait()
        print("stopping ...", flush=True)


def check_loopback(settings: Settings) -> None:
    """Without authentication the server listens on loopback only."""
    if not settings.is_loopback:
        raise InvalidConfiguration(
            "MANTA_HOST",
            f"{settings.host} is not loopback, and requests are not authenticated",
            "use 127.0.0.1 and put an authenticating proxy in front",
        )


def check_default_tenant(settings: Settings, tenants: TenantDirectory) -> None:
    """Raises InvalidConfiguration when the default tenant is none of the tenants."""
    known = [tenant.tenant for tenant in tenants]
    if settings.default_tenant is not None and settings.default_tenant not in known:
        raise InvalidConfiguration(
            "MANTA_DEFAULT_TENANT",
            f"{settings.default_tenant} is no tenant",
            f"use one of {', '.join(known)}",
        )


def check_port(settings: Settings) -> None:
    """Raises InvalidConfiguration when something already listens there."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise InvalidConfiguration(
                "MANTA_PORT", f"{settings.port} is in use", "choose another with --port"
            ) from error


def _deploy(settings: Settings, tenants: TenantDirectory, stopping: threading.Event) -> Any:
    """Deploy the chat and wait until it is ready; returns what takes it down."""
    from ray import serve

    from serve.deployment import APPLICATION, application

    serve.start(http_options={"host": settings.host, "port": settings.port})
    serve.run(application(settings, tenants), name=APPLICATION, route_prefix="/", blocking=False)
    _await_ready(settings, stopping)
    # Deleting drains the replicas; Ray itself ends right after, and Serve's own actors with it.
    return lambda: serve.delete(APPLICATION)


def _await_ready(settings: Settings, stopping: threading.Event) -> None:
    """Poll the probe, which asks every role."""
    import httpx

    url = f"http://{settings.host}:{settings.port}/readyz"
    with httpx.Client(trust_env=False, timeout=10.0) as client:
        for _ in range(int(READY_SECONDS / 0.25)):
            if stopping.is_set():
                return
            try:
                if client.get(url).status_code == 200:
                    return
            except httpx.HTTPError:
                # The proxy is not listening yet; the loop ends in an error of ours if it never is.
                pass
            stopping.wait(0.25)
    raise Unavailable("the chat", f"it was not ready within {READY_SECONDS:g} s")


def _greet(settings: Settings) -> None:
    print(f"\nManta is ready: http://{settings.host}:{settings.port}/", flush=True)
    print(f'Try: "{EXAMPLE}"', flush=True)
    print("Ctrl-C stops everything.", flush=True)
