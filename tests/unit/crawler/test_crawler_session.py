"""A research's browsing: budgets, depth, handles, isolation and cancellation, with a fake fetch."""

from __future__ import annotations

import asyncio
import logging

import pytest
from fake_web import A, B, Web, entry, links, refused, session

from domain.errors import ActorUnavailable, PageFailed, PageRejected

pytestmark = pytest.mark.asyncio


async def test_entry_pages_are_read_at_once_and_only_they() -> None:
    web = Web()
    web.add(A, A + "x")
    web.add(B, B + "y")
    browsing = session(web, A, B)
    outcomes = await browsing.discover(18)
    assert [outcome.status for outcome in outcomes] == ["read", "read"]
    assert web.most_active == 2
    assert len(web.requests) == 2
    assert await browsing.discover(18) == outcomes
    assert len(web.requests) == 2


async def test_a_failed_source_hides_no_other_and_completed_pages_are_kept() -> None:
    web = Web()
    c, d, e = ("https://c.example/", "https://d.example/", "ftp://e.example/")
    web.add(B)
    web.stuck.add(A)
    web.failures[c] = PageFailed("http_error", status=503)
    web.failures[d] = RuntimeError("text")
    outcomes = await session(web, A, B, c, d, e).discover(0.05)
    assert [outcome.code for outcome in outcomes] == [
        "timeout",
        None,
        "http_error",
        "unexpected",
        "invalid_url",
    ]
    assert (web.cancelled, web.drained) == (1, 1)


async def test_cancelling_discovery_drains_its_children() -> None:
    web = Web()
    web.stuck |= {A, B}
    task = asyncio.create_task(session(web, A, B).discover(18))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (web.cancelled, web.drained) == (2, 2)


async def test_a_dead_actor_is_a_code() -> None:
    web = Web()
    web.failures[A] = ActorUnavailable("the crawler", "died")
    (outcome,) = await session(web).discover(18)
    assert outcome.code == "actor_unavailable"


async def test_handles_are_unguessable_and_valid_for_their_own_session() -> None:
    web = Web()
    web.add(A, A + "x")
    web.add(A + "x")
    first, second = session(web), session(web)
    (mine,) = await links(first)
    (other,) = await links(second)
    assert mine.page_id != other.page_id
    assert len(mine.page_id) >= 16
    assert await refused(second, mine.page_id) == "unknown_page"
    assert await refused(first, A + "x") == "unknown_page"
    assert await refused(first, "") == "unknown_page"
    assert (await first.read(mine.page_id)).url == A + "x"


async def test_page_budgets_count_failures_and_failed_pages_are_not_retried() -> None:
    web = Web()
    web.add(A, A + "1", A + "2", A + "3")
    web.failures[A + "1"] = PageFailed("http_error", status=404)
    web.add(A + "2")
    browsing = session(web, max_pages_per_source=3, reads=10)
    one, two, three = await links(browsing)
    for _ in range(2):
        with pytest.raises(PageFailed):
            await browsing.read(one.page_id)
    await browsing.read(two.page_id)
    assert await refused(browsing, three.page_id) == "source_page_limit"
    budget = browsing.web_budget()
    assert (budget.used, budget.remaining) == (3, 5)
    assert (budget.per_source[0].used, budget.per_source[0].remaining) == (3, 0)
    assert len(web.requests) == 3


async def test_the_global_page_limit_holds_over_all_sources() -> None:
    web = Web()
    web.add(A, A + "1", A + "2")
    web.add(A + "1")
    web.add(B)
    browsing = session(web, A, B, max_pages=3)
    one, two = await links(browsing)
    await browsing.read(one.page_id)
    assert await refused(browsing, two.page_id) == "page_limit"
    limited = session(web, A, B, max_pages=1)
    assert [outcome.code for outcome in await limited.discover(18)] == [None, "page_limit"]


