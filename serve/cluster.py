"""The application for ``serve deploy``, built on the cluster from the config file's ``args``."""

from __future__ import annotations

from typing import Any

from ray import serve

from config.auth import NoAuth
from config.reachability import check_milvus, check_redis
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import InvalidConfiguration
from serve.deployment import application
from serve.start_checks import check_start, check_subagents


def build(args: dict[str, Any]) -> serve.Application:
    """The bound application; ``args`` are settings by name and win over the environment.

    Raises:
        InvalidConfiguration: a wrong setting, or a store that is not named: embedded stores belong
            to one machine and never to a cluster.
        StoreUnavailable: a named store does not answer.
    """
    settings = Settings.load(**args)
    for name, value in (("REDIS_URL", settings.redis_url), ("MILVUS_URI", settings.milvus_uri)):
        if value is None:
            raise InvalidConfiguration(name, "is not set", "name the cluster's server")
    check_redis(settings.redis_url or "")
    check_milvus(settings.milvus_uri or "", settings.milvus_secret)
    tenants = TenantDirectory.load(settings.tenants)
    check_start(settings, tenants)
    check_subagents(settings, tenants)
    check_listening(settings, listening_host())
    return application(settings, tenants)


def listening_host() -> str | None:
    """The host of Serve's ``http_options``, which decide on a cluster; ``None`` when Serve does
    not run."""
    from ray.serve.context import _get_global_client

    client = _get_global_client(raise_if_no_controller_running=False)
    return None if client is None else str(client.http_config.host)


def check_listening(settings: Settings, host: str | None) -> None:
    """Raises InvalidConfiguration for a cluster that listens beyond loopback and believes
    everybody."""
    named = settings if host is None else settings.model_copy(update={"host": host})
    if isinstance(settings.auth, NoAuth) and not named.is_loopback:
        raise InvalidConfiguration(
            "http_options.host",
            f"{host} is not loopback, and requests are not authenticated",
            "use 127.0.0.1, or authenticate requests with MANTA_AUTH",
        )
