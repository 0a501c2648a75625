"""A research's browsing: budgets, depth, handles, isolation and cancellation, with a fake fetch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from config.policy import POLICY
from config.tenants import WebConfig, WebSourceConfig
from crawler.extract import ExtractedPage, Heading, Link
from crawler.pages import FetchedPage, PageRequest
from crawler.session import BrowsingSession
from crawler.windows import OfferedLink, PageWindow, ReadRefused
from domain.errors import ActorUnavailable, PageFailed, PageRejected

pytestmark = pytest.mark.asyncio

A = "https://a.example/docs/"
B = "https://b.example/docs/"


class Web:
    """A fake web: pages by URL, failures, and pages that never answer."""

    def __init__(self) -> None:
        self.pages: dict[str, ExtractedPage] = {}
        self.failures: dict[str, Exception] = {}
        self.stuck: set[str] = set()
        self.moved: dict[str, str] = {}
        self.requests: list[PageRequest] = []
        self.cancelled = 0
        self.drained = 0
        self.active = 0
        self.most_active = 0

    def add(self, url: str, *links: str, text: str = "", headings: tuple[str, ...] = ()) -> None:
        found = []
        body = text or f"Text of {url}."
        for number, title in enumerate(headings, 1):
            body += f"\n\n{title}"
            found.append(
                Heading(
                    title=title,
                    level=2,
                    offset=len(body) - len(title),
                    ids=(title.lower(),),
                    section_id=f"s{number}",
                )
            )
        self.pages[url] = ExtractedPage(
            title="Title",
            text=body,
            headings=tuple(found),
            links=tuple(
                Link(
                    label=f"To {n}",
                    url=link.split("#")[0],
                    context="",
                    fragment=link.partition("#")[2],
                )
                for n, link in enumerate(links)
            ),
            truncated=False,
            language="en",
        )

    async def fetch(self, request: PageRequest) -> FetchedPage:
        self.requests.append(request)
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        try:
            await asyncio.sleep(0)
            if request.url in self.stuck:
                await asyncio.sleep(60)
            if request.url in self.failures:
                raise self.failures[request.url]
            url = self.moved.get(request.url, request.url)
            return FetchedPage(
                requested_url=request.url,
                url=url,
                secure=url.startswith("https"),
                page=self.pages[url],
            )
        except asyncio.CancelledError:
            self.cancelled += 1
            await asyncio.sleep(0.02)
            self.drained += 1
            raise
        finally:
            self.active -= 1


def session(
    web: Web,
    *seeds: str,
    clock: Callable[[], float] | None = None,
    reads: int = 4,
    **config: object,
) -> BrowsingSession:
    sources = tuple(WebSourceConfig(url=seed) for seed in seeds or (A,))
    limits = replace(POLICY, research=replace(POLICY.research, reads=reads))
    given = {"clock": clock} if clock else {}
    return BrowsingSession(
        WebConfig(enabled=True, sources=sources, **config),  # type: ignore[arg-type]
        web.fetch,
        limits=limits,
        request_id="request-7",
        **given,  # type: ignore[arg-type]
    )


async def entry(browsing: BrowsingSession) -> PageWindow:
    outcomes = await browsing.discover(18)
    assert outcomes[0].window is not None
    return outcomes[0].window


async def links(browsing: BrowsingSession) -> tuple[OfferedLink, ...]:
    return (await entry(browsing)).links


async def refused(browsing: BrowsingSession, page_id: str, **how: object) -> str:
    with pytest.raises(ReadRefused) as refusal:
        await browsing.read(page_id, **how)  # type: ignore[arg-type]
    return refusal.value.reason


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


async def test_a_window_offers_a_bounded_choice_of_links_and_headings() -> None:
    web = Web()
    titles = tuple(f"Heading {n}" for n in range(300))
    web.add(A, *(f"{A}{n}" for n in range(500)), headings=titles, text="prose " * 4000)
    page = web.pages[A]
    links = [
        link.model_copy(update={"context": "Some prose around it."}) if n % 5 == 0 else link
        for n, link in enumerate(page.links)
    ]
    headings = [
        heading.model_copy(update={"level": 1}) if n in (150, 299) else heading
        for n, heading in enumerate(page.headings)
    ]
    web.pages[A] = page.model_copy(update={"links": tuple(links), "headings": tuple(headings)})
    window = await entry(session(web))
    assert (len(window.links), window.links_left_out) == (120, 380)
    assert (len(window.headings), window.headings_left_out) == (120, 180)
    # Every link with prose is there, and the page's order is kept.
    assert sum(1 for link in window.links if link.context) == 100
    places = [int(link.path.rsplit("/", 1)[1]) for link in window.links]
    assert places == sorted(places)
    assert [entry.section_id for entry in window.headings][-1] == "s300"
    assert "s151" in [entry.section_id for entry in window.headings]


async def test_a_later_window_offers_its_own_headings_and_links() -> None:
    web = Web()
    web.add(A, A + "x", *(f"{A}{n}" for n in range(500)))
    web.add(A + "x", headings=tuple(f"Heading {n}" for n in range(300)))
    browsing = session(web, reads=10, max_depth=2)
    window = await entry(browsing)
    target = window.links[0].page_id
    page = web.pages[A + "x"]
    # Two thousand characters of prose under every heading.
    text, headings = "", []
    for heading in page.headings:
        headings.append(heading.model_copy(update={"offset": len(text)}))
        text += f"{heading.title}\n\n{'prose ' * 300}\n\n"
    many = tuple(
        Link(label=f"Topic {n}", url=f"{A}topic/{n}", context=f"All about Topic {n}.")
        for n in range(300)
    )
    text += "All about Topic 277."
    web.pages[A + "x"] = page.model_copy(
        update={"text": text, "headings": tuple(headings), "links": many}
    )
    await browsing.read(target)
    last = await browsing.read(target, section_id="s300")
    assert "s300" in [entry.section_id for entry in last.headings]
    assert "Topic 277" in [link.label for link in last.links]


async def test_nothing_is_left_out_of_an_ordinary_page() -> None:
    web = Web()
    web.add(A, A + "1", A + "2", headings=("One",))
    window = await entry(session(web))
    assert (window.links_left_out, window.headings_left_out) == (0, 0)
