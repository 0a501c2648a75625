"""The port to a role in this process: results, deadlines, and cancellation that waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from fake_requests import context_of, tenant_of

from actors.handles import LocalPort
from actors.role_handles import CellHandles, CrawlerHandle, GuardrailHandle, RetrieverHandle
from config.policy import POLICY
from crawler.pages import PageRequest
from crawler.scope import WebSource
from domain.errors import DeadlineExceeded, ModelUnavailable
from domain.messages import user
from domain.requests import SpecialistRequest


class Slow:
    """A role whose work and clean-up take a while."""

    def __init__(self) -> None:
        self.cleaned = 0

    async def echo(self, *args: Any) -> Any:
        return args

    async def work(self, seconds: float) -> str:
        try:
            await asyncio.sleep(seconds)
            return "done"
        finally:
            await asyncio.sleep(0.05)
            self.cleaned += 1

    async def fail(self) -> None:
        raise ModelUnavailable("the model", "refusal")

    async def own_timeout(self) -> None:
        raise TimeoutError("the role's own")

    async def count(self, number: int, pause: float = 0.0) -> AsyncGenerator[int, None]:
        try:
            for item in range(number):
                yield item
                await asyncio.sleep(pause)
        finally:
            await asyncio.sleep(0.05)
            self.cleaned += 1


async def collect(items: AsyncIterator[Any], into: list[Any]) -> None:
    """Append the items to ``into``, so that those before an error can be looked at."""
    async for item in items:
        into.append(item)


async def test_a_call_gives_the_roles_result() -> None:
    assert await LocalPort("slow", Slow()).call("echo", 1, None) == (1, None)


async def test_an_error_of_ours_passes_unchanged() -> None:
    with pytest.raises(ModelUnavailable, match="refusal"):
        await LocalPort("slow", Slow()).call("fail", seconds=5.0)


async def test_a_call_that_takes_too_long_names_the_operation_and_the_seconds() -> None:
    role = Slow()
    with pytest.raises(DeadlineExceeded) as caught:
        await LocalPort("slow", role).call("work", 30.0, seconds=0.05)
    assert (caught.value.operation, caught.value.seconds) == ("slow.work", 0.05)
    assert role.cleaned == 1, "the role has ended before the caller goes on"


async def test_a_timeout_of_the_role_itself_is_not_taken_for_the_deadline() -> None:
    with pytest.raises(TimeoutError, match="the role's own"):
        await LocalPort("slow", Slow()).call("own_timeout", seconds=5.0)


async def test_without_seconds_a_call_is_unlimited() -> None:
    assert await LocalPort("slow", Slow()).call("work", 0.05) == "done"


async def test_a_cancelled_call_waits_for_the_roles_clean_up() -> None:
    role = Slow()
    task = asyncio.create_task(LocalPort("slow", role).call("work", 30.0, seconds=60.0))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert role.cleaned == 1


async def test_a_stream_gives_the_items_in_order() -> None:
    role = Slow()
    assert [n async for n in LocalPort("slow", role).stream("count", 5)] == [0, 1, 2, 3, 4]
    assert role.cleaned == 1


async def test_a_streams_deadline_is_one_clock_over_all_its_items() -> None:
    role = Slow()
    got: list[int] = []
    with pytest.raises(DeadlineExceeded) as caught:
        await collect(LocalPort("slow", role).stream("count", 100, 0.05, seconds=0.2), got)
    assert (caught.value.operation, caught.value.seconds) == ("slow.count", 0.2)
    assert 1 <= len(got) < 20
    assert role.cleaned == 1


async def test_a_stream_that_is_closed_early_closes_the_role() -> None:
    role = Slow()
    stream = LocalPort("slow", role).stream("count", 100, 0.01)
    assert await anext(stream) == 0
    await stream.aclose()
    assert role.cleaned == 1


async def test_a_cancelled_stream_waits_for_the_roles_clean_up() -> None:
    role = Slow()

    async def consume() -> None:
        async for _ in LocalPort("slow", role).stream("count", 100, 10.0):
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert role.cleaned == 1


class Recorder:
    """A port that keeps what it was asked."""

    def __init__(self, reply: Any = None) -> None:
        self.reply = reply
        self.calls: list[tuple[str, tuple[Any, ...], float | None]] = []

    async def call(self, method: str, *args: Any, seconds: float | None = None) -> Any:
        self.calls.append((method, args, seconds))
        return self.reply

    async def stream(
        self, method: str, *args: Any, seconds: float | None = None
    ) -> AsyncGenerator[Any, None]:
        self.calls.append((method, args, seconds))
        yield self.reply


async def test_the_guardrail_is_given_the_gates_wall_clock() -> None:
    port = Recorder("outcome")
    context, tenant = context_of(), tenant_of()
    assert await GuardrailHandle(port).decide(context, tenant, (user("q"),)) == "outcome"
    assert port.calls == [("decide", (context, tenant, (user("q"),)), POLICY.nodes.gate)]


async def test_a_search_asks_for_five_passages_within_the_source_time() -> None:
    port = Recorder([])
    await RetrieverHandle(port).search("acme", "q")
    await RetrieverHandle(port).search("acme", "q", 3, collection="faq", programme="Chemie")
    assert port.calls == [
        ("search", ("acme", "q", 5, "document", None), 20.0),
        ("search", ("acme", "q", 3, "faq", "Chemie"), 20.0),
    ]


class Waiting(Recorder):
    """A crawler whose pages come when the test says so."""

    def __init__(self, name: str, gate: asyncio.Event) -> None:
        super().__init__(name)
        self._gate = gate

    async def call(self, method: str, *args: Any, seconds: float | None = None) -> Any:
        reply = await super().call(method, *args, seconds=seconds)
        await self._gate.wait()
        return reply


async def test_simultaneous_pages_of_a_host_go_to_its_two_crawlers() -> None:
    gate = asyncio.Event()
    handle = CrawlerHandle([Waiting("a", gate), Waiting("b", gate)])
    url = "https://a.example/hr/"
    request = PageRequest(source=WebSource(url), url=url)
    pages = [asyncio.create_task(handle.fetch(request)) for _ in range(4)]
    await asyncio.sleep(0.01)
    gate.set()
    assert sorted(map(str, await asyncio.gather(*pages))) == ["a", "a", "b", "b"]


async def test_a_cells_handles_reach_the_named_roles() -> None:
    names = ("guardrail", "memory", "supervisor", "researcher", "career_chat", "task_guidance")
    ports = {name: Recorder(name) for name in names}
    handles = CellHandles.over(dict(ports), ("career_chat", "task_guidance"))
    context, tenant = context_of(), tenant_of()
    outcome = await handles.supervisor.decide(context, tenant, (), (), None, None)
    assert outcome == "supervisor"
    run = handles.specialists["task_guidance"].run(context, tenant, SpecialistRequest(messages=()))
    assert [item async for item in run] == ["task_guidance"]
    assert ports["task_guidance"].calls[0][2] == POLICY.nodes.specialist
    research = handles.researcher.run(context, tenant, "q", ())
    assert [item async for item in research] == ["researcher"]
    assert ports["researcher"].calls[0][2] == POLICY.nodes.knowledge
