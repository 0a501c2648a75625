"""The demo's MCP server over real HTTP, with the SDK's own client, and how it starts and stops."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError

from serve.demo_regulations import PASSAGES, Regulations, regulations_server

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with regulations_server() as where:
        yield where


def client(address: str, mode: str = "auto") -> Client:
    http = httpx2.AsyncClient(trust_env=False)
    return Client(streamable_http_client(f"http://{address}/mcp", http_client=http), mode=mode)


async def call(address: str, mode: str = "auto", **arguments: Any) -> Any:
    async with client(address, mode) as mcp:
        return await mcp.call_tool("search_regulations", arguments)


@MODES
async def test_there_is_one_tool(address: str, mode: str) -> None:
    async with client(address, mode) as mcp:
        [tool] = (await mcp.list_tools()).tools
        assert tool.name == "search_regulations"
        assert tool.description
        assert list(tool.input_schema["properties"]) == ["query", "programme"]
        with pytest.raises(MCPError, match="there is no tool 'barista'"):
            await mcp.call_tool("barista", {})


@MODES
async def test_passages_come_with_their_section_and_a_link_that_holds_a_token(
    address: str, mode: str
) -> None:
    query = "Wie oft kann ich eine Prüfung wiederholen?"
    result = await call(address, mode, query=query, programme="Betriebswirtschaft")
    assert not result.is_error
    passages = result.structured_content["passages"]
    assert all(list(passage) == ["section", "title", "text", "url"] for passage in passages)
    assert passages[0]["section"] == "§ 10 Wiederholung von Prüfungen"
    assert passages[0]["title"] == "Prüfungsordnung Bachelor Betriebswirtschaft"
    assert "dreimal wiederholt" in passages[0]["text"]
    assert all("?token=secret-" in passage["url"] for passage in passages)


async def test_a_programme_has_its_own_answer_under_any_of_its_names(address: str) -> None:
    for name in ("Computer Science", "informatik", " Informatik "):
        result = await call(address, query="retaking a failed examination", programme=name)
        first = result.structured_content["passages"][0]
        assert first["title"] == "Examination regulations, Bachelor Computer Science"
    result = await call(address, query="retaking a failed examination", programme="Theology")
    assert result.structured_content == {"passages": []}


async def test_without_a_programme_all_are_searched_and_five_are_given(address: str) -> None:
    result = await call(address, query="Prüfung Bachelorarbeit Gesamtnote")
    passages = result.structured_content["passages"]
    assert len(passages) == PASSAGES == 5
    assert len({passage["title"] for passage in passages}) > 1


@pytest.mark.parametrize("query", ["Hubschrauber", "the and of", "§§§"])
async def test_what_shares_no_word_is_not_found(address: str, query: str) -> None:
    assert (await call(address, query=query)).structured_content == {"passages": []}


@pytest.mark.parametrize(
    "arguments", [{}, {"query": " "}, {"query": 1}, {"query": "x", "programme": ["Informatik"]}]
)
async def test_a_wrong_argument_is_an_error_that_a_model_can_mend(
    address: str, arguments: dict[str, Any]
) -> None:
    result = await call(address, **arguments)
    assert result.is_error
    assert result.content[0].text.startswith(("query", "programme"))


def test_it_stops_without_a_trace_even_when_it_is_interrupted() -> None:
    before = set(threading.enumerate())
    used: list[tuple[str, int]] = []

    def interrupted() -> None:
        with regulations_server() as where:
            host, port = where.split(":")
            used.append((host, int(port)))
            socket.create_connection(used[0], timeout=5).close()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert used[0][0] == "127.0.0.1"
    assert set(threading.enumerate()) - before == set()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(used[0], timeout=1)


def test_two_run_side_by_side() -> None:
    with regulations_server() as one, regulations_server() as other:
        assert one != other


@pytest.mark.parametrize("line", ['{"id": "x"}', "[]"])
def test_a_wrong_line_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "regulations.jsonl"
    file.write_text(line)
    with pytest.raises(ValidationError):
        Regulations.load(file)


def test_a_programme_that_the_query_names_comes_first() -> None:
    regulations = Regulations.load()
    [first, *_] = regulations.search(
        "How often may I retake an examination in Marine Sciences?", None
    )
    assert first.id == "mar-en-08"
    [first, *_] = regulations.search("Prüfung wiederholen in Psychologie", None)
    assert first.id == "psy-de-10"
