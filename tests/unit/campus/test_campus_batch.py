"""A batch of tool calls: at the same time, each failure its own, every call answered."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any

import pytest
from campus_runs import delivered, run_of

from actors.campus.batch import run_batch
from actors.campus.run import CampusRun, Delivered
from domain.budgets import Budget
from domain.errors import InvalidInput, StoreUnavailable


class Tools:
    """Fakes of tools: ``a`` to ``c`` find something after ``seconds``, the others fail."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.running = 0
        self.most = 0
        self.cancelled = 0

    def all(self) -> dict[str, Any]:
        return {
            **dict.fromkeys("abc", self.finds),
            "down": self.down,
            "wrong": self.wrong,
            "broken": self.broken,
            "slow": self.slow,
        }

    async def finds(self, run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(self.seconds)
        self.running -= 1
        run.queries.append(arguments["query"])
        return [delivered(run, f"About {arguments['query']}.")]

    async def down(self, run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        raise StoreUnavailable("the document store", "it did not answer")

    async def wrong(self, run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        raise InvalidInput("programme", "is not a study programme here", "use one of Biology")

    async def broken(self, run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        raise RuntimeError("SECRET of a defect")

    async def slow(self, run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return []


def asked(*names: str, query: str = "fees") -> list[dict[str, Any]]:
    return [
        {"id": f"call_{number}", "name": name, "args": {"query": f"{query} {number}"}}
        for number, name in enumerate(names)
    ]


async def outcome(
    run: CampusRun, *names: str, tools: Tools | None = None, seconds: float = 5.0
) -> list[dict[str, Any]]:
    """The bodies of the results, which must answer the calls in their order."""
    calls = asked(*names)
    found = await run_batch(run, (tools or Tools()).all(), calls, seconds=seconds)
    assert [message.tool_call_id for message in found] == [call["id"] for call in calls]
    assert [message.name for message in found] == list(names)
    bodies = [json.loads(message.text) for message in found]
    assert [m.status for m in found] == ["error" if "error" in b else "success" for b in bodies]
    return bodies


async def test_calls_run_at_the_same_time() -> None:
    tools, started = Tools(seconds=0.2), time.monotonic()
    bodies = await outcome(run_of(), "a", "b", "c", tools=tools)
    assert time.monotonic() - started < 0.5
    assert tools.most == 3
    assert [body["results"][0]["text"] for body in bodies] == [f"About fees {n}." for n in range(3)]


async def test_one_failure_takes_nothing_from_the_others() -> None:
    run = run_of()
    bodies = await outcome(run, "a", "down", "b")
    assert bodies[1] == {"error": "store_unavailable"}
    assert [one.text for one in run.latest] == ["About fees 0.", "About fees 2."]
    assert run.failed == ["store_unavailable"] and run.silent == {"down"}
    assert run.asked == ["fees 0", "fees 2"]


@pytest.mark.parametrize(
    ("name", "body", "silent"),
    [
        ("down", {"error": "store_unavailable"}, True),
        ("broken", {"error": "unexpected"}, True),
        ("slow", {"error": "timeout"}, True),
        ("wrong", {"error": "invalid_input", "mend": "use one of Biology"}, False),
        ("invented", {"error": "tool_not_available"}, False),
    ],
)
async def test_each_kind_of_failure_is_a_result(
    name: str, body: dict[str, str], silent: bool
) -> None:
    run, tools = run_of(), Tools()
    bodies = await outcome(run, name, "a", tools=tools, seconds=0.1)
    assert bodies[0] == body and "results" in bodies[1]
    assert bool(run.silent) is silent
    assert tools.cancelled == (name == "slow")


async def test_all_failing_is_a_batch_without_results() -> None:
    run = run_of()
    await outcome(run, "down", "broken", "invented")
    assert run.latest == []
    assert run.failed == ["store_unavailable", "unexpected", "tool_not_available"]
    assert run.silent == {"down", "broken"}


async def test_a_source_that_answers_again_is_silent_no_longer() -> None:
    run = run_of()
    run.silent = {"a", "down"}
    await outcome(run, "a")
    assert run.silent == {"down"}


async def test_one_of_two_calls_to_a_source_failing_keeps_it_silent() -> None:
    run, tools = run_of(), Tools().all()
    turns = iter([tools["a"], tools["down"]])

    async def either(run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        found: list[Delivered] = await next(turns)(run, arguments)
        return found

    await run_batch(run, {"task": either}, asked("task", "task"))
    assert run.silent == {"task"}


async def test_the_tool_budget_is_one_of_the_turn() -> None:
    run = run_of(budget=Budget(tool_calls=3))
    bodies = await outcome(run, "a", "b")
    assert all("results" in body for body in bodies)
    bodies = await outcome(run, "a", "b", "invented", "c")
    assert ["error" in body for body in bodies] == [False, True, True, True]
    assert [body.get("error") for body in bodies[1:]] == [
        "limit_reached",
        "tool_not_available",
        "limit_reached",
    ]
    assert run.silent == set() and run.meter.used("tool_calls") == 3


async def test_a_call_of_ours_is_shown_with_the_first_result() -> None:
    run = run_of()
    beside = {"name": "c", "args": {"query": "faq"}}
    found = await run_batch(run, Tools().all(), asked("down", "a"), beside)
    bodies = [json.loads(message.text) for message in found]
    assert bodies[0]["error"] == "store_unavailable"
    assert [one["text"] for one in bodies[0]["results"]] == ["About faq."]
    assert [one["text"] for one in bodies[1]["results"]] == ["About fees 1."]
    assert {one.text for one in run.latest} == {"About faq.", "About fees 1."}


async def test_a_call_of_ours_that_fails_takes_nothing_from_the_others() -> None:
    run = run_of()
    beside = {"name": "down", "args": {"query": "faq"}}
    [message] = await run_batch(run, Tools().all(), asked("a"), beside)
    assert message.status == "success" and "About fees 0." in message.text
    assert run.silent == {"down"}


async def test_the_same_passage_found_twice_is_one_result() -> None:
    run = run_of()
    calls = [{"id": str(n), "name": "a", "args": {"query": "fees"}} for n in range(2)]
    found = await run_batch(run, Tools().all(), calls)
    assert len(run.latest) == 1
    assert all("About fees." in message.text for message in found)


async def test_a_cancelled_batch_waits_for_its_tools() -> None:
    tools = Tools()
    batch = asyncio.create_task(run_batch(run_of(), tools.all(), asked("slow", "slow", "a")))
    await asyncio.sleep(0.05)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert tools.cancelled == 2


async def test_logs_carry_codes_and_no_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await outcome(run_of("SECRET question"), "broken", "wrong", "SECRET_tool")
    lines = [str(record.__dict__) for record in caplog.records]
    assert len(lines) == 4 and not [line for line in lines if "SECRET" in line]
    assert "RuntimeError" in lines[0]
