"""The application for ``serve deploy``, built on the cluster from the config file's ``args``."""

from __future__ import annotations

from typing import Any

from ray import serve

from config.reachability import check_milvus, check_redis
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import InvalidConfiguration
from serve.deployment import application
from serve.start_checks import check_start


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
    return application(settings, tenants)
