"""The written answer: quotes checked before, streamed, with the sources that it used behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from campus_bench import (
    AGENT,
    SEARCH,
    SITE,
    CampusBench,
    cite,
    page_of,
    text_of,
)
from campus_runs import delivered, run_of
from fake_roles import passage
from model_server import ModelServer
from scripted_replies import Calls, Chosen, Status, Text, call

from actors.campus.selecting import checked
from actors.campus.writing import used_in, with_known_marks
from domain.answers import Citation
from domain.errors import ModelUnavailable
from domain.events import TextDelivered, TextDelta

HIT = passage("The deadline is 15 July for “restricted” programmes.", "Admission")
FEES = passage("The fee is 349 euros.", "Fees", chunk_id="c2")
NEAR = {"15 July": 0.9, "349": 0.8}
ANSWER = Text("Apply by 15 July [1].")
BOTH = call(
    "select_evidence",
    citations=[
        {"source_id": "d1", "quote": "15 July"},
        {"source_id": "d2", "quote": "349 euros"},
    ],
)
LEAK = Text('{"name": "search_web", "arguments": {"query": "deadline", "about": "general"}}')
QUOTED = (
    "This is what the sources say (quoted, offline mode):\n\n> 15 July [1]\n\n"
    "Sources:\n[1] Admission (Days, page 2)"
)


def bench_of(models: ModelServer, **more: Any) -> CampusBench:
    return CampusBench(models, passages=[HIT, FEES], near=NEAR, **more)


async def test_the_answer_is_streamed_and_its_sources_follow(models: ModelServer) -> None:
    words = Text("word " * 200 + "ends [1].")
    events, outcome = await bench_of(models).run(SEARCH, words, evidence=[cite()])
    deltas = [event for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 3 and not [e for e in events if isinstance(e, TextDelivered)]
    assert "".join(event.text for event in deltas) == outcome.text
    assert outcome.text.endswith("ends [1].\n\nSources:\n[1] Admission (Days, page 2)")
    body = models.asked(AGENT)[-1]
    assert body["stream"] is True and "tools" not in body


async def test_only_sources_that_the_text_names_are_listed(models: ModelServer) -> None:
    _, outcome = await bench_of(models).run(SEARCH, Text("349 euros [2]."), evidence=[BOTH])
    assert outcome.text == "349 euros [2].\n\nSources:\n[2] Fees (Days, page 2)"
    assert outcome.knowledge is not None
    assert [one.title for one in outcome.knowledge.citations] == ["Fees"]


async def test_a_text_without_numbers_used_what_it_was_given(models: ModelServer) -> None:
    _, outcome = await bench_of(models).run(SEARCH, Text("July, 349."), evidence=[BOTH])
    assert "[1] Admission" in outcome.text and "[2] Fees" in outcome.text


async def test_a_number_without_a_source_is_no_reference(models: ModelServer) -> None:
    reply = Text("July [1, 7]. Fees [9]. Again [2].\n")
    events, outcome = await bench_of(models).run(SEARCH, reply, evidence=[BOTH])
    assert outcome.text.startswith("July [1]. Fees. Again [2].\n\nSources:")
    assert outcome.text == text_of(events)


@pytest.mark.parametrize("step", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A [1]. B [2,3] C [4].", "A [1]. B [2] C."),
        ("[3] begins", " begins"),
        ("In [2024] and [x] and [1] ", "In [2024] and [x] and [1] "),
        ("[", "["),
        ("a [1, 2] b", "a [1, 2] b"),
    ],
)
async def test_marks_are_told_apart_wherever_the_stream_is_cut(
    text: str, shown: str, step: int
) -> None:
    async def pieces() -> AsyncIterator[str]:
        for start in range(0, len(text), step):
            yield text[start : start + step]

    marked = with_known_marks(pieces(), frozenset({1, 2}))
    assert "".join([piece async for piece in marked]) == shown


@pytest.mark.parametrize(
    ("source_id", "quote", "holds"),
    [
        ("d1", "15 July", True),
        ("d1", 'for "restricted"  programmes', True),
        ("d1", "15 June", False),
        ("d1", "the deadline is 15 July", False),
        ("d1", "15", False),
        ("d1", "", False),
        ("d1", None, False),
        ("d2", "15 July", False),
        ("d9", "15 July", False),
        (None, "15 July", False),
    ],
)
async def test_each_quote_is_checked_word_for_word(
    models: ModelServer, source_id: Any, quote: Any, holds: bool
) -> None:
    chosen = call("select_evidence", citations=[{"source_id": source_id, "quote": quote}])
    events, outcome = await bench_of(models).run(SEARCH, ANSWER, evidence=[chosen])
    assert outcome.knowledge is not None
    assert (outcome.knowledge.status == "answered") is holds
    assert outcome.text == text_of(events) != ""
    assert bool(outcome.knowledge.citations) is holds is ("Sources" in outcome.text)


@pytest.mark.parametrize(
    "reply",
    [
        Text("I found it: 15 July."),
        call("select_evidence"),
        call("select_evidence", citations="all of them"),
        call("select_evidence", citations=["d1", None, 7]),
        call("search_web", query="x"),
    ],
)
async def test_a_choice_in_no_usable_form_is_a_miss_without_a_reference(
    models: ModelServer, reply: Any
) -> None:
    events, outcome = await bench_of(models).run(SEARCH, ANSWER, evidence=[reply])
    assert outcome.knowledge is not None and outcome.knowledge.status == "unanswerable"
    assert outcome.text == text_of(events) != "" and "Sources" not in outcome.text


def test_what_holds_is_kept_beside_what_does_not() -> None:
    run = run_of()
    delivered(run, "The fee is 349 euros. It is due in March.", "Fees")
    asked = [
        {"source_id": "d1", "quote": "due in March"},
        {"source_id": "d1", "quote": "due in May"},
        {"source_id": "d1", "quote": "349 euros"},
        {"source_id": "d1", "quote": "due in  March"},
    ]
    found = checked(run.evidence, asked)
    assert [(one.number, one.quote) for one in found] == [(1, "due in March"), (1, "349 euros")]


def test_the_used_ones_are_named_alone_or_in_a_list() -> None:
    three = tuple(
        Citation(number=n, kind="document", title=str(n), quote="quote") for n in (1, 2, 3)
    )
    assert [one.number for one in used_in("a [1] b [2, 3]", three)] == [1, 2, 3]
    assert [one.number for one in used_in("a [3]", three)] == [3]
    assert used_in("a [12]", three) == used_in("a", three) == three


@pytest.mark.parametrize("useless", [Text(""), Text(" \n "), LEAK])
async def test_an_empty_or_leaked_text_is_asked_for_once_more(
    models: ModelServer, useless: Text
) -> None:
    events, outcome = await bench_of(models).run(SEARCH, useless, ANSWER, evidence=[cite()])
    assert outcome.text.startswith("Apply by 15 July [1].\n\nSources:")
    assert outcome.text == text_of(events)
    assert len(models.asked(AGENT)) == 3


@pytest.mark.parametrize("useless", [Text(""), LEAK])
async def test_twice_and_the_quotes_are_the_answer(models: ModelServer, useless: Text) -> None:
    events, outcome = await bench_of(models).run(SEARCH, useless, useless, evidence=[cite()])
    assert outcome.text == text_of(events) == QUOTED
    assert outcome.knowledge is not None and outcome.knowledge.status == "answered"


async def test_a_leaked_draft_is_sent_back_without_asking_anybody(models: ModelServer) -> None:
    events, outcome = await bench_of(models).run(LEAK, SEARCH, ANSWER, evidence=[cite()])
    assert "search_web" not in text_of(events) + outcome.text
    assert not [seen for seen in models.requests if seen["task"].endswith("judge")]


async def test_a_writer_that_fails_stops_the_turn(models: ModelServer) -> None:
    with pytest.raises(ModelUnavailable):
        await bench_of(models).run(SEARCH, Status(400), evidence=[cite()])


async def test_the_writer_sees_checked_quotes_as_data_and_nothing_else(
    models: ModelServer,
) -> None:
    await bench_of(models).run(SEARCH, ANSWER, evidence=[cite()])
    messages = models.asked(AGENT)[-1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "user", "user"]
    assert '"number": 1' in messages[2]["content"] and "349" not in str(messages)
    assert messages[-1]["content"] == "When is the deadline?"


@pytest.mark.parametrize(
    ("locale", "sources"),
    [
        ("en", "Sources:\n[1] Admission (Days, page 2)"),
        ("de", "Quellen:\n[1] Admission (Days, Seite 2)"),
        ("fr", "Sources :\n[1] Admission (Days, p. 2)"),
    ],
)
async def test_references_carry_section_and_page_in_the_requested_language(
    models: ModelServer, locale: str, sources: str
) -> None:
    context = {"locale": locale}
    _, outcome = await bench_of(models).run(SEARCH, ANSWER, evidence=[cite()], context=context)
    assert outcome.text.endswith(f"\n\n{sources}")


async def test_pages_are_named_with_their_address_and_documents_without_one(
    models: ModelServer,
) -> None:
    pages = {SITE: page_of("The fee is 349 euros.", "Fees and dues")}
    bench = bench_of(models, pages=pages)
    batch = Calls((*SEARCH.calls, *call("search_web", query="fee", about="general").calls))
    chosen = call(
        "select_evidence",
        citations=[
            {"source_id": "d1", "quote": "15 July"},
            {"source_id": "w1", "quote": "349 euros"},
        ],
    )
    _, outcome = await bench.run(
        batch, Text("15 July [1], 349 [2]."), evidence=[chosen], grading=[Chosen("relevant")]
    )
    assert outcome.text.endswith(f"[1] Admission (Days, page 2)\n[2] Fees and dues: {SITE}")


async def test_an_address_is_where_people_can_open_the_page(models: ModelServer) -> None:
    pages = {SITE: page_of("The fee is 349 euros.", "Fees")}
    urls = {"shown_urls": {"http://www.uni.example/": "https://intranet.example/"}}
    bench = CampusBench(models, pages=pages, near=NEAR, settings=urls)
    search = call("search_web", query="fee", about="general")
    _, outcome = await bench.run(search, Text("349 [1]."), evidence=[cite("w1", "349 euros")])
    assert outcome.text.endswith("[1] Fees: https://intranet.example/en/")
    # Whoever shows the citation does the same with its address.
    assert outcome.knowledge is not None and outcome.knowledge.citations[0].url == SITE
