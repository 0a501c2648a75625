"""The ``task`` tool over a real MCP server: passages come back, and nothing else does."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
from campus_bench import (
    SEARCH,
    SUBAGENT,
    CampusBench,
    activities,
    cite,
    results,
    text_of,
    verdicts,
)
from fake_roles import passage
from mcp_service import McpService, closed_port, mcp_service
from model_server import ModelServer
from scripted_replies import Calls, Malformed, Status, Text, call

from domain.budgets import Budget
from domain.errors import AllowanceExhausted
from domain.outcomes import SpecialistOutcome

TASK = call("task", subagent="rules", request="How often may I retake an exam?")
LOOK = call("search_rules", query="retake")
STOP = Text("You may retake it seven times.")
RULE = {
    "title": "Examination rules",
    "section": "§ 10",
    "url": "https://user:SECRET@rules.uni.example/p/10;s=SECRET?token=SECRET#SECRET",
    "text": "An exam may be retaken twice. See https://rules.uni.example/f?token=SECRET.",
}
ANSWER = Text("Twice [1].")
NEAR = {"retaken": 0.9, "Opening": 0.1}


@pytest.fixture(scope="module")
def running() -> Iterator[McpService]:
    with mcp_service() as service:
        yield service


@pytest.fixture
def service(running: McpService) -> McpService:
    running.reset()
    running.answers = [[RULE]]
    return running


def bench_of(models: ModelServer, service: McpService, **more: Any) -> CampusBench:
    subagent = {
        "name": "rules",
        "description": "Examination rules.",
        "url": service.url,
        "prompt": "Search the rules.",
        "timeout_seconds": 5.0,
        **more.pop("subagent", {}),
    }
    given = {"near": NEAR, "recursion_limit": 4, **more}
    return CampusBench(models, subagents=[subagent], **given)


async def answered(
    bench: CampusBench, *loop: Any, quote: str = "retaken twice", **more: Any
) -> tuple[list[Any], SpecialistOutcome]:
    return await bench.run(TASK, ANSWER, subagent=loop, evidence=[cite("w1", quote)], **more)


async def test_passages_come_back_and_the_models_text_does_not(
    models: ModelServer, service: McpService
) -> None:
    events, outcome = await answered(bench_of(models, service), LOOK, STOP)
    assert service.calls == [{"name": "search_rules", "query": "retake"}]
    assert activities(events)[0] == "consulting_specialist"
    assert outcome.text == (
        "Twice [1].\n\nSources:\n[1] Examination rules (§ 10): https://rules.uni.example/p/10"
    )
    [asked] = [seen for seen in models.requests if seen["task"].endswith("evidence")]
    assert "retaken twice" in str(asked) and "seven times" not in str(asked)
    assert "seven times" not in text_of(events) + outcome.text


async def test_no_token_of_a_link_appears_anywhere(
    models: ModelServer, service: McpService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    quote = "See https://rules.uni.example/f."
    events, outcome = await answered(bench_of(models, service), LOOK, STOP, quote=quote)
    assert outcome.knowledge is not None and outcome.knowledge.citations[0].quote == quote
    seen = [str(record.__dict__) + record.getMessage() for record in caplog.records]
    seen += [str(events), outcome.model_dump_json(), json.dumps(models.requests)]
    assert not [one for one in seen if "SECRET" in one]


async def test_the_subagent_gets_its_own_prompt_and_nothing_of_the_conversation(
    models: ModelServer, service: McpService
) -> None:
    await answered(bench_of(models, service), LOOK, STOP, question="SECRET of the user?")
    [first, second] = models.asked(SUBAGENT)
    system, data, request = first["messages"]
    assert system["content"].startswith("Search the rules.")
    assert '{"language": "en"}' in data["content"]
    assert request["content"] == "How often may I retake an exam?"
    assert "SECRET" not in str(first) + str(second)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["search_rules"]


async def test_the_operators_token_is_sent_and_never_logged(
    models: ModelServer, service: McpService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bench = bench_of(
        models,
        service,
        subagent={"token_setting": "rules_token"},
        settings={"service_keys": {"rules_token": "SEKRET"}},
    )
    events, outcome = await answered(bench, LOOK, STOP)
    assert service.tokens == {"Bearer SEKRET"}
    seen = [str(record.__dict__) + record.getMessage() for record in caplog.records]
    seen += [str(events), outcome.model_dump_json(), json.dumps(models.requests)]
    assert not [one for one in seen if "SEKRET" in one]


async def test_without_a_token_none_is_sent(models: ModelServer, service: McpService) -> None:
    await answered(bench_of(models, service), LOOK, STOP)
    assert service.tokens == {None}


async def test_the_operators_map_says_where_a_service_is_dialled(
    models: ModelServer, service: McpService
) -> None:
    settings = {"connect_to": {"localhost:8931": service.address}}
    named = {"url": "http://localhost:8931/mcp"}
    _, outcome = await answered(
        bench_of(models, service, subagent=named, settings=settings), LOOK, STOP
    )
    assert len(service.calls) == 1 and "localhost" not in outcome.text


@pytest.mark.parametrize("limit", [1, 3])
async def test_the_recursion_limit_bounds_the_models_turns(
    models: ModelServer, service: McpService, limit: int
) -> None:
    bench = bench_of(models, service, subagent={"recursion_limit": limit})
    _, outcome = await answered(bench, *[LOOK] * 5)
    assert len(models.asked(SUBAGENT)) == len(service.calls) == limit
    assert outcome.text.startswith("Twice")


async def test_the_same_passage_found_again_is_one_passage(
    models: ModelServer, service: McpService
) -> None:
    await answered(bench_of(models, service), LOOK, LOOK, STOP)
    [asked] = [seen for seen in models.requests if seen["task"].endswith("evidence")]
    assert str(asked).count("retaken twice") == 1


async def test_plain_text_is_a_passage_under_the_subagents_name(
    models: ModelServer, service: McpService
) -> None:
    service.answers = ["An exam may be retaken twice."]
    bench = bench_of(models, service)
    _, outcome = await bench.run(
        TASK, ANSWER, subagent=[LOOK, STOP], evidence=[cite("d1", "retaken twice")]
    )
    assert outcome.text == "Twice [1].\n\nSources:\n[1] rules"


async def test_passages_are_bounded_in_number_and_length(
    models: ModelServer, service: McpService
) -> None:
    long = "An exam may be retaken twice. " + "x" * 5_000
    service.answers = [[{"title": f"P{n}", "text": long} for n in range(9)]]
    bench = bench_of(models, service, condensed_above_tokens=60_000)
    _, _ = await bench.run(TASK, subagent=[LOOK, STOP], evidence=[cite("d9", "retaken twice")])
    [asked] = [seen for seen in models.requests if seen["task"].endswith("evidence")]
    shown = json.loads(asked["body"]["messages"][2]["content"].split("\n")[1])
    assert [len(one["text"]) for one in shown] == [4_000] * 8


async def test_what_was_retrieved_before_the_time_ran_out_is_kept(
    models: ModelServer, service: McpService
) -> None:
    service.answers = [[RULE], 20.0]
    started = time.monotonic()
    bench = bench_of(models, service, subagent={"timeout_seconds": 0.8})
    _, outcome = await answered(bench, LOOK, LOOK)
    assert time.monotonic() - started < 5.0
    assert outcome.text.startswith("Twice [1].")


def failed(outcome: SpecialistOutcome, events: list[Any], reason: str = "tools_failed") -> None:
    """An honest end: the service did not respond, so the absence is no miss."""
    assert verdicts(events)[-1] == ("grade", "not_relevant", reason)
    assert outcome.knowledge is not None
    assert (outcome.knowledge.status, outcome.knowledge.citations) == ("unavailable", ())
    assert outcome.text == text_of(events) != ""


async def test_a_timeout_without_passages_is_a_failed_call(
    models: ModelServer, service: McpService
) -> None:
    service.answers = [20.0]
    bench = bench_of(models, service, subagent={"timeout_seconds": 0.5})
    started = time.monotonic()
    events, outcome = await answered(bench, LOOK)
    assert time.monotonic() - started < 5.0
    failed(outcome, events)


@pytest.mark.parametrize("status", [401, 500])
async def test_a_server_error_is_a_failed_call(
    models: ModelServer, service: McpService, status: int
) -> None:
    service.status = status
    events, outcome = await answered(bench_of(models, service), LOOK)
    failed(outcome, events)
    assert models.asked(SUBAGENT) == []


async def test_a_server_that_is_gone_is_a_failed_call(
    models: ModelServer, service: McpService
) -> None:
    service.address = closed_port()
    events, outcome = await answered(bench_of(models, service), LOOK)
    failed(outcome, events)


async def test_a_server_without_tools_is_a_failed_call(
    models: ModelServer, service: McpService
) -> None:
    service.tools = []
    events, outcome = await answered(bench_of(models, service), LOOK)
    failed(outcome, events)
    assert models.asked(SUBAGENT) == []


async def test_a_tool_that_fails_may_be_called_again(
    models: ModelServer, service: McpService
) -> None:
    service.answers = [RuntimeError("SECRET"), [RULE]]
    _, outcome = await answered(bench_of(models, service), LOOK, LOOK, STOP)
    assert outcome.text.startswith("Twice")
    assert '"error"' in str(models.asked(SUBAGENT)[1]) and "SECRET" not in str(models.requests)


async def test_tools_that_only_fail_are_a_failed_call(
    models: ModelServer, service: McpService
) -> None:
    service.answers = [RuntimeError("broken")]
    events, outcome = await answered(bench_of(models, service), LOOK, LOOK, STOP)
    failed(outcome, events)


async def test_a_tool_that_the_server_has_not_is_never_called(
    models: ModelServer, service: McpService
) -> None:
    invented = call("drop_tables", query="x")
    _, outcome = await answered(bench_of(models, service), invented, LOOK, STOP)
    assert [made["name"] for made in service.calls] == ["search_rules"]
    assert outcome.text.startswith("Twice")


@pytest.mark.parametrize("reply", [Status(500), Malformed("{}")])
async def test_a_model_that_fails_fails_the_call_and_not_the_turn(
    models: ModelServer, service: McpService, reply: Any
) -> None:
    events, outcome = await answered(bench_of(models, service), *[reply] * 3)
    failed(outcome, events)


async def test_the_other_tools_of_the_batch_are_kept(
    models: ModelServer, service: McpService
) -> None:
    service.status = 500
    bench = bench_of(models, service, passages=[passage("May be retaken twice.")])
    batch = Calls((*TASK.calls, *SEARCH.calls))
    _, outcome = await bench.run(batch, ANSWER, evidence=[cite("d1", "retaken twice")])
    assert outcome.text.startswith("Twice [1].")


@pytest.mark.parametrize("named", ["exams", "", None, 7])
async def test_an_unknown_or_disabled_subagent_is_a_wrong_call(
    models: ModelServer, service: McpService, named: Any
) -> None:
    off = {
        "name": "exams",
        "description": "Off.",
        "url": service.url,
        "prompt": "x",
        "enabled": False,
    }
    on = {**off, "name": "rules", "enabled": True}
    bench = CampusBench(models, near=NEAR, subagents=[on, off])
    await bench.run(call("task", subagent=named, request="x"), TASK, subagent=[STOP])
    [wrong] = results(models, 1)
    assert (wrong["error"], wrong["mend"]) == ("invalid_input", "use one of rules")
    assert service.calls == []


async def test_its_calls_are_counted_and_bounded_like_all_others(
    models: ModelServer, service: McpService
) -> None:
    _, outcome = await answered(bench_of(models, service), LOOK, STOP)
    assert outcome.spent.model_calls == len(models.requests) == 5
    with pytest.raises(AllowanceExhausted):
        await answered(
            bench_of(models, service), LOOK, LOOK, context={"budget": Budget(model_calls=2)}
        )
    assert len(service.calls) == 2


async def test_a_cancelled_turn_leaves_the_service(
    models: ModelServer, service: McpService
) -> None:
    service.answers = [20.0]
    turn = asyncio.create_task(answered(bench_of(models, service), LOOK))
    async with asyncio.timeout(10):
        while not service.calls:
            await asyncio.sleep(0.01)
    started = time.monotonic()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert time.monotonic() - started < 2.0
