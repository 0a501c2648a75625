"""``manta doctor``: what would be used, and what is wrong, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import metadata

from config.auth import ApiKeyAuth, JwtAuth, NoAuth
from config.embedded import running
from config.reachability import check_milvus, check_redis
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import MantaError
from retrieval.file_directory import FileDirectory
from serve.page_routes import load_examples
from serve.start_checks import (
    check_auth,
    check_default_tenant,
    check_loopback,
    check_port,
    check_tenant,
)


def examine(settings: Settings) -> Iterator[str]:
    """Lines that begin with ``ok``, ``note`` or ``wrong``."""
    for name in ("ray", "langgraph", "openai", "pymilvus"):
        yield f"ok     {name} {metadata.version(name)}"
    yield from _stores(settings)
    yield from _models(settings)
    yield from _checked("address", settings.address, _address(settings))
    yield f"ok     placement {settings.placement}, {settings.crawlers} crawlers a cell"
    yield f"ok     replicas {settings.replicas_min} to {settings.replicas_max}"
    for where, target in settings.connect_to.items():
        yield f"note   {where} is dialled at {target} (MANTA_CONNECT_TO)"
    yield from _tenants(settings)
    directory, examples = str(settings.directory or "none"), str(settings.examples or "none")
    yield from _checked(
        "directory", directory, lambda: FileDirectory(settings.directory, settings.data)
    )
    yield from _checked("examples", examples, lambda: load_examples(settings))


def _stores(settings: Settings) -> Iterator[str]:
    redis, milvus = settings.redis_url, settings.milvus_uri
    if redis:
        yield from _checked("redis", "the server of REDIS_URL", lambda: check_redis(redis))
    else:
        state = _state(settings, "valkey")
        yield f"ok     redis: embedded Valkey in {settings.data} ({state})"
    if milvus:
        yield from _checked(
            "milvus",
            "the server of MILVUS_URI",
            lambda: check_milvus(milvus, settings.milvus_secret),
        )
    else:
        state = _state(settings, "milvus")
        yield f"ok     milvus: embedded Milvus Lite in {settings.data} ({state})"


def _state(settings: Settings, kind: str) -> str:
    found = running(settings.data, kind)  # type: ignore[arg-type]
    return "running" if found is not None else "not running now"


def _models(settings: Settings) -> Iterator[str]:
    if settings.provider == "offline":
        yield "note   model: offline, which quotes instead of writing (MANTA_PROVIDER)"
    else:
        where = settings.openai_base_url or "OpenAI"
        yield f"ok     model: {settings.mini_model} and {settings.large_model} at {where}"
        if settings.mini_model not in settings.prices:
            yield f"note   no price of {settings.mini_model}: its cost is 0 (MANTA_PRICES)"
    embedding = settings.embedding_model or "the local multilingual encoder"
    yield f"ok     embeddings: {embedding}"


def _address(settings: Settings) -> Callable[[], object]:
    def check() -> None:
        check_loopback(settings)
        check_port(settings)

    return check


def _tenants(settings: Settings) -> Iterator[str]:
    try:
        tenants = TenantDirectory.load(settings.tenants)
    except MantaError as error:
        yield f"wrong  tenants: {error.message}"
        return
    default = settings.default_tenant or "none, every request names its own"
    yield from _checked("auth", _auth(settings), lambda: check_auth(settings, tenants))
    yield from _checked("default tenant", default, lambda: check_default_tenant(settings, tenants))
    for tenant in tenants:
        specialists = ", ".join(tenant.enabled_specialists()) or "no specialist"
        documents = "documents" if tenant.chatbot.rag.enabled else "no documents"
        sites = len(tenant.web.active_sources)
        yield f"ok     tenant {tenant.tenant}: {specialists}; {documents}; {sites} web sources"
        yield from _checked(
            "tenant",
            f"{tenant.tenant} can be served",
            lambda tenant=tenant: check_tenant(tenant),  # type: ignore[misc]
        )


def _auth(settings: Settings) -> str:
    match settings.auth:
        case ApiKeyAuth() as auth:
            return f"API keys of {auth.keys}"
        case JwtAuth() as auth:
            source = auth.jwks_url or "a shared secret"
            return f"tokens of {auth.issuer} ({', '.join(auth.algorithms)}, {source})"
        case NoAuth():
            return "none, whoever reaches the address is believed"


def _checked(what: str, value: str, check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except MantaError as error:
        yield f"wrong  {what}: {error.message}"
    else:
        yield f"ok     {what}: {value}"
