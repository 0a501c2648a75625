"""A Ray of this command's own, on loopback only, and stopped with it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from domain.errors import Unavailable

OBJECT_STORE_BYTES = 256 * 1024 * 1024

_ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Workers run in this environment; Ray would build another one under `uv run` at every start.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_SERVE_ENABLE_HA_PROXY": "0",
    # Ray takes the loopback address for its own, and listens there only, where it believes that
    # no other machine may join; on Linux this is the one switch that says so.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}


def prepare_environment() -> None:
    """Set what Ray reads once, when it is imported; a variable that is already set stays.

    Raises:
        RuntimeError: Ray was imported before, and would listen beyond loopback.
    """
    missing = {name: value for name, value in _ENVIRONMENT.items() if name not in os.environ}
    if missing and "ray" in sys.modules:
        raise RuntimeError("Ray was imported before its environment was prepared")
    os.environ.update(missing)


@contextmanager
def local_ray(*, dashboard: bool, cpus: int | None = None) -> Iterator[None]:
    """Start Ray in this process, or join one that ``RAY_ADDRESS`` names."""
    prepare_environment()
    import ray

    address = os.environ.get("RAY_ADDRESS")
    own: dict[str, Any] = {
        "num_cpus": cpus,
        "object_store_memory": OBJECT_STORE_BYTES,
        "include_dashboard": dashboard,
        "dashboard_host": "127.0.0.1",
        "_node_ip_address": "127.0.0.1",
    }
    try:
        ray.init(
            logging_level=logging.WARNING,
            log_to_driver=os.environ.get("MANTA_LOG_LEVEL", "").upper() == "DEBUG",
            **({"address": address} if address else own),
        )
    except (ValueError, RuntimeError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Unavailable("Ray", reason) from error
    try:
        yield
    finally:
        ray.shutdown()
