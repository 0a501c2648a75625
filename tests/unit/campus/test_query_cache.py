"""What a query found: kept for one tenant and one configuration, as long as pages may be."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from campus_bench import SITE, WEB, CampusBench, page_of
from fake_redis import FakeRedis
from fake_requests import tenant_of
from model_server import ModelServer

from actors.campus.query_cache import CachedPage, QueryCache
from config.tenants import TenantConfig

PAGES = [CachedPage(url=SITE, title="Start", text="SECRET text")]


def tenant(name: str = "acme", **web: Any) -> TenantConfig:
    given = {"enabled": True, "sources": [{"url": SITE}], **web}
    return tenant_of(name, knowledge_base={"web": given}, campus={})


def cache_of(redis: FakeRedis) -> QueryCache:
    return QueryCache(redis)  # type: ignore[arg-type]


async def test_the_same_words_find_it_again_whatever_their_case_and_spaces() -> None:
    cache = cache_of(FakeRedis())
    assert await cache.read(tenant(), "When is it?") is None
    await cache.write(tenant(), "When is it?", PAGES)
    assert await cache.read(tenant(), "  when IS  it? ") == PAGES
    assert await cache.read(tenant(), "When was it?") is None


async def test_no_other_tenant_and_no_other_configuration_finds_it() -> None:
    cache = cache_of(FakeRedis())
    await cache.write(tenant(), "fees", PAGES)
    assert await cache.read(tenant("other"), "fees") is None
    assert await cache.read(tenant(max_depth=2), "fees") is None
    assert await cache.read(tenant(), "fees") == PAGES


async def test_it_is_kept_as_long_as_pages_are() -> None:
    redis = FakeRedis()
    await cache_of(redis).write(tenant(refresh_interval_seconds=77), "fees", PAGES)
    assert list(redis.expiries.values()) == [77]


async def test_a_tenant_that_keeps_no_pages_keeps_no_queries() -> None:
    redis = FakeRedis()
    cache = cache_of(redis)
    await cache.write(tenant(refresh_interval_seconds=0), "fees", PAGES)
    assert redis.values == {}
    await cache.write(tenant(), "fees", PAGES)
    assert await cache.read(tenant(refresh_interval_seconds=0), "fees") is None


async def test_nothing_found_is_not_kept() -> None:
    redis = FakeRedis()
    await cache_of(redis).write(tenant(), "fees", [])
    assert redis.values == {}


async def test_keys_and_logs_hold_no_words_of_a_query(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    redis = FakeRedis()
    await cache_of(redis).write(tenant(), "SECRET words", PAGES)
    assert "SECRET" not in str(list(redis.values)) and "secret" not in str(list(redis.values))
    broken = cache_of(FakeRedis(broken=True))
    await broken.write(tenant(), "SECRET words", PAGES)
    assert await broken.read(tenant(), "SECRET words") is None
    lines = [str(record.__dict__) for record in caplog.records]
    assert len(lines) == 2 and not [line for line in lines if "secret" in line.lower()]


@pytest.mark.parametrize("kept", [b"no json", b"{}", b'[{"url": "x"}]'])
async def test_what_another_version_wrote_is_not_there(kept: bytes) -> None:
    redis = FakeRedis()
    cache = cache_of(redis)
    await cache.write(tenant(), "fees", PAGES)
    redis.values = dict.fromkeys(redis.values, kept)
    assert await cache.read(tenant(), "fees") is None


async def test_a_broken_store_costs_the_cache_and_nothing_else(models: ModelServer) -> None:
    pages = {SITE: page_of("Welcome", "Start")}
    for redis in (FakeRedis(), FakeRedis(broken=True)):
        bench = CampusBench(models, pages=pages, near={"Welcome": 0.1}, redis=redis)
        await bench.run(WEB)
        assert bench.crawler.fetched == [SITE]
        await bench.run(WEB)
        assert bench.crawler.fetched == [SITE]


async def test_an_expired_query_asks_the_page_cache(models: ModelServer) -> None:
    pages = {SITE: page_of("Welcome", "Start")}
    bench = CampusBench(models, pages=pages, near={"Welcome": 0.1})
    await bench.run(WEB)
    bench.redis.values.clear()
    await bench.run(WEB)
    assert bench.crawler.fetched == [SITE] and len(bench.redis.values) == 1


async def test_without_an_interval_every_turn_reads_anew(models: ModelServer) -> None:
    pages = {SITE: page_of("Welcome", "Start")}
    web = {"refresh_interval_seconds": 0}
    bench = CampusBench(models, pages=pages, near={"Welcome": 0.1}, web=web)
    await bench.run(WEB)
    await bench.run(WEB)
    assert bench.crawler.fetched == [SITE, SITE] and bench.redis.values == {}
