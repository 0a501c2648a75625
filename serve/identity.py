"""Who is asking, as every route sees it, and the loopback rule of a server without authentication.

A browser must not become the way round that rule: the ``Host`` header has to name loopback (no
DNS rebinding), and bodies have to be JSON or of the same site (no cross-site form).
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from config.auth import PERMISSIONS, Permission
from domain.errors import InvalidInput, NotFound
from serve.errors import error_response

log = logging.getLogger("manta.serve")
TENANT_HEADER = "x-manta-tenant"
USER_HEADER = "x-manta-user"
_NAME = re.compile(r"^[A-Za-z0-9_.@-]{1,128}$")
_DOTS = re.compile(r"^\.+$")


@dataclass(frozen=True, slots=True)
class Identity:
    """The tenant and the user of a request, and what they may do.

    ``token`` is the user's own validated bearer token, where there is one. It is handed only to
    the tools that call the tenant's own systems: it is never stored, logged or checkpointed.
    """

    tenant: str
    user: str
    permissions: frozenset[Permission] = frozenset(PERMISSIONS)
    token: SecretStr | None = field(default=None, repr=False, compare=False)


def plain_name(value: str, header: str) -> str:
    """``value`` if it can be a tenant's or a user's name in a header.

    Raises:
        InvalidInput: it cannot.
    """
    # A name of dots only would climb in a path of a tenant's own service.
    if not _NAME.fullmatch(value) or _DOTS.fullmatch(value):
        raise InvalidInput(header, "is not a plain name", "use letters, digits and . _ @ -")
    return value


def not_the_callers(identity: Identity, kind: str) -> NotFound:
    """The answer to every question about what the caller does not own, whether it exists or not.

    The log line says who asked and for what kind of thing, and never which one.
    """
    log.warning(
        "foreign_access",
        extra={"tenant": identity.tenant, "user": identity.user, "kind": kind.replace(" ", "_")},
    )
    return NotFound(f"the {kind}")


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
