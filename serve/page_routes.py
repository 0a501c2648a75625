"""The chat page: static files of ours, and what it needs to know about this deployment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from config.auth import NoAuth
from config.policy import POLICY
from config.settings import Settings
from config.tenants import TenantConfig, TenantDirectory
from domain.errors import InvalidConfiguration, NotFound
from serve.authentication import Authenticator

FOLDER = Path(__file__).with_name("page")
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def load_examples(settings: Settings) -> dict[str, Any]:
    """Example questions a tenant and a language, from the operator's file.

    Raises:
        InvalidConfiguration: the file cannot be read.
    """
    if settings.examples is None:
        return {}
    try:
        document = json.loads(settings.examples.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidConfiguration(
            "MANTA_EXAMPLES", f"{settings.examples} cannot be read", "name a JSON file"
        ) from error
    if not isinstance(document, dict):
        raise InvalidConfiguration("MANTA_EXAMPLES", "is not an object", "write one a tenant")
    return document


def page_routes(settings: Settings, tenants: TenantDirectory, who: Authenticator) -> APIRouter:
    routes = APIRouter()
    examples = load_examples(settings)
    files = {path.name: path for path in FOLDER.iterdir() if path.is_file()}

    @routes.get("/", include_in_schema=False)
    async def index() -> Response:
        return FileResponse(files["index.html"], headers=SECURITY_HEADERS)

    @routes.get("/page/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in files:
            raise NotFound("the file")
        return FileResponse(files[name], headers=SECURITY_HEADERS)

    @routes.get("/page-config", include_in_schema=False)
    async def page_config(request: Request) -> dict[str, Any]:
        """Where requests are authenticated, a stranger learns how, and a caller its own tenant."""
        basics: dict[str, Any] = {"message_chars": POLICY.input.message_chars}
        if isinstance(settings.auth, NoAuth):
            listed = [_entry(tenant) for tenant in tenants]
            default = settings.default_tenant or listed[0]["id"]
            return {"tenants": listed, "default_tenant": default, **basics}
        basics["auth"] = settings.auth.mode
        if "authorization" not in request.headers:
            return basics
        identity = await who.identify(request, "chat")
        own = _entry(tenants.get(identity.tenant))
        return {"tenants": [own], "default_tenant": own["id"], "user": identity.user, **basics}

    def _entry(tenant: TenantConfig) -> dict[str, Any]:
        return {
            "id": tenant.tenant,
            "name": tenant.name,
            "locale": tenant.locale,
            "examples": examples.get(tenant.tenant, {}),
        }

    return routes
