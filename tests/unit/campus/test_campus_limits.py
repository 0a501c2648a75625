"""How far the advisor's loop goes, and how it ends there: honestly, and never with an error."""

from __future__ import annotations

from typing import Any

import pytest
from campus_bench import (
    AGENT,
    SEARCH,
    CampusBench,
    activities,
    cite,
    text_of,
    verdicts,
)
from fake_roles import passage
from model_server import ModelServer
from scripted_replies import Calls, Chosen, Text, call

from config.prompt_files import phrase
from domain.budgets import Budget
from domain.errors import AllowanceExhausted
from domain.outcomes import SpecialistOutcome

HIT = passage("The deadline is 15 July.", "Admission")
FAR, NEAR = {"15 July": 0.1}, {"15 July": 0.9}
DRAFT, NEEDS = Text("It is in July."), Chosen("needs_tools")
ANSWER = Text("Apply by 15 July [1].")
VISITS = {
    "checking_documents": "grade",
    "refining_search": "rewrite",
    "checking_response": "judge",
    "searching_documents": "tools",
}


def nodes(events: list[Any]) -> list[str]:
    """The nodes that tell what they do, in their order."""
    return [VISITS[code] for code in activities(events) if code in VISITS]


def closed(outcome: SpecialistOutcome, events: list[Any], status: str = "unanswerable") -> str:
    """The closing answer, which is honest: a text, the same in the stream, no reference."""
    assert outcome.knowledge is not None
    assert (outcome.knowledge.status, outcome.knowledge.citations) == (status, ())
    assert outcome.text == text_of(events) == outcome.knowledge.answer
    assert outcome.text.strip() and "Sources" not in outcome.text and "[1]" not in outcome.text
    return outcome.text


async def test_eight_nodes_are_two_laps(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=FAR)
    events, outcome = await bench.run(SEARCH, SEARCH, SEARCH)
    assert nodes(events) == ["tools", "grade", "rewrite", "tools", "grade"]
    assert len(models.asked(AGENT)) == 2
    text = closed(outcome, events)
    assert "searches: 2" in text and "pages and passages: 1" in text


@pytest.mark.parametrize(
    ("limit", "laps"), [(4, 1), (5, 1), (6, 2), (8, 2), (9, 2), (10, 3), (24, 6)]
)
async def test_a_further_lap_is_begun_only_if_it_can_search(
    models: ModelServer, limit: int, laps: int
) -> None:
    bench = CampusBench(models, passages=[HIT], near=FAR, recursion_limit=limit)
    events, outcome = await bench.run(*[SEARCH] * 8)
    assert nodes(events).count("grade") == nodes(events).count("tools") == laps
    assert nodes(events).count("rewrite") == laps - 1
    closed(outcome, events)


async def test_a_draft_that_is_sent_back_takes_its_share(models: ModelServer) -> None:
    """agent, judge, agent, tools, grade, rewrite, agent, tools: eight; the last is graded too."""
    bench = CampusBench(models, passages=[HIT], near=FAR)
    events, outcome = await bench.run(DRAFT, SEARCH, SEARCH, judge=[NEEDS])
    assert nodes(events) == ["judge", "tools", "grade", "rewrite", "tools", "grade"]
    closed(outcome, events)


async def test_what_is_relevant_at_the_limit_is_answered_from(models: ModelServer) -> None:
    found = {"15 July": 0.9, "Opening": 0.1}
    bench = CampusBench(models, passages=[HIT], near=found)
    events, outcome = await bench.run(
        DRAFT, DRAFT, DRAFT, SEARCH, ANSWER, judge=[NEEDS] * 3, evidence=[cite()]
    )
    assert nodes(events) == ["judge", "judge", "judge", "tools", "grade"]
    assert outcome.text.startswith("Apply by 15 July")


async def test_an_agent_that_never_searches_ends_without_a_claim(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    events, outcome = await bench.run(*[DRAFT] * 6, judge=[NEEDS] * 6)
    assert nodes(events) == ["judge"] * 4
    assert closed(outcome, events) == phrase("campus_not_searched", "en")


async def test_a_judged_draft_goes_back_only_if_a_search_fits(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR, recursion_limit=5)
    events, outcome = await bench.run(DRAFT, DRAFT, SEARCH, judge=[NEEDS] * 2)
    assert nodes(events) == ["judge", "judge"]
    closed(outcome, events)


@pytest.mark.parametrize("locale", ["en", "de", "fr"])
async def test_the_closing_answer_is_in_the_requested_language(
    models: ModelServer, locale: str
) -> None:
    bench = CampusBench(models, passages=[HIT], near=FAR)
    events, outcome = await bench.run(SEARCH, SEARCH, context={"locale": locale})
    expected = phrase("campus_not_found", locale).format(searches=2, sources=1)
    assert closed(outcome, events) == expected


async def test_calls_beyond_the_tool_budget_are_refused_and_the_turn_goes_on(
    models: ModelServer,
) -> None:
    bench = CampusBench(models, passages=[HIT], near=FAR, recursion_limit=12)
    three = Calls(SEARCH.calls * 3)
    events, outcome = await bench.run(three, three, three)
    assert len(bench.retriever.searched) == 6
    assert verdicts(events)[-1] == ("grade", "not_relevant", "tools_failed")
    # A budget of ours is no source that did not respond.
    closed(outcome, events)


@pytest.mark.parametrize(
    ("budget", "allowance"),
    [({"model_calls": 0}, "model_calls"), ({"model_calls": 2}, "model_calls")],
)
async def test_a_narrower_budget_of_the_request_stops_the_turn(
    models: ModelServer, budget: dict[str, int], allowance: str
) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    with pytest.raises(AllowanceExhausted) as stopped:
        await bench.run(SEARCH, ANSWER, evidence=[cite()], context={"budget": Budget(**budget)})
    assert stopped.value.fields["allowance"] == allowance
    assert sum("campus" in seen["task"] for seen in models.requests) == budget["model_calls"]


async def test_three_calls_are_enough_for_a_found_answer(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    budget = Budget(model_calls=3)
    _, outcome = await bench.run(SEARCH, ANSWER, evidence=[cite()], context={"budget": budget})
    assert outcome.text.startswith("Apply by")


async def test_a_request_without_tool_calls_left_closes_honestly(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    budget = Budget(tool_calls=0)
    events, outcome = await bench.run(SEARCH, SEARCH, context={"budget": budget})
    assert bench.retriever.searched == []
    closed(outcome, events)


async def test_nothing_quotable_in_relevant_results_is_a_miss(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    events, outcome = await bench.run(SEARCH, evidence=[call("select_evidence", citations=[])])
    assert verdicts(events) == [("grade", "relevant", "near")]
    closed(outcome, events)
