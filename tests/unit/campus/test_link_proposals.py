"""A tenant's search endpoint: it may propose links, and that is all it may do."""

from __future__ import annotations

import gzip
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from campus_bench import AGENT, SITE, WEB, CampusBench, cite, page_of
from fake_requests import tenant_of
from model_server import ModelServer
from pydantic import SecretStr
from scripted_replies import Text
from search_endpoint import SearchEndpoint, search_endpoint

from actors.campus.link_proposals import LinkProposals, at_path
from config.policy import POLICY

KEY = "sekret/key&1"
NAMED = "https://search.uni.example/v1?q={query}&key={key}"
CONFIG = {"url": NAMED, "links": "items.*.link", "key_setting": "site_search"}
BYTES = POLICY.campus.endpoint_bytes


@pytest.fixture
def endpoint() -> Iterator[SearchEndpoint]:
    with search_endpoint() as running:
        yield running


@pytest.fixture
async def proposals() -> AsyncIterator[LinkProposals]:
    made = LinkProposals({"site_search": SecretStr(KEY)}, {})
    yield made
    await made.close()


async def asked(
    proposals: LinkProposals, endpoint: SearchEndpoint, query: str = "fees", **more: Any
) -> list[str] | None:
    url = f"http://{endpoint.address}/find?q={{query}}&key={{key}}"
    tenant = tenant_of(campus={"search_endpoint": {**CONFIG, "url": url, **more}})
    found = await proposals.links(tenant, query, "r1")
    return None if found is None else [link for link, _ in found]


async def test_links_stand_at_the_configured_path(
    endpoint: SearchEndpoint, proposals: LinkProposals
) -> None:
    endpoint.links(f"{SITE}fees.html", 7, None, "/en/about.html", "", f"{SITE}dates.html")
    assert await asked(proposals, endpoint) == [f"{SITE}fees.html", f"{SITE}dates.html"]
    endpoint.answer = b'{"items": "none"}'
    assert await asked(proposals, endpoint) == []


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("items.*.link", ["a", "b"]),
        ("items.1.link", ["b"]),
        ("items.9.link", []),
        ("items.*", [{"link": "a"}, {"link": "b"}]),
        ("other.*.link", []),
        ("items.link", []),
    ],
)
def test_a_path_of_an_answer(path: str, found: list[Any]) -> None:
    answer = {"items": [{"link": "a"}, {"link": "b"}]}
    assert list(at_path(answer, path.split("."))) == found


async def test_query_and_key_are_escaped_into_their_places(
    endpoint: SearchEndpoint, proposals: LinkProposals
) -> None:
    endpoint.links()
    await asked(proposals, endpoint, "fees & {key}/ä")
    assert endpoint.paths == ["/find?q=fees%20%26%20%7Bkey%7D%2F%C3%A4&key=sekret%2Fkey%261"]


async def test_only_so_many_links_are_taken(
    endpoint: SearchEndpoint, proposals: LinkProposals
) -> None:
    endpoint.links(*(f"{SITE}{n}.html" for n in range(POLICY.campus.endpoint_links + 1)))
    found = await asked(proposals, endpoint)
    assert found is not None and len(found) == POLICY.campus.endpoint_links


@pytest.mark.parametrize(("more", "accepted"), [(0, True), (1, False)])
async def test_the_size_of_an_answer_is_bounded(
    endpoint: SearchEndpoint, proposals: LinkProposals, more: int, accepted: bool
) -> None:
    endpoint.links(f"{SITE}fees.html")
    endpoint.answer += b" " * (BYTES - len(endpoint.answer) + more)
    assert (await asked(proposals, endpoint) is not None) is accepted


@pytest.mark.parametrize(
    ("answer", "status", "headers", "code"),
    [
        (b"{}", 500, {}, "http_500"),
        (b"{}", 302, {"Location": "http://127.0.0.1:9/"}, "http_302"),
        (b"<html>", 200, {}, "malformed"),
        (b"", 200, {}, "malformed"),
        (b"\xff\xfe", 200, {}, "malformed"),
        (b"[" * 100_000, 200, {}, "malformed"),
        (gzip.compress(b'{"items": []}'), 200, {"Content-Encoding": "gzip"}, "malformed"),
    ],
)
async def test_a_failing_endpoint_proposes_nothing_and_says_so_by_a_code(
    endpoint: SearchEndpoint,
    proposals: LinkProposals,
    caplog: pytest.LogCaptureFixture,
    answer: bytes,
    status: int,
    headers: dict[str, str],
    code: str,
) -> None:
    endpoint.answer, endpoint.status, endpoint.headers = answer, status, headers
    assert await asked(proposals, endpoint) is None
    [record] = [r for r in caplog.records if r.message == "search_endpoint_failed"]
    assert record.__dict__["code"] == code


