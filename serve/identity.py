"""Who is asking. Without authentication the server listens on loopback only, and trusts headers.

A browser must not become the way round that rule: the ``Host`` header has to name loopback (no
DNS rebinding), and bodies have to be JSON (no cross-site form).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import InvalidInput, NotFound
from serve.errors import error_response

TENANT_HEADER = "x-manta-tenant"
USER_HEADER = "x-manta-user"
_NAME = re.compile(r"^[A-Za-z0-9_.@-]{1,128}$")


@dataclass(frozen=True, slots=True)
class Identity:
    """The tenant and the user of a request."""

    tenant: str
    user: str


def identify(request: Request, settings: Settings, tenants: TenantDirectory) -> Identity:
    """The identity that the headers name, else the process's defaults.

    Raises:
        InvalidInput: a malformed name, or no tenant where there is more than one.
        NotFound: an unknown tenant.
    """
    tenant = request.headers.get(TENANT_HEADER) or settings.default_tenant
    if tenant is None:
        known = [config.tenant for config in tenants]
        if len(known) != 1:
            raise InvalidInput("X-Manta-Tenant", "is missing", "name the organisation")
        tenant = known[0]
    user = request.headers.get(USER_HEADER) or settings.default_user
    for header, value in (("X-Manta-Tenant", tenant), ("X-Manta-User", user)):
        if not _NAME.fullmatch(value):
            raise InvalidInput(header, "is not a plain name", "use letters, digits and . _ @ -")
    return Identity(tenant=tenants.get(tenant).tenant, user=user)


class LoopbackOnly:
    """ASGI middleware that answers 404 unless the ``Host`` header names loopback.

    It is written against ASGI because a middleware that wraps requests hides disconnects from the
    streams behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not names_loopback(Headers(scope=scope).get("host", "")):
            await error_response(NotFound("the host"))(scope, receive, send)
            return
        await self._app(scope, receive, send)


def names_loopback(host: str) -> bool:
    """Whether a ``Host`` header, with or without a port, names this machine's loopback."""
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return name.lower() in {"127.0.0.1", "localhost", "[::1]"}
