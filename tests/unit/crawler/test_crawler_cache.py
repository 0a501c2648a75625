"""The page cache: expiry, renewal, one fetch at a time, succession, and tenants kept apart."""

from __future__ import annotations

import asyncio

import pytest

from crawler.cache import Hit, Lead, PageCache, PageKey
from crawler.extract import ExtractedPage
from crawler.pages import FetchedPage, PageValidators
from domain.errors import PageFailed, PageRejected

pytestmark = pytest.mark.asyncio
URL = "https://www.example.org/policies/"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def key(url: str = URL, tenant: str = "a", fingerprint: str = "f") -> PageKey:
    return PageKey(tenant=tenant, fingerprint=fingerprint, url=url)


def fetched(text: str = "text", **changes: object) -> FetchedPage:
    page = ExtractedPage(
        title="t", text=text, headings=(), links=(), truncated=False, language=None
    )
    values = {"requested_url": URL, "url": URL, "secure": True, "page": page, **changes}
    return FetchedPage.model_validate(values)


async def lead(cache: PageCache, wanted: PageKey, age: float = 60) -> Lead:
    answer = await cache.begin(wanted, age)
    assert isinstance(answer, Lead)
    return answer


async def test_a_completed_page_is_served_until_it_expires() -> None:
    clock = Clock()
    cache = PageCache(clock=clock)
    first = await lead(cache, key())
    assert first.stale is None
    await cache.complete(key(), first.lease, fetched())
    assert await cache.begin(key(), 60) == Hit(page=fetched())
    clock.now += 60
    second = await lead(cache, key())
    assert second.stale == fetched()


async def test_a_304_renews_and_a_change_replaces() -> None:
    clock = Clock()
    cache = PageCache(clock=clock)
    first = await lead(cache, key())
    await cache.complete(
        key(), first.lease, fetched(validators=PageValidators(etag='"1"', url=URL))
    )
    clock.now += 61
    second = await lead(cache, key())
    assert second.stale is not None
    assert second.stale.validators.etag == '"1"'
    answer = fetched(page=None, not_modified=True, validators=PageValidators(etag='"2"', url=URL))
    await cache.complete(key(), second.lease, answer.renewing(second.stale))
    hit = await cache.begin(key(), 60)
    assert isinstance(hit, Hit)
    assert hit.page.page == fetched().page
    assert hit.page.validators.etag == '"2"'
    clock.now += 61
    third = await lead(cache, key())
    await cache.complete(key(), third.lease, fetched("new"))
    changed = await cache.begin(key(), 60)
    assert isinstance(changed, Hit)
    assert changed.page.page is not None
    assert changed.page.page.text == "new"


async def test_a_failed_refresh_serves_nothing() -> None:
    clock = Clock()
    cache = PageCache(clock=clock)
    first = await lead(cache, key())
    await cache.complete(key(), first.lease, fetched())
    clock.now += 61
    second = await lead(cache, key())
    await cache.fail(key(), second.lease, "http_error", 503)
    third = await lead(cache, key())
    assert third.stale is None


async def test_followers_wait_for_one_fetch() -> None:
    cache = PageCache()
    leader = await lead(cache, key())
    followers = [asyncio.create_task(cache.begin(key(), 60)) for _ in range(5)]
    await asyncio.sleep(0.01)
    assert not any(task.done() for task in followers)
    await cache.complete(key(), leader.lease, fetched())
    assert await asyncio.gather(*followers) == [Hit(page=fetched())] * 5


@pytest.mark.parametrize("code", ["http_error", "non_public_address"])
async def test_followers_get_the_leaders_failure(code: str) -> None:
    cache = PageCache()
    leader = await lead(cache, key())
    follower = asyncio.create_task(cache.begin(key(), 60))
    await asyncio.sleep(0)
    await cache.fail(key(), leader.lease, code, 503, ("abcd",))
    with pytest.raises((PageFailed, PageRejected)) as failure:
        await follower
    assert failure.value.code == code
    assert failure.value.fields["trail"] == ("abcd",)
    assert isinstance(failure.value, PageRejected) == (code == "non_public_address")


async def test_an_abandoned_fetch_has_exactly_one_successor() -> None:
    cache = PageCache()
    leader = await lead(cache, key())
    followers = [asyncio.create_task(cache.begin(key(), 60)) for _ in range(4)]
    await asyncio.sleep(0)
    await cache.abandon(key(), leader.lease)
    done, waiting = await asyncio.wait(followers, timeout=0.05)
    (successor,) = [task.result() for task in done]
    assert isinstance(successor, Lead)
    await cache.complete(key(), successor.lease, fetched())
    assert all(isinstance(task, Hit) for task in await asyncio.gather(*waiting))


async def test_an_expired_lease_is_taken_over_and_its_late_report_ignored() -> None:
    cache = PageCache(lease_seconds=0.05)
    leader = await lead(cache, key())
    successor = await lead(cache, key())
    await cache.complete(key(), leader.lease, fetched("late"))
    await cache.fail(key(), leader.lease, "timeout", None)
    follower = asyncio.create_task(cache.begin(key(), 60))
    await asyncio.sleep(0)
    await cache.complete(key(), successor.lease, fetched("right"))
    hit = await follower
    assert isinstance(hit, Hit)
    assert hit.page == fetched("right")


async def test_a_cancelled_follower_disturbs_nobody() -> None:
    cache = PageCache()
    leader = await lead(cache, key())
    first, second = (asyncio.create_task(cache.begin(key(), 60)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await cache.complete(key(), leader.lease, fetched())
    assert isinstance(await second, Hit)


async def test_the_least_recently_used_page_goes_first() -> None:
    cache = PageCache(pages_per_tenant=2)
    for name in ("1", "2"):
        await cache.complete(key(name), (await lead(cache, key(name))).lease, fetched())
    assert isinstance(await cache.begin(key("1"), 60), Hit)
    await cache.complete(key("3"), (await lead(cache, key("3"))).lease, fetched())
    assert isinstance(await cache.begin(key("1"), 60), Hit)
    assert isinstance(await cache.begin(key("2"), 60), Lead)
    assert cache.count("a") == 2


async def test_tenants_and_configurations_never_share_an_entry() -> None:
    cache = PageCache(pages_per_tenant=1)
    await cache.complete(key(), (await lead(cache, key())).lease, fetched())
    for other in (key(tenant="b"), key(fingerprint="g")):
        answer = await lead(cache, other)
        assert answer.stale is None
    assert isinstance(await cache.begin(key(), 60), Hit)
