"""Where a cosine decides, where the grader does, and what each verdict says about itself."""

from __future__ import annotations

import math
from typing import Any

import pytest
from campus_bench import (
    DOWN,
    GRADER,
    SEARCH,
    CampusBench,
    cite,
    verdicts,
)
from fake_roles import passage
from model_server import ModelServer
from scripted_replies import Chosen, Text, call

from domain.errors import Unavailable
from domain.events import Verdict

# With these cosines the second coordinate is exact, and so is the vector's length.
HIGH, LOW = 0.6, 0.28
ABOVE, BELOW = math.inf, -math.inf
THRESHOLDS = {"high": HIGH, "low": LOW}
HIT = passage("The deadline is 15 July.", "Admission")
ANSWER = Text("Apply by 15 July [1].")


async def graded(models: ModelServer, near: dict[str, float], **more: Any) -> list[Verdict]:
    more = {"passages": [HIT], "recursion_limit": 4, "grading": THRESHOLDS, **more}
    bench = CampusBench(models, near=near, **more)
    grader = [Chosen("relevant")]
    events, _ = await bench.run(SEARCH, ANSWER, grading=grader, evidence=[cite()])
    return [event for event in events if isinstance(event, Verdict)]


@pytest.mark.parametrize(
    ("cosine", "decision", "reason"),
    [
        (1.0, "relevant", "near"),
        (math.nextafter(HIGH, ABOVE), "relevant", "near"),
        (HIGH, "relevant", "near"),
        (math.nextafter(HIGH, BELOW), "relevant", "grader"),
        (HIGH - 0.00001, "relevant", "grader"),
        (LOW + 0.00001, "relevant", "grader"),
        (math.nextafter(LOW, ABOVE), "relevant", "grader"),
        (LOW, "not_relevant", "far"),
        (math.nextafter(LOW, BELOW), "not_relevant", "far"),
        (-1.0, "not_relevant", "far"),
    ],
)
async def test_each_threshold_at_its_boundary(
    models: ModelServer, cosine: float, decision: str, reason: str
) -> None:
    [verdict] = await graded(models, {"15 July": cosine})
    assert (verdict.decision, verdict.reason) == (decision, reason)
    assert verdict.score == round(cosine, 4)
    assert verdict.agent == "campus_advisor"
    assert len(models.asked(GRADER)) == (reason == "grader")


async def test_the_nearest_result_decides(models: ModelServer) -> None:
    other = passage("Opening hours of the canteen.", chunk_id="c2")
    [verdict] = await graded(models, {"15 July": 0.9, "canteen": 0.0}, passages=[other, HIT])
    assert (verdict.reason, verdict.score) == ("near", 0.9)


async def test_question_and_query_are_compared_with_the_results(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near={"15 July": 0.9})
    await bench.run(SEARCH, ANSWER, evidence=[cite()], question="Until when?")
    assert "Until when? deadline" in bench.embedder.embedded


@pytest.mark.parametrize(("value", "decision"), [("relevant", True), ("not_relevant", False)])
async def test_what_cannot_be_embedded_falls_through_to_the_grader(
    models: ModelServer, value: str, decision: bool
) -> None:
    bench = CampusBench(models, passages=[HIT], embedding=DOWN, recursion_limit=4)
    events, outcome = await bench.run(SEARCH, ANSWER, grading=[Chosen(value)], evidence=[cite()])
    assert verdicts(events) == [("grade", value, "grader_only")]
    assert [event.score for event in events if isinstance(event, Verdict)] == [None]
    assert outcome.text.startswith("Apply by 15 July") is decision


async def test_the_grader_gets_question_queries_and_results_as_data(models: ModelServer) -> None:
    await graded(models, {"15 July": 0.4})
    [body] = models.asked(GRADER)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    data = body["messages"][1]["content"]
    assert '"question": "When is the deadline?"' in data
    assert '"queries": ["deadline"]' in data and "The deadline is 15 July." in data


async def test_nothing_found_is_not_relevant_and_asks_nobody(models: ModelServer) -> None:
    [verdict] = await graded(models, {}, passages=[])
    assert (verdict.decision, verdict.reason) == ("not_relevant", "no_results")
    assert models.asked(GRADER) == []


async def test_tools_that_all_failed_are_said_to_have_failed(models: ModelServer) -> None:
    [verdict] = await graded(models, {}, passages=Unavailable("the store", "down"))
    assert (verdict.decision, verdict.reason) == ("not_relevant", "tools_failed")


async def test_a_grader_that_says_no_asks_for_another_query(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near={"15 July": 0.4})
    grades = [Chosen("not_relevant"), Chosen("relevant")]
    again = call("search_documents", query="application period")
    events, outcome = await bench.run(SEARCH, again, ANSWER, grading=grades, evidence=[cite()])
    assert [v[1] for v in verdicts(events)] == ["not_relevant", "relevant"]
    assert outcome.text.startswith("Apply by")