async def test_repeated_sectional_and_continued_reads_cost_no_attempt() -> None:
    web = Web()
    web.add(A, A + "x")
    web.add(A + "x", text="word " * 3000, headings=("Claims", "Limits"))
    browsing = session(web)
    (link,) = await links(browsing)
    window = await browsing.read(link.page_id)
    assert len(window.text) <= 6000
    assert window.next_offset is not None
    following = await browsing.read(link.page_id, offset=window.next_offset)
    assert following.offset == window.next_offset
    section = await browsing.read(link.page_id, section_id="s2")
    assert section.text.startswith("Limits")
    assert browsing.web_budget().used == 2
    assert browsing.web_budget().remaining_reads == 1
    for how in ({"section_id": "s9"}, {"offset": -1}, {"offset": 10**9}):
        assert await refused(browsing, link.page_id, **how) == "invalid_section"
    assert browsing.web_budget().remaining_reads == 1
    await browsing.read(link.page_id)
    assert await refused(browsing, link.page_id) == "read_limit"
    assert len(web.requests) == 2


async def test_an_anchor_selects_its_section() -> None:
    web = Web()
    web.add(A, A + "x#limits", A + "x")
    web.add(A + "x", text="word " * 100, headings=("Claims", "Limits"))
    browsing = session(web)
    anchored, plain = await links(browsing)
    window = await browsing.read(anchored.page_id)
    assert window.text.startswith("Limits")
    assert window.section_id == "s2"
    assert (await browsing.read(plain.page_id)).offset == 0
    assert browsing.web_budget().used == 2


async def test_depth_is_enforced_where_it_is_read() -> None:
    web = Web()
    web.add(A, A + "1")
    web.add(A + "1", A + "2")
    web.add(A + "2", A + "3")
    browsing = session(web, max_depth=1)
    (one,) = await links(browsing)
    assert (await browsing.read(one.page_id)).links == ()
    source = browsing._sources[0]
    deep = browsing._handles.issue(source, A + "2", "", 2).page_id
    assert await refused(browsing, deep) == "depth_limit"
    assert (await entry(session(web, follow_links=False))).links == ()
    assert (await entry(session(web, max_depth=0))).links == ()


async def test_reads_are_serialized_and_stop_at_the_deadline() -> None:
    web = Web()
    web.add(A, A + "1", A + "2")
    web.add(A + "1")
    web.add(A + "2")
    now = [0.0]
    browsing = session(web, clock=lambda: now[0])
    one, two = await links(browsing)
    await asyncio.gather(browsing.read(one.page_id), browsing.read(two.page_id))
    assert web.most_active == 1
    now[0] = 45.0
    assert await refused(browsing, one.page_id) == "deadline"


async def test_https_sticks_for_the_run_also_when_a_cached_page_brought_it() -> None:
    web = Web()
    seed = "http://a.example/docs/"
    web.moved[seed] = A
    web.add(A, "http://a.example/docs/x", A + "y")
    web.add(A + "x")
    browsing = session(web, seed)
    found = await links(browsing)
    assert (await browsing.read(found[0].page_id)).url == A + "x"
    assert web.requests[1].url == A + "x"
    assert web.requests[1].secure


async def test_a_cancelled_read_counts_and_is_not_retried() -> None:
    web = Web()
    web.add(A, A + "x")
    web.stuck.add(A + "x")
    browsing = session(web)
    (link,) = await links(browsing)
    task = asyncio.create_task(browsing.read(link.page_id))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert web.drained == 1
    with pytest.raises(PageFailed):
        await browsing.read(link.page_id)
    assert browsing.web_budget().used == 2


async def test_records_carry_codes_and_counts_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    web = Web()
    web.add(A, A + "1", A + "2", text="Secret prose")
    web.failures[A + "1"] = PageFailed("http_error", status=503, error_type="X")
    web.failures[B] = PageRejected("non_public_address")
    web.add(A + "2", text="Secret prose")
    browsing = session(web, A, B)
    one, two = await links(browsing)
    with pytest.raises(PageFailed):
        await browsing.read(one.page_id)
    await browsing.read(two.page_id)
    await refused(browsing, "made-up-by-a-model")
    text = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    for secret in ("example", "Secret", "Title", "made-up", "docs"):
        assert secret not in text.replace("logging", "")
    for wanted in (
        "request-7",
        "code=http_error",
        "status=503",
        "source=1",
        "attempt=3",
        "error_type=X",
        "code=non_public_address",
        "outcome=delivered",
        "outcome=unknown_page",
        "depth=1",
        f"page={two.page_id}",
    ):
        assert wanted in text
