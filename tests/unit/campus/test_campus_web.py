"""``search_web``: which pages a turn reads, that it reads none twice, and what it does without."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from campus_bench import (
    AGENT,
    DOWN,
    SITE,
    WEB,
    CampusBench,
    cite,
    page_of,
    results,
    verdicts,
)
from campus_runs import run_of
from fake_roles import cache_handle
from model_server import ModelServer
from scripted_replies import Calls, Chosen, Text, call

from actors.campus.link_proposals import LinkProposals
from actors.campus.query_cache import QueryCache
from actors.campus.web import WebSearch
from actors.handles import LocalPort
from actors.page_source import PageSource
from actors.role_handles import CrawlerHandle
from crawler.extract import ExtractedPage
from crawler.session import BrowsingSession
from domain.budgets import Budget

ANSWER = Text("Apply by 15 July [1].")
AGAIN = call("search_web", query="application period", about="general")
FAR = {"Welcome": 0.1, "About": 0.1, "Fees": 0.1}


def linked(**links: str) -> ExtractedPage:
    return page_of("Welcome", "Start", **links)


def numbered(count: int) -> dict[str, ExtractedPage]:
    """An entry page and the pages that it links to."""
    links = {f"Part{n}": f"p{n}.html" for n in range(count)}
    return {SITE: linked(**links), **{SITE + p: page_of(f"About {p}.", p) for p in links.values()}}


def bench_of(models: ModelServer, pages: dict[str, ExtractedPage], **more: Any) -> CampusBench:
    web = {"max_pages": 20, "max_pages_per_source": 20, **more.pop("web", {})}
    return CampusBench(models, pages=pages, web=web, chatbot={"rag": {}}, **more)


async def test_a_search_reads_the_entry_page_and_the_three_most_promising_ones(
    models: ModelServer,
) -> None:
    pages = {**numbered(6), SITE: linked(**{f"Part{n}": f"p{n}.html" for n in range(6)})}
    near = {f"Part{n} ": 0.1 * n for n in range(6)}
    bench = bench_of(models, pages, near={**near, "About": 0.1}, recursion_limit=4)
    await bench.run(WEB)
    assert bench.crawler.fetched == [SITE, *(f"{SITE}p{n}.html" for n in (5, 4, 3))]


async def test_a_page_that_was_just_read_may_lead_on(models: ModelServer) -> None:
    deep = {
        SITE: linked(Study="study.html"),
        f"{SITE}study.html": page_of("Programmes", "Study", Deadlines="deadlines.html"),
        f"{SITE}deadlines.html": page_of("Apply by 15 July.", "Deadlines"),
    }
    bench = bench_of(models, deep, near={"15 July": 0.9}, web={"max_depth": 2})
    _, outcome = await bench.run(WEB, ANSWER, evidence=[cite("w1"), cite("w2")])
    assert bench.crawler.fetched == [SITE, f"{SITE}study.html", f"{SITE}deadlines.html"]
    assert f"{SITE}deadlines.html" in outcome.text


async def test_no_page_is_visited_or_shown_twice_in_a_turn(models: ModelServer) -> None:
    bench = bench_of(models, numbered(6), near=FAR)
    await bench.run(WEB, AGAIN)
    assert len(bench.crawler.fetched) == len(set(bench.crawler.fetched)) == 7
    # What the third call would see: both searches' results.
    first = [one["title"] for one in results(models, 1)[0]["results"]]
    assert len(first) == 4 and "Start" in first
    bench = bench_of(models, numbered(6), near=FAR, recursion_limit=12, name="other")
    models.reset()
    await bench.run(WEB, AGAIN, WEB)
    both = [one["title"] for r in results(models, 2) for one in r["results"]]
    assert len(both) == len(set(both)) == 7


async def test_two_searches_of_one_batch_share_what_they_read(models: ModelServer) -> None:
    bench = bench_of(models, numbered(4), near=FAR, recursion_limit=4)
    await bench.run(Calls((*WEB.calls, *AGAIN.calls)))
    assert sorted(bench.crawler.fetched) == sorted(bench.crawler.pages)
    assert len(bench.redis.values) == 2


async def test_a_kept_query_needs_no_visit_and_its_pages_need_none_later(
    models: ModelServer,
) -> None:
    bench = bench_of(models, numbered(3), near=FAR, recursion_limit=4)
    await bench.run(WEB)
    pages = list(bench.crawler.fetched)
    bench.cache = type(bench.cache)()
    bench.crawler.fetched.clear()
    await bench.run(WEB)
    assert bench.crawler.fetched == []
    longer = bench_of(models, numbered(3), near=FAR, redis=bench.redis)
    await longer.run(WEB, AGAIN)
    assert longer.crawler.fetched == [SITE] and len(pages) == 4


async def test_a_dead_link_is_skipped_and_the_search_not_kept(models: ModelServer) -> None:
    pages = numbered(3)
    del pages[f"{SITE}p1.html"]
    bench = bench_of(models, pages, near=FAR, recursion_limit=4)
    events, outcome = await bench.run(WEB)
    assert len(bench.crawler.fetched) == 4 and bench.redis.values == {}
    assert verdicts(events) == [("grade", "not_relevant", "far")]
    # A dead link on a page is no source that did not respond.
    assert outcome.knowledge is not None and outcome.knowledge.status == "unanswerable"


async def test_a_site_that_does_not_respond_is_unavailable(models: ModelServer) -> None:
    bench = bench_of(models, {SITE: linked()}, recursion_limit=4)
    bench.crawler.pages = {}
    events, outcome = await bench.run(WEB)
    assert verdicts(events) == [("grade", "not_relevant", "tools_failed")]
    assert outcome.knowledge is not None and outcome.knowledge.status == "unavailable"
    assert outcome.knowledge.citations == () and outcome.text


async def test_one_of_two_sites_silent_makes_an_absence_unavailable(models: ModelServer) -> None:
    other = "http://www.uni.example/de/"
    sources = [{"url": SITE}, {"url": other}]
    bench = bench_of(models, {SITE: linked()}, near=FAR, web={"sources": sources})
    _, outcome = await bench.run(WEB, AGAIN)
    assert outcome.knowledge is not None and outcome.knowledge.status == "unavailable"
    assert bench.redis.values == {}


async def test_pages_run_out_and_what_was_found_is_not_kept(models: ModelServer) -> None:
    bench = bench_of(models, numbered(3), near=FAR, web={"max_pages": 2}, recursion_limit=4)
    _, outcome = await bench.run(WEB)
    assert len(bench.crawler.fetched) == outcome.spent.page_attempts == 2
    assert bench.redis.values == {}


@pytest.mark.parametrize("narrow", [{"page_attempts": 2}, {"reads": 1}])
async def test_the_requests_own_budget_is_narrower(
    models: ModelServer, narrow: dict[str, int]
) -> None:
    bench = bench_of(models, numbered(3), near=FAR, recursion_limit=4)
    _, outcome = await bench.run(WEB, context={"budget": Budget(**narrow)})
    assert len(bench.crawler.fetched) == 2 and outcome.spent.reads == 1


async def test_the_same_path_on_two_sites_is_two_pages(models: ModelServer) -> None:
    other = "http://www.other.example/en/"
    entry = linked(Fees="fees.html")
    links = tuple(k.model_copy(update={"url": f"{other}fees.html"}) for k in entry.links)
    pages = {
        SITE: entry,
        other: entry.model_copy(update={"links": links}),
        f"{SITE}fees.html": page_of("Fees here.", "Here"),
        f"{other}fees.html": page_of("Fees there.", "There"),
    }
    sources = [{"url": SITE}, {"url": other}]
    bench = bench_of(models, pages, near=FAR, web={"sources": sources}, recursion_limit=4)
    await bench.run(WEB)
    assert sorted(bench.crawler.fetched) == sorted(pages)


async def test_pages_are_found_without_embeddings_by_their_words(models: ModelServer) -> None:
    pages = numbered(6)
    pages[SITE] = linked(**{f"Part{n}": f"p{n}.html" for n in range(6)}, Deadline="late.html")
    pages[f"{SITE}late.html"] = page_of("The deadline is 15 July.", "Late")
    bench = bench_of(models, pages, embedding=DOWN)
    graded = [Chosen("relevant")]
    _, outcome = await bench.run(WEB, ANSWER, grading=graded, evidence=[cite("w1")])
    assert bench.crawler.fetched[1] == f"{SITE}late.html"
    assert f"Late: {SITE}late.html" in outcome.text


async def test_a_search_that_takes_long_keeps_what_it_has_read(models: ModelServer) -> None:
    bench = bench_of(models, numbered(3), near=FAR)
    bench.crawler.slow = {f"{SITE}p1.html"}
    crawlers = CrawlerHandle([LocalPort("crawler_1", bench.crawler)])
    source = PageSource("acme", bench.tenant.web, cache_handle(bench.cache), crawlers)
    run = run_of(
        session=BrowsingSession(bench.tenant.web, source.fetch),
        chatbot={"knowledge_base": {"web": bench.tenant.web.model_dump(mode="json")}},
    )
    cache, proposals = QueryCache(bench.redis), LinkProposals({}, {})
    web = WebSearch(bench.embedder, cache, proposals, seconds=0.3)  # type: ignore[arg-type]
    started = time.monotonic()
    found = await web.search(run, {"query": "deadline"}, lambda event: None)
    assert 0.3 <= time.monotonic() - started < 3.0
    assert bench.crawler.cancelled == 1
    assert {one.title for one in found} == {"Start", "p0.html"}
    assert bench.redis.values == {} and run.silent == set()


async def test_a_cancelled_search_cancels_its_fetch(models: ModelServer) -> None:
    bench = bench_of(models, numbered(3), near=FAR)
    bench.crawler.slow = {SITE}
    turn = asyncio.create_task(bench.run(WEB))
    async with asyncio.timeout(10):
        while not bench.crawler.fetched:
            await asyncio.sleep(0.01)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert bench.crawler.cancelled == 1
    assert len(models.asked(AGENT)) == 1


async def test_what_an_entry_page_says_about_its_links_is_no_evidence(
    models: ModelServer,
) -> None:
    text = "We open at 9.\n\n- Fees: what a semester costs.\n- Room 5 is closed.\n\nFees are due."
    pages = {
        SITE: page_of(text, "Start", Fees="fees.html"),
        f"{SITE}fees.html": page_of("- Fees: 349 euros.", "Fees", Fees="fees.html"),
        "http://www.uni.example/de/": page_of("- Gebühren: hier.", "Anfang", Gebühren="x.html"),
    }
    sources = [{"url": SITE}, {"url": "http://www.uni.example/de/"}]
    far = {"open": 0.1, "349": 0.1}
    bench = bench_of(models, pages, near=far, web={"sources": sources})
    await bench.run(WEB, AGAIN)
    shown = {one["title"]: one["text"] for one in results(models, 1)[0]["results"]}
    assert shown == {
        "Start": "We open at 9.\n\n- Room 5 is closed.\n\nFees are due.",
        "Fees": "- Fees: 349 euros.",
    }
