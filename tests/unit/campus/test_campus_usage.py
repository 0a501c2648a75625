"""What a turn used, and what is left running when it is cancelled: real numbers, and nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from campus_bench import AGENT, SEARCH, SITE, CampusBench, cite, page_of
from fake_requests import context_of
from fake_roles import FakeRetriever, passage
from model_server import ModelServer
from scripted_replies import Chosen, Reply, Silent, Text, call
from scripted_wire import prompt_tokens, written_tokens

from domain.events import TextDelta
from domain.messages import user
from domain.passages import Passage
from domain.requests import SpecialistRequest

HIT = passage("The deadline is 15 July.", "Admission")
NEAR, BETWEEN = {"15 July": 0.9}, {"15 July": 0.4}
ANSWER = Text("Apply by 15 July [1].")
LEAK = Text('{"name": "search_web", "arguments": {}}')


class SlowRetriever(FakeRetriever):
    """Never answers; counts the searches that were cancelled."""

    cancelled = 0

    async def search(self, *args: Any, **more: Any) -> list[Passage]:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return []


async def test_every_call_and_its_tokens_are_counted_once(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=BETWEEN)
    draft, graded = Text("In July."), [Chosen("relevant")]
    judged, chosen = [Chosen("needs_tools")], [cite()]
    replies: list[Reply] = [draft, SEARCH, LEAK, ANSWER]
    _, outcome = await bench.run(*replies, judge=judged, grading=graded, evidence=chosen)
    assert len(models.requests) == outcome.spent.model_calls == 7
    assert outcome.spent.tool_calls == 1
    read = sum(prompt_tokens(seen["body"]) for seen in models.requests)
    assert outcome.spent.input_tokens == read
    spoken = [*replies, *chosen, Text('{"choice": "relevant"}'), Text('{"choice": "needs_tools"}')]
    written = sum(written_tokens(reply) for reply in spoken)  # type: ignore[arg-type]
    assert outcome.spent.output_tokens == written


async def test_prices_make_a_cost(models: ModelServer) -> None:
    price = {"input": 1.0, "cached": 1.0, "output": 1.0}
    bench = CampusBench(
        models,
        passages=[HIT],
        near=NEAR,
        settings={"prices": {"priced": price}, "mini_model": "priced"},
    )
    _, outcome = await bench.run(SEARCH, ANSWER, evidence=[cite()])
    tokens = outcome.spent.input_tokens + outcome.spent.output_tokens
    assert outcome.spent.cost_usd == pytest.approx(tokens / 1e6)


async def test_pages_are_counted_as_everywhere(models: ModelServer) -> None:
    pages = {SITE: page_of("The deadline is 15 July.", Fees="fees.html")}
    bench = CampusBench(models, pages=pages, near=NEAR)
    search = call("search_web", query="deadline", about="general")
    _, outcome = await bench.run(search, ANSWER, evidence=[cite("w1")])
    assert (outcome.spent.page_attempts, outcome.spent.reads) == (2, 1)


async def test_a_greeting_used_what_it_used(models: ModelServer) -> None:
    _, outcome = await CampusBench(models).run(Text("Hello!"), judge=[Chosen("greeting")])
    assert outcome.spent.model_calls == 2
    assert outcome.spent.input_tokens > 0 and outcome.spent.output_tokens > 0


@pytest.mark.parametrize("task", ["agent", "grading", "evidence"])
async def test_a_cancelled_turn_drops_its_model_call(models: ModelServer, task: str) -> None:
    bench = CampusBench(models, passages=[HIT], near=BETWEEN)
    scripts: dict[str, Any] = {"grading": [Chosen("relevant")], "evidence": [cite()]}
    replies: list[Reply] = [SEARCH, ANSWER]
    if task == "agent":
        replies = [Silent(20)]
    else:
        scripts[task] = [Silent(20)]
    turn = asyncio.create_task(bench.run(*replies, **scripts))
    await _eventually(lambda: models.open_requests == 1)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await _eventually(lambda: models.open_requests == 0)


async def test_a_cancelled_turn_cancels_its_tools(models: ModelServer) -> None:
    retriever = SlowRetriever()
    bench = CampusBench(models, retriever=retriever)
    turn = asyncio.create_task(bench.run(SEARCH))
    await _eventually(lambda: len(models.asked(AGENT)) == 1)
    await asyncio.sleep(0.1)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert retriever.cancelled == 1


async def test_a_reader_that_leaves_closes_the_writers_stream(models: ModelServer) -> None:
    slow = "scripted-ttft0-itl20-len9"
    bench = CampusBench(models, passages=[HIT], near=NEAR, settings={"mini_model": slow})
    models.script(AGENT, SEARCH, Text("word " * 2_000))
    models.script(f"{AGENT}.evidence", cite())
    request = SpecialistRequest(messages=(user("When is the deadline?"),))
    async with bench.advisor() as advisor:
        stream: AsyncGenerator[Any, None] = advisor.run(context_of(), bench.tenant, request)
        async with aclosing(stream) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    assert models.open_requests == 1
                    break
        await _eventually(lambda: models.open_requests == 0)


async def test_logs_carry_nothing_that_was_said_or_found(
    models: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("manta", "crawler", "retrieval"):
        caplog.set_level(logging.DEBUG, name)
    secret = passage("The SECRET deadline is 15 July.", "SECRET title")
    pages = {SITE: page_of("SECRET page", "SECRET")}
    bench = CampusBench(models, passages=[secret], pages=pages, near=BETWEEN, faq=True)
    search = call("search_web", query="SECRET words", about="general")
    await bench.run(
        Text("SECRET draft"),
        search,
        call("search_documents", query="SECRET query", programme="SECRET"),
        call("SECRET_tool", query="x"),
        question="SECRET question?",
        judge=[Chosen("needs_tools")],
        grading=[Chosen("not_relevant")] * 3,
    )
    ours = [r for r in caplog.records if r.name.split(".")[0] in ("manta", "crawler", "retrieval")]
    lines = [str(record.__dict__) + record.getMessage() for record in ours]
    assert len(lines) > 5
    assert not [line for line in lines if "SECRET" in line]


async def _eventually(holds: Any, seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)
