"""The one Ray Serve deployment: a replica is a cell, its role actors included."""

from __future__ import annotations

from typing import Any

from ray import serve

from actors.cell import ActorCell
from config.logs import configure_logging
from config.settings import Settings
from config.tenants import TenantDirectory
from serve.app import build_app
from serve.gateway import Gateway
from serve.loopback import keep_replica_on_loopback

APPLICATION = "manta"
ONGOING = 256
GRACE_SECONDS = 10.0


@serve.ingress()
class Chat:
    """Lives with the replica: builds its cell, and the HTTP application over it."""

    def __init__(self, settings: Settings, tenants: TenantDirectory) -> None:
        configure_logging()
        keep_replica_on_loopback()
        self._cell = ActorCell.create(settings)
        self._gateway = Gateway(settings, tenants, self._cell.handles)

    def __serve_build_asgi_app__(self) -> Any:
        return build_app(self._gateway, self._cell.close)


def application(settings: Settings, tenants: TenantDirectory) -> serve.Application:
    """The bound deployment. An open stream counts as ongoing, hence the high number; a full
    surge lets one replica be replaced without a stall."""
    options: dict[str, Any] = {
        "name": "Chat",
        "max_ongoing_requests": ONGOING,
        "max_surge_percent": 100,
        "graceful_shutdown_timeout_s": GRACE_SECONDS,
        "placement_group_bundles": [{"CPU": settings.replica_cpus}],
        "placement_group_strategy": "PACK",
        "ray_actor_options": {"num_cpus": settings.replica_cpus},
    }
    if settings.replicas_max > settings.replicas_min:
        options["autoscaling_config"] = {
            "min_replicas": settings.replicas_min,
            "max_replicas": settings.replicas_max,
            "target_ongoing_requests": settings.target_ongoing_requests,
        }
    else:
        options["num_replicas"] = settings.replicas_min
    deployment: Any = serve.deployment(Chat)
    bound: serve.Application = deployment.options(**options).bind(settings, tenants)
    return bound
