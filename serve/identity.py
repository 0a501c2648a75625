"""Who is asking. Without authentication the server listens on loopback only, and trusts headers.

A browser must not become the way round that rule: the ``Host`` header has to name loopback (no
DNS rebinding), and bodies have to be JSON (no cross-site form).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.requests import Request

from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import InvalidInput, NotFound

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
        if not _NAME.match(value):
            raise InvalidInput(header, "is not a plain name", "use letters, digits and . _ @ -")
    return Identity(tenant=tenants.get(tenant).tenant, user=user)


def check_host(request: Request) -> None:
    """Raises NotFound for a Host header that does not name loopback."""
    host = request.headers.get("host", "")
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name not in {"127.0.0.1", "localhost", "[::1]"}:
        raise NotFound("the host")
