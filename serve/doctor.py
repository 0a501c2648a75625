"""``manta doctor``: what would be used, and what is wrong, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import metadata

from config.embedded import running
from config.reachability import check_milvus, check_redis
from config.settings import Settings
from config.tenants import TenantDirectory
from crawler.scope import WebSource, admit_source
from domain.errors import MantaError
from retrieval.directory import FileTaskDirectory
from serve.local_server import check_default_tenant, check_loopback, check_port
from serve.page_routes import load_examples


def examine(settings: Settings) -> Iterator[str]:
    """Lines that begin with ``ok``, ``note`` or ``wrong``."""
    for name in ("ray", "langgraph", "openai", "pymilvus"):
        yield f"ok     {name} {metadata.version(name)}"
    yield from _stores(settings)
    yield from _models(settings)
    yield from _checked("address", f"http://{settings.host}:{settings.port}/", _address(settings))
    yield f"ok     placement {settings.placement}, {settings.crawlers} crawlers a cell"
    yield f"ok     replicas {settings.replicas_min} to {settings.replicas_max}"
    for where, target in settings.connect_to.items():
        yield f"note   {where} is dialled at {target} (MANTA_CONNECT_TO)"
    yield from _tenants(settings)
    yield from _checked("tasks", str(settings.tasks), lambda: FileTaskDirectory(settings.tasks))
    yield from _checked("examples", str(settings.examples), lambda: load_examples(settings))


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
    yield from _checked("default tenant", default, lambda: check_default_tenant(settings, tenants))
    for tenant in tenants:
        specialists = ", ".join(tenant.enabled_specialists()) or "no specialist"
        documents = "documents" if tenant.chatbot.rag.enabled else "no documents"
        sites = len(tenant.web.active_sources)
        yield f"ok     tenant {tenant.tenant}: {specialists}; {documents}; {sites} web sources"
        if not tenant.enabled_specialists():
            yield f"wrong  tenant {tenant.tenant}: no specialist is active"
        for number, source in enumerate(tenant.web.active_sources, start=1):
            web = WebSource(source.url, source.allowed_path_prefixes)
            what = f"tenant {tenant.tenant}, web source {number}"
            yield from _checked(what, source.url, lambda web=web: admit_source(web))  # type: ignore[misc]


def _checked(what: str, value: str, check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except MantaError as error:
        yield f"wrong  {what}: {error.message}"
    else:
        yield f"ok     {what}: {value}"