@pytest.mark.parametrize("drips", [False, True])
async def test_an_answer_has_so_much_time_as_a_whole(
    endpoint: SearchEndpoint, proposals: LinkProposals, drips: bool
) -> None:
    endpoint.pause = 0.15 if drips else 1.0
    endpoint.answer = b" " * BYTES
    started = time.monotonic()
    assert await asked(proposals, endpoint, timeout_seconds=0.3) is None
    assert time.monotonic() - started < 0.8


async def test_nobody_listening_is_a_failure(
    endpoint: SearchEndpoint, proposals: LinkProposals
) -> None:
    endpoint.address = "127.0.0.1:9"
    assert await asked(proposals, endpoint) is None


async def test_no_cookie_is_carried_from_one_search_to_the_next(
    endpoint: SearchEndpoint, proposals: LinkProposals
) -> None:
    endpoint.headers = {"Set-Cookie": "session=1; Path=/"}
    await asked(proposals, endpoint)
    await asked(proposals, endpoint)
    assert endpoint.cookies == [None, None]


async def test_a_tenant_without_an_endpoint_has_no_proposals(proposals: LinkProposals) -> None:
    assert await proposals.links(tenant_of(campus={}), "fees", "r1") == []
    assert await proposals.links(tenant_of(), "fees", "r1") == []


def turn_bench(models: ModelServer, endpoint: SearchEndpoint, **more: Any) -> CampusBench:
    pages = {
        SITE: page_of("Welcome", "Start", Study="study.html", News="news.html", About="about.html"),
        f"{SITE}deep/deadline.html": page_of("Apply by 15 July.", "Deadlines"),
        **{f"{SITE}{name}.html": page_of("More", name) for name in ("study", "news", "about")},
    }
    # The search is named as outsiders see it; the operator's map says where it is dialled.
    settings = {
        "service_keys": {"site_search": KEY},
        "connect_to": {"localhost:80": endpoint.address},
    }
    return CampusBench(
        models,
        pages=pages,
        near={"15 July": 0.9, "Welcome": 0.1, "More": 0.1},
        settings=settings,
        web={"max_pages_per_source": 8},
        search_endpoint={**CONFIG, "url": "http://localhost/v1?q={query}&key={key}"},
        **more,
    )


async def test_a_proposed_page_is_read_although_nothing_links_to_it(
    models: ModelServer, endpoint: SearchEndpoint
) -> None:
    endpoint.links(f"{SITE}deep/deadline.html")
    bench = turn_bench(models, endpoint)
    _, outcome = await bench.run(WEB, Text("By 15 July [1]."), evidence=[cite("w1")])
    assert bench.crawler.fetched[:2] == [SITE, f"{SITE}deep/deadline.html"]
    assert f"{SITE}deep/deadline.html" in outcome.text
    assert len(bench.redis.values) == 1


@pytest.mark.parametrize(
    "link",
    [
        "http://www.uni.example/intern/deadline.html",
        "http://evil.example/en/deadline.html",
        "http://www.uni.example.evil.example/en/deadline.html",
        "http://www.uni.example/en/../intern/deadline.html",
        "http://127.0.0.1/en/deadline.html",
        "http://user@evil.example/en/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "//evil.example/en/",
        "\x00",
        "",
    ],
)
async def test_a_proposal_outside_the_scopes_is_never_fetched(
    models: ModelServer, endpoint: SearchEndpoint, link: str
) -> None:
    endpoint.links(link)
    bench = turn_bench(models, endpoint)
    await bench.run(WEB)
    own = {SITE, *(f"{SITE}{name}.html" for name in ("study", "news", "about"))}
    assert set(bench.crawler.fetched) == own


async def test_a_failing_endpoint_costs_its_proposals_and_the_keeping(
    models: ModelServer, endpoint: SearchEndpoint
) -> None:
    endpoint.status = 500
    bench = turn_bench(models, endpoint)
    _, outcome = await bench.run(WEB)
    assert len(bench.crawler.fetched) == 4 and bench.redis.values == {}
    assert outcome.knowledge is not None and outcome.knowledge.status == "unanswerable"


@pytest.mark.parametrize("status", [200, 500])
async def test_the_key_is_in_no_log_no_prompt_and_no_event(
    models: ModelServer,
    endpoint: SearchEndpoint,
    caplog: pytest.LogCaptureFixture,
    status: int,
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.links(f"{SITE}deep/deadline.html")
    endpoint.status = status
    bench = turn_bench(models, endpoint)
    events, outcome = await bench.run(WEB, Text("By 15 July [1]."), evidence=[cite("w1")])
    assert "sekret" in endpoint.paths[0]
    seen = [str(record.__dict__) + record.getMessage() for record in caplog.records]
    seen += [str(events), outcome.text, json.dumps(models.requests), str(bench.redis.values)]
    assert models.asked(AGENT)
    assert not [one for one in seen if "sekret" in one]
