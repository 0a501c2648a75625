"""From a role's name to the role: the one builder, with Ray and without.

A process holds what its roles share (models, a store's client) in :class:`ProcessResources`; the
roles are built from it and from the ports of the roles that they call.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from actors.handles import Port
from actors.resources import ProcessResources
from actors.role_handles import CrawlerHandle, PageCacheHandle, RetrieverHandle
from config.policy import POLICY
from config.settings import Settings
from config.tenants import SPECIALISTS

log = logging.getLogger("manta.actors")

PAGE_CACHE = "page_cache"
NEEDS: dict[str, tuple[str, ...]] = {
    "guardrail": (),
    "memory": (),
    "supervisor": (),
    **dict.fromkeys(SPECIALISTS, ("retriever",)),
    "campus_advisor": ("retriever", "crawler", PAGE_CACHE),
    "researcher": ("retriever", "crawler", PAGE_CACHE),
    "retriever": (),
    "crawler": (),
    PAGE_CACHE: (),
}
"""Which roles a role calls; ``crawler`` stands for the whole pool."""


def crawler_names(settings: Settings) -> tuple[str, ...]:
    return tuple(f"crawler_{number}" for number in range(1, settings.crawlers + 1))


def role_names(settings: Settings) -> tuple[str, ...]:
    """All roles of a cell, callees before callers; the page cache is shared and not among them."""
    return (
        "retriever",
        *crawler_names(settings),
        "researcher",
        "guardrail",
        "memory",
        "supervisor",
        *SPECIALISTS,
    )


def needs(name: str, settings: Settings) -> tuple[str, ...]:
    """The names of the roles that ``name`` calls, the crawler pool spelled out."""
    kind = "crawler" if name.startswith("crawler_") else name
    expanded: list[str] = []
    for needed in NEEDS[kind]:
        expanded.extend(crawler_names(settings) if needed == "crawler" else (needed,))
    return tuple(expanded)


def build_role(name: str, resources: ProcessResources, ports: Mapping[str, Port]) -> Any:
    """Build one role. Heavy libraries are imported here, only by the roles that use them."""
    settings = resources.settings
    if name == "guardrail":
        from actors.guardrail import Guardrail

        return Guardrail(resources.models, settings)
    if name == "supervisor":
        from actors.supervisor import Supervisor

        return Supervisor(resources.models, settings)
    if name == "memory":
        from actors.memory import Memory

        return Memory(resources.models, settings)
    if name == "campus_advisor":
        from actors.campus.advisor import CampusAdvisor
        from actors.campus.query_cache import QueryCache

        return CampusAdvisor(
            resources.models,
            settings,
            RetrieverHandle(ports["retriever"]),
            PageCacheHandle(ports[PAGE_CACHE]),
            CrawlerHandle([ports[crawler] for crawler in crawler_names(settings)]),
            QueryCache(resources.redis),
        )
    if name in SPECIALISTS:
        from actors.specialists import build_specialist

        return build_specialist(name, resources, RetrieverHandle(ports["retriever"]))
    if name == "researcher":
        from actors.researcher import Researcher

        return Researcher(
            resources.models,
            settings,
            RetrieverHandle(ports["retriever"]),
            PageCacheHandle(ports[PAGE_CACHE]),
            CrawlerHandle([ports[crawler] for crawler in crawler_names(settings)]),
        )
    if name == "retriever":
        from actors.retriever import Retriever
        from retrieval.records.store import RecordStore
        from retrieval.store import PassageStore

        embedder = resources.models.embedder
        where, token = settings.milvus_uri or "", settings.milvus_secret
        return Retriever(
            PassageStore(where, embedder, token), RecordStore(where, embedder, token), embedder
        )
    if name == PAGE_CACHE:
        from crawler.cache import PageCache

        return PageCache(pages_per_tenant=POLICY.page.cached_pages_per_tenant)
    if name.startswith("crawler_"):
        from actors.crawler import Crawler
        from crawler.fetch import PageFetcher

        return Crawler(PageFetcher(connect_to=settings.connect_to, pool_size=settings.crawlers))
    raise KeyError(name)


async def prepare_role(role: Any) -> None:
    """Let a role do what its first request would otherwise wait for."""
    prepare = getattr(role, "prepare", None)
    if prepare is not None:
        await prepare()


async def close_role(role: Any) -> None:
    """Close a role that owns something; most own nothing."""
    close = getattr(role, "close", None)
    if close is not None:
        await close()
