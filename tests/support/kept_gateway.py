"""The real gateway over a real store, for routes that run no turn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fake_gateway import BOTH, CHAT_ONLY, directory
from served import settings_for

from serve.gateway import Gateway


def gateway_over(redis_url: str, **settings: Any) -> Gateway:
    """Two tenants, ``acme`` and ``quiet``, and no role that could be asked anything."""
    roles: Any = SimpleNamespace(ports={})
    given = {"default_tenant": "acme", "examples": None, "directory": None, **settings}
    return Gateway(settings_for(redis_url=redis_url, **given), directory(BOTH, CHAT_ONLY), roles)
