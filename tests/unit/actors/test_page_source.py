"""Cache first, else one fetch: hits, leaders, failures, cancellations and renewals."""

from __future__ import annotations

import asyncio

import pytest
from fake_clock import FakeClock
from fake_roles import FakeCrawler, cache_handle, fetched

from actors.handles import LocalPort
from actors.page_source import PageSource
from actors.role_handles import PageCacheHandle
from config.tenants import WebConfig, WebSourceConfig
from crawler.cache import CacheAnswer, PageCache, PageKey
from crawler.pages import PageRequest
from crawler.scope import WebSource
from domain.errors import ActorUnavailable, PageFailed, PageRejected

URL = "https://a.example/hr/"
REQUEST = PageRequest(source=WebSource(URL), url=URL)
WEB = WebConfig(enabled=True, sources=(WebSourceConfig(url=URL),), refresh_interval_seconds=60)


class Bench:
    """A page cache on a clock of its own, and a scripted crawler."""

    def __init__(self, *answers: object) -> None:
        self.clock = FakeClock()
        self.cache = PageCache(lease_seconds=30.0, clock=self.clock)
        self.crawler = FakeCrawler(*answers)

    def source(self, tenant: str = "acme", web: WebConfig = WEB) -> PageSource:
        return PageSource(tenant, web, cache_handle(self.cache), self.crawler.handle)


async def test_a_fetched_page_is_cached_for_the_tenant() -> None:
    bench = Bench(fetched(URL, "text"))
    first = await bench.source().fetch(REQUEST)
    again = await bench.source().fetch(REQUEST)
    assert first == again == fetched(URL, "text")
    assert len(bench.crawler.requests) == 1


async def test_another_tenant_or_configuration_does_not_see_the_page() -> None:
    bench = Bench(*[fetched(URL, str(n)) for n in range(3)])
    changed = WEB.model_copy(update={"max_depth": 2})
    pages = [
        await bench.source().fetch(REQUEST),
        await bench.source(tenant="zoo").fetch(REQUEST),
        await bench.source(web=changed).fetch(REQUEST),
    ]
    assert [page.page.text for page in pages if page.page] == ["0", "1", "2"]


@pytest.mark.parametrize(("age", "fetches"), [(59.9, 1), (60.0, 2)])
async def test_a_page_lives_for_the_refresh_interval(age: float, fetches: int) -> None:
    bench = Bench(fetched(URL, "old"), fetched(URL, "new"))
    await bench.source().fetch(REQUEST)
    bench.clock.advance(age)
    await bench.source().fetch(REQUEST)
    assert len(bench.crawler.requests) == fetches


async def test_an_expired_page_is_revalidated_and_renewed_by_a_304() -> None:
    bench = Bench(fetched(URL, "kept", etag='"1"'), fetched(URL, not_modified=True, etag='"1"'))
    await bench.source().fetch(REQUEST)
    bench.clock.advance(61)
    page = await bench.source().fetch(REQUEST)
    assert page.page is not None
    assert page.page.text == "kept"
    assert page.not_modified is False
    validators = bench.crawler.requests[1].validators
    assert validators is not None
    assert validators.etag == '"1"'
    await bench.source().fetch(REQUEST)
    assert len(bench.crawler.requests) == 2, "the renewed page is young again"


async def test_a_304_without_a_page_to_renew_is_a_failure() -> None:
    bench = Bench(fetched(URL, not_modified=True), fetched(URL, "x"))
    with pytest.raises(PageFailed) as caught:
        await bench.source().fetch(REQUEST)
    assert (caught.value.code, caught.value.status) == ("http_error", 304)
    assert bench.cache.count("acme") == 0
    await bench.source().fetch(REQUEST)


async def test_an_expired_page_is_never_served_when_its_revalidation_fails() -> None:
    bench = Bench(fetched(URL, "old"), PageFailed("timeout"), fetched(URL, "new"))
    await bench.source().fetch(REQUEST)
    bench.clock.advance(61)
    with pytest.raises(PageFailed, match="timeout"):
        await bench.source().fetch(REQUEST)
    page = await bench.source().fetch(REQUEST)
    assert page.page is not None
    assert page.page.text == "new"
    assert bench.crawler.requests[2].validators is None, "the old page is forgotten"


