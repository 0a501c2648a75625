"""What must hold before anything starts; each check raises one clear InvalidConfiguration."""

from __future__ import annotations

import asyncio
import socket

from actors.campus.mcp_services import McpServices
from config.auth import ApiKeyAuth, NoAuth, load_keys
from config.settings import Settings
from config.tenants import TenantConfig, TenantDirectory
from crawler.scope import WebSource, admit_source
from domain.errors import InvalidConfiguration, PageRejected
from retrieval.file_directory import FileDirectory
from serve.authentication import check_tenants
from serve.page_routes import load_examples


def check_start(settings: Settings, tenants: TenantDirectory) -> None:
    """All checks that do not look at the machine."""
    check_loopback(settings)
    check_auth(settings, tenants)
    check_default_tenant(settings, tenants)
    for tenant in tenants:
        check_tenant(tenant)
        check_service_keys(settings, tenant)
    load_examples(settings)
    FileDirectory(settings.directory, settings.data)


def check_loopback(settings: Settings) -> None:
    """Without authentication the server listens on loopback only."""
    if isinstance(settings.auth, NoAuth) and not settings.is_loopback:
        raise InvalidConfiguration(
            "MANTA_HOST",
            f"{settings.host} is not loopback, and requests are not authenticated",
            "use 127.0.0.1, or authenticate requests with MANTA_AUTH",
        )


def check_auth(settings: Settings, tenants: TenantDirectory) -> int | None:
    """The file of API keys can be read, and its tenants exist; how many keys there are."""
    if not isinstance(settings.auth, ApiKeyAuth):
        return None
    keys = load_keys(settings.auth.keys)
    check_tenants(settings.auth, keys, tenants)
    return len(keys)


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


def check_tenant(tenant: TenantConfig) -> None:
    """At least one specialist is active, and every web source may be read."""
    if not tenant.enabled_specialists():
        raise InvalidConfiguration(
            f"{tenant.tenant}: chatbot.agents", "no specialist is active", "activate at least one"
        )
    for number, source in enumerate(tenant.web.active_sources):
        try:
            admit_source(WebSource(source.url, source.allowed_path_prefixes))
        except PageRejected as rejected:
            raise InvalidConfiguration(
                f"{tenant.tenant}: chatbot.knowledge_base.web.sources.{number}",
                f"{source.url or 'an empty URL'} cannot be read ({rejected.code})",
                "give a public http or https URL whose path its prefixes contain",
            ) from rejected


def check_service_keys(settings: Settings, tenant: TenantConfig) -> None:
    """Raises InvalidConfiguration when the tenant names a key that the operator has not set: its
    service would be asked without one."""
    campus = tenant.chatbot.campus
    if campus is None:
        return
    endpoint = campus.search_endpoint
    named = [(f"subagents.{one.name}", one.token_setting) for one in campus.active_subagents]
    named += [("search_endpoint", endpoint.key_setting)] if endpoint else []
    for where, name in named:
        if name is not None and name not in settings.service_keys:
            raise InvalidConfiguration(
                f"{tenant.tenant}: chatbot.campus.{where}",
                f"names the key {name}, and there is none",
                "add it to MANTA_SERVICE_KEYS",
            )


def check_subagents(settings: Settings, tenants: TenantDirectory) -> None:
    """Ask the subagents that want to be asked at the start. One that does not answer stops it, as
    every named service does.

    Raises:
        Unavailable, DeadlineExceeded: names the subagent.
    """
    services = McpServices(settings.service_keys, settings.connect_to)
    for tenant in tenants:
        campus = tenant.chatbot.campus
        for subagent in campus.active_subagents if campus else ():
            if subagent.check_at_start:
                asyncio.run(services.check(subagent))
