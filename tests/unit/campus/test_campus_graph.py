"""Each edge of the campus advisor's graph, with scripted models."""

from __future__ import annotations

import pytest
from campus_bench import (
    AGENT,
    EVIDENCE,
    GRADER,
    JUDGE,
    SEARCH,
    SITE,
    WEB,
    CampusBench,
    activities,
    cite,
    page_of,
    text_of,
    verdicts,
)
from fake_roles import passage
from model_server import ModelServer
from scripted_replies import Calls, Chosen, Refused, Text, call

from domain.errors import ModelUnavailable

pytestmark = pytest.mark.asyncio(loop_scope="session")

HIT = passage("The deadline is 15 July for restricted programmes.", "Admission")
NEAR, FAR, BETWEEN = {"15 July": 0.9}, {"15 July": 0.1}, {"15 July": 0.4}
ANSWER = Text("Apply by 15 July [1].")


async def test_relevant_documents_are_answered_from_and_named(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    events, outcome = await bench.run(SEARCH, ANSWER, evidence=[cite()])
    assert verdicts(events) == [("grade", "relevant", "near")]
    assert outcome.text == text_of(events)
    assert outcome.text == ("Apply by 15 July [1].\n\nSources:\n[1] Admission (Days, page 2)")
    assert outcome.knowledge is not None and outcome.knowledge.status == "answered"
    assert outcome.knowledge.citations[0].quote == "15 July"
    assert models.asked(GRADER) == []


async def test_web_pages_are_read_and_cited_with_their_address(models: ModelServer) -> None:
    pages = {
        SITE: page_of("Welcome", "Start", Deadlines="deadlines.html"),
        f"{SITE}deadlines.html": page_of("Apply until 15 July.", "Deadlines"),
    }
    bench = CampusBench(models, pages=pages, near=NEAR)
    # The start page comes first or second: the quote's own page decides which id it has.
    events, outcome = await bench.run(WEB, ANSWER, evidence=[cite("w1")], question="Deadline?")
    found = [e for e in events if getattr(e, "code", "") == "searching_web"]
    assert found
    assert f"{SITE}deadlines.html" in bench.crawler.fetched
    assert f"Deadlines: {SITE}deadlines.html" in outcome.text


async def test_a_draft_without_tools_is_judged_and_may_be_justified(models: ModelServer) -> None:
    bench = CampusBench(models)
    events, outcome = await bench.run(Text("Hello there!"), judge=[Chosen("greeting")])
    assert verdicts(events) == [("judge", "justified", "greeting")]
    assert outcome.text == "Hello there!" == text_of(events)
    assert outcome.knowledge is None


async def test_the_judge_sends_back_to_the_agent(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    events, outcome = await bench.run(
        Text("It is in July."), SEARCH, ANSWER, judge=[Chosen("needs_tools")], evidence=[cite()]
    )
    assert [v[0] for v in verdicts(events)] == ["judge", "grade"]
    assert "It is in July" not in text_of(events)
    assert outcome.text.startswith("Apply by 15 July")
    assert '"judgement"' in str(models.asked(AGENT)[1]["messages"])
    assert len(models.asked(JUDGE)) == 1


async def test_what_is_far_is_searched_for_again(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=FAR)
    events, outcome = await bench.run(SEARCH, SEARCH)
    assert [v[1] for v in verdicts(events)] == ["not_relevant"] * 2
    assert outcome.knowledge is not None and outcome.knowledge.status == "unanswerable"
    assert "Sources" not in outcome.text and outcome.knowledge.citations == ()
    assert models.asked(EVIDENCE) == []
    assert outcome.text == text_of(events)


async def test_between_the_thresholds_the_grader_decides(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=BETWEEN)
    events, _ = await bench.run(SEARCH, ANSWER, grading=[Chosen("relevant")], evidence=[cite()])
    assert verdicts(events) == [("grade", "relevant", "grader")]
    assert len(models.asked(GRADER)) == 1


async def test_a_second_lap_hears_what_was_tried_and_searches_the_faq_as_well(
    models: ModelServer,
) -> None:
    faq = passage("Apply by 15 July.", "FAQ", chunk_id="f1")
    found = {"document": [passage("Opening hours.")], "faq": [faq]}
    near = {"Opening": 0.1, "15 July": 0.4}
    bench = CampusBench(models, passages=found, near=near, faq=True)
    again = call("search_documents", query="application period")
    events, outcome = await bench.run(SEARCH, again, ANSWER, evidence=[cite("d2")])
    searched = [(where, query) for (where, _), (_, query, _) in both(bench)]
    assert searched == [
        ("document", "deadline"),
        ("document", "application period"),
        ("faq", "application period"),
    ]
    # The FAQ is trusted: a cosine between the thresholds asks no grader any more.
    assert verdicts(events) == [
        ("grade", "not_relevant", "far"),
        ("grade", "relevant", "trusted_source"),
    ]
    assert models.asked(GRADER) == []
    note = models.asked(AGENT)[1]["messages"][-1]
    assert note["role"] == "user" and '"tried": ["deadline"]' in note["content"]
    assert outcome.text.startswith("Apply by 15 July")
    assert activities(events) == [
        "searching_documents",
        "checking_documents",
        "refining_search",
        "searching_documents",
        "checking_documents",
        "preparing_answer",
    ]


async def test_the_faq_is_searched_whatever_the_second_lap_calls(models: ModelServer) -> None:
    found = {"document": [], "faq": [HIT]}
    pages = {SITE: page_of("Welcome", "Start")}
    bench = CampusBench(models, passages=found, pages=pages, near={"Welcome": 0.1}, faq=True)
    events, outcome = await bench.run(WEB, WEB, ANSWER, evidence=[cite("d1")])
    assert verdicts(events)[-1] == ("grade", "relevant", "trusted_source")
    assert [where for where, _ in bench.retriever.searched_in] == ["faq"]
    assert outcome.text.startswith("Apply by")


async def test_an_empty_faq_never_counts_as_trusted(models: ModelServer) -> None:
    bench = CampusBench(models, passages={"document": [HIT], "faq": []}, near=FAR, faq=True)
    events, _ = await bench.run(SEARCH, SEARCH)
    assert [v[2] for v in verdicts(events)] == ["far", "far"]
    blank = passage("  ", "FAQ", chunk_id="f1")
    bench = CampusBench(models, passages={"document": [], "faq": [blank]}, faq=True)
    events, _ = await bench.run(SEARCH, SEARCH)
    assert [v[2] for v in verdicts(events)] == ["no_results", "no_results"]
    bench = CampusBench(models, passages={"document": [HIT], "faq": [blank]}, near=FAR, faq=True)
    events, _ = await bench.run(SEARCH, SEARCH)
    assert [v[2] for v in verdicts(events)] == ["far", "far"]


async def test_without_the_collection_no_lap_searches_it(models: ModelServer) -> None:
    bench = CampusBench(models, passages={"document": [HIT], "faq": [HIT]}, near=FAR)
    await bench.run(SEARCH, SEARCH)
    assert [where for where, _ in bench.retriever.searched_in] == ["document", "document"]


@pytest.mark.parametrize(
    ("about", "line"),
    [
        ("general", "to an applicant or a student"),
        ("application", "to somebody who wants to apply"),
        ("teaching", "wants to study to become a"),
        ("sports", "to an applicant or a student"),
    ],
)
async def test_the_web_search_states_which_prompt_writes(
    models: ModelServer, about: str, line: str
) -> None:
    pages = {SITE: page_of("Apply by 15 July.", "Start")}
    bench = CampusBench(models, pages=pages, near=NEAR)
    search = call("search_web", query="deadline", about=about)
    await bench.run(search, ANSWER, evidence=[cite("w1")])
    system = models.asked(AGENT)[-1]["messages"][0]
    assert system["role"] == "system" and line in system["content"]


async def test_what_the_agent_says_beside_a_call_is_dropped(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=FAR)
    said = Calls(SEARCH.calls, text="I think it is in May.")
    events, outcome = await bench.run(said, SEARCH)
    assert "May" not in str(models.asked(AGENT)[1]["messages"])
    assert "May" not in text_of(events) + outcome.text


async def test_a_grader_or_a_judge_without_a_decision_stops_the_turn(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=BETWEEN)
    with pytest.raises(ModelUnavailable):
        await bench.run(SEARCH, grading=[Chosen("perhaps")])
    with pytest.raises(ModelUnavailable):
        await bench.run(Text("Hello!"), judge=[Refused()])


def both(bench: CampusBench) -> list[tuple[tuple[str, str | None], tuple[str, str, int]]]:
    return list(zip(bench.retriever.searched_in, bench.retriever.searched, strict=True))