@pytest.mark.parametrize(
    "error", [PageFailed("http_error", status=503), PageRejected("redirect_out_of_scope")]
)
async def test_a_failure_reaches_leader_and_followers_with_its_code(
    error: PageFailed | PageRejected,
) -> None:
    gate = asyncio.Event()

    class Failing(FakeCrawler):
        async def fetch(self, request: PageRequest) -> None:  # type: ignore[override]
            self.requests.append(request)
            await gate.wait()
            raise error

    bench = Bench()
    bench.crawler = Failing()
    tasks = [asyncio.create_task(bench.source().fetch(REQUEST)) for _ in range(3)]
    await asyncio.sleep(0.02)
    gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [type(error)] * 3
    assert {getattr(result, "code", "") for result in results} == {error.code}
    assert {getattr(result, "status", None) for result in results} == {
        getattr(error, "status", None)
    }
    assert len(bench.crawler.requests) == 1


async def test_two_requests_for_the_same_page_cause_one_fetch() -> None:
    gate = asyncio.Event()
    bench = Bench(gate)
    tasks = [asyncio.create_task(bench.source().fetch(REQUEST)) for _ in range(5)]
    await asyncio.sleep(0.02)
    gate.set()
    pages = await asyncio.gather(*tasks)
    assert len({page.page.text for page in pages if page.page}) == 1
    assert len(bench.crawler.requests) == 1


async def test_a_cancelled_leader_lets_a_follower_lead() -> None:
    never = asyncio.Event()
    bench = Bench(never, fetched(URL, "by the follower"))
    leader = asyncio.create_task(bench.source().fetch(REQUEST))
    await asyncio.sleep(0.02)
    followers = [asyncio.create_task(bench.source().fetch(REQUEST)) for _ in range(2)]
    await asyncio.sleep(0.02)
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    async with asyncio.timeout(5.0):
        pages = await asyncio.gather(*followers)
    assert [page.page.text for page in pages if page.page] == ["by the follower"] * 2
    assert len(bench.crawler.requests) == 2


class SlowAnswer(PageCacheHandle):
    """A cache whose answers stay on the way, as they may between two processes."""

    async def begin(self, key: PageKey, max_age_seconds: float, lease: str) -> CacheAnswer:
        answer = await super().begin(key, max_age_seconds, lease)
        await asyncio.sleep(30.0)
        return answer


class DeadCache(PageCacheHandle):
    """A cache whose process has ended."""

    async def begin(self, key: PageKey, max_age_seconds: float, lease: str) -> CacheAnswer:
        raise ActorUnavailable("page_cache", "its process ended")


async def test_without_its_cache_a_page_is_read_all_the_same() -> None:
    bench = Bench(fetched(URL, "read"))
    dead = DeadCache(LocalPort("page_cache", bench.cache))
    page = await PageSource("acme", WEB, dead, bench.crawler.handle).fetch(REQUEST)
    assert page.page is not None
    assert page.page.text == "read"


async def test_a_lease_whose_answer_never_arrived_is_given_back() -> None:
    bench = Bench(fetched(URL, "by the next"))
    slow = SlowAnswer(LocalPort("page_cache", bench.cache))
    lost = asyncio.create_task(PageSource("acme", WEB, slow, bench.crawler.handle).fetch(REQUEST))
    await asyncio.sleep(0.02)
    lost.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lost
    async with asyncio.timeout(5.0):
        page = await bench.source().fetch(REQUEST)
    assert page.page is not None
    assert page.page.text == "by the next"


async def test_a_leader_that_fails_in_a_foreign_way_lets_a_follower_lead() -> None:
    bench = Bench(RuntimeError("odd"), fetched(URL, "next"))
    with pytest.raises(RuntimeError, match="odd"):
        await bench.source().fetch(REQUEST)
    async with asyncio.timeout(5.0):
        page = await bench.source().fetch(REQUEST)
    assert page.page is not None
    assert page.page.text == "next"
