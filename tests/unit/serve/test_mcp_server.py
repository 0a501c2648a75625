"""The MCP server over real HTTP, with the SDK's own client, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import httpx2
import pytest
from fake_gateway import CHAT_ONLY, REPLY, FakeGateway, directory
from listening import listening
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from config.policy import POLICY
from config.tenants import SPECIALISTS
from domain.events import Activity, Event, StepStarted, TurnFinished, TurnPaused, TurnStopped
from domain.pauses import Pause, PauseQuestion, PauseRequest

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ENDLESS: list[Event | float] = [StepStarted(step="gate"), 60.0]


def client(url: str, mode: str = "auto", **headers: str) -> Client:
    http = httpx2.AsyncClient(headers=headers, trust_env=False)
    return Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode)


async def call(gateway: FakeGateway, name: str, mode: str = "auto", **arguments: Any) -> Any:
    async with listening(gateway) as url, client(url, mode) as mcp:
        return await mcp.call_tool(name, arguments)


def text(result: Any) -> str:
    (content,) = result.content
    assert content.type == "text"
    return str(content.text)


@MODES
async def test_every_enabled_specialist_is_a_tool(mode: str) -> None:
    async with listening(FakeGateway()) as url, client(url, mode) as mcp:
        tools = (await mcp.list_tools()).tools
    assert tuple(tool.name for tool in tools) == SPECIALISTS[:-1], "the advisor needs a campus"
    assert all(tool.description for tool in tools)
    schema = tools[0].input_schema
    assert list(schema["properties"]) == ["message", "conversation", "locale"]
    assert schema["required"] == ["message"]


@MODES
async def test_only_the_callers_tenants_specialists_are_listed(mode: str) -> None:
    quiet = {"X-Manta-Tenant": "quiet"}
    async with listening(FakeGateway()) as url, client(url, mode, **quiet) as mcp:
        tools = (await mcp.list_tools()).tools
    assert [tool.name for tool in tools] == ["career_chat"]


@MODES
async def test_a_call_is_a_turn_of_that_specialist(mode: str) -> None:
    gateway = FakeGateway()
    result = await call(
        gateway, "career_chat", mode, message="How many?", conversation="c1", locale="de"
    )
    assert not result.is_error
    assert text(result) == REPLY.text
    reply = REPLY.model_dump(mode="json")
    assert result.structured_content == {
        key: reply[key] for key in ("status", "agent", "locale", "citations")
    }
    (turn,) = gateway.turns
    assert (turn.identity.tenant, turn.identity.user) == ("acme", "ana")
    assert (turn.entry, turn.conversation, turn.locale) == ("career_chat", "c1", "de")
    assert [message.text for message in turn.messages] == ["How many?"]
    assert turn.interactive is False


@MODES
async def test_a_disabled_specialist_is_refused_before_anything_runs(mode: str) -> None:
    gateway = FakeGateway(tenants=directory(CHAT_ONLY), default_tenant="quiet")
    result = await call(gateway, "task_guidance", mode, message="My tasks?")
    assert result.is_error
    assert text(result) == "The specialist task_guidance is not available here."
    assert gateway.turns == []


@MODES
async def test_an_unknown_tool_is_an_error_of_the_protocol(mode: str) -> None:
    gateway = FakeGateway()
    async with listening(gateway) as url, client(url, mode) as mcp:
        with pytest.raises(MCPError, match="there is no tool 'barista'"):
            await mcp.call_tool("barista", {"message": "x"})
    assert gateway.turns == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "message"),
        ({"message": 1}, "message"),
        ({"message": " "}, "message"),
        ({"message": "x" * (POLICY.input.message_chars + 1)}, "message"),
        ({"message": "x", "conversation": ""}, "conversation"),
        ({"message": "x", "conversation": 1}, "conversation"),
        ({"message": "x", "conversation": "x" * 129}, "conversation"),
        ({"message": "x", "locale": "it"}, "locale"),
        ({"message": "x", "locale": ["en"]}, "locale"),
        ({"message": "x", "tenant": "zoo"}, "tenant"),
    ],
)
async def test_a_wrong_argument_is_an_error_that_a_model_can_mend(
    arguments: dict[str, Any], field: str
) -> None:
    gateway = FakeGateway()
    result = await call(gateway, "career_chat", **arguments)
    assert result.is_error
    assert text(result).startswith(field)
    assert gateway.turns == []


async def test_arguments_at_their_limits_are_accepted() -> None:
    gateway = FakeGateway()
    message = "x" * POLICY.input.message_chars
    result = await call(gateway, "career_chat", message=message, conversation="c" * 128)
    assert not result.is_error


async def test_a_turn_that_stopped_is_an_error_with_the_safe_text() -> None:
    stopped = TurnStopped(code="model_unavailable", stage="gate", message="Sorry.")
    result = await call(FakeGateway([stopped]), "career_chat", message="x")
    assert (result.is_error, text(result)) == (True, "Sorry.")


async def test_a_pause_is_shown_as_its_questions() -> None:
    pause = Pause(
        interaction_id="i",
        specialist="career_chat",
        tool="t",
        call_id="c",
        request=PauseRequest(
            reason="clarification", questions=(PauseQuestion(id="q", text="Which one?"),)
        ),
    )
    reply = REPLY.model_copy(update={"status": "paused", "text": ""})
    result = await call(
        FakeGateway([TurnPaused(pause=pause, reply=reply)]), "career_chat", message="x"
    )
    assert (text(result), result.structured_content["status"]) == ("Which one?", "paused")


@MODES
async def test_a_client_that_asks_hears_of_the_progress(mode: str) -> None:
    events: list[Event | float] = [
        StepStarted(step="gate"),
        Activity(code="checking_request", agent="guardrail"),
        TurnFinished(reply=REPLY),
    ]
    heard: list[tuple[float, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, message))

    async with listening(FakeGateway(events)) as url, client(url, mode) as mcp:
        await mcp.call_tool("career_chat", {"message": "x"}, progress_callback=progress)
    assert heard == [(1, "gate"), (2, "checking_request")]


@MODES
async def test_a_client_that_goes_away_cancels_and_drains_its_turn(mode: str) -> None:
    gateway = FakeGateway(ENDLESS, drain_seconds=0.1)
    before = asyncio.all_tasks()
    async with listening(gateway) as url:

        async def asking() -> None:
            async with client(url, mode) as mcp:
                await mcp.call_tool("career_chat", {"message": "x"})

        leaving = asyncio.create_task(asking())
        while not gateway.turns:
            await asyncio.sleep(0.01)
        leaving.cancel()
        await asyncio.wait({leaving})
        async with asyncio.timeout(3):
            while gateway.drained == 0:
                await asyncio.sleep(0.01)
    # sse-starlette keeps one watcher of the process's end in each event loop.
    left = {task.get_coro().__name__ for task in asyncio.all_tasks() - before}
    assert left <= {"_shutdown_watcher"}


async def test_a_request_without_an_identity_is_refused_as_everywhere() -> None:
    gateway = FakeGateway()
    async with listening(gateway) as url, httpx.AsyncClient(trust_env=False) as http:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = {"Accept": "application/json, text/event-stream"}
        for wrong, status in [
            ({"X-Manta-Tenant": "zoo"}, 404),
            ({"X-Manta-User": "a b"}, 400),
            ({"Origin": "https://evil.example"}, 404),
            ({"Host": "evil.example"}, 404),
        ]:
            reply = await http.post(f"{url}/mcp", json=ping, headers={**headers, **wrong})
            assert reply.status_code == status, wrong
            assert "error" in reply.json()
        same = {**headers, "Origin": url}
        assert (await http.post(f"{url}/mcp", json=ping, headers=same)).status_code == 200
        form = {**headers, "Content-Type": "text/plain"}
        reply = await http.post(f"{url}/mcp", content="{}", headers=form)
        assert reply.status_code == 400
        large = "x" * (POLICY.input.body_bytes + 1)
        reply = await http.post(f"{url}/mcp", json={"x": large}, headers=headers)
        assert reply.status_code == 413
