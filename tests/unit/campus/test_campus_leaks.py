"""Tool calls that a model writes out as text, in several shapes and cut anywhere by the stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest

from actors.campus.leaks import LeakedCall, is_leaked_call, without_leaks
from config.policy import POLICY

LEAKS = [
    '{"name": "search_web", "arguments": {"query": "fees"}}',
    '{ "tool" : "search_web" }',
    "{'name': 'search_web'}",
    '[{"name": "search_documents", "parameters": {}}]',
    '{"type": "function", "function": {"name": "task"}}',
    '{"query": "fees", "about": "general"}',
    '{"tool_calls": []}',
    '```json\n{"name": "search_web"}\n```',
    "```tool_code\nprint(search_web(query='fees'))\n```",
    "```\nsearch_web(query='fees')\n```",
    "<tool_call>\n{}\n</tool_call>",
    "<TOOL_CALL>",
    "<function=search_web>",
    '<function_calls><invoke name="search_web">',
    "<|python_tag|>search_web.call()",
    "<｜tool▁calls▁begin｜>function",
    '[TOOL_CALLS] [{"name": "x"}]',
    'search_web(query="fees")',
    "search_documents({'query': 'fees'})",
    'functions.search_web({"query": "fees"})',
    'task(subagent="rules", request="x")',
    "troubleshooting(query='wifi')",
    "select_evidence(citations=[])",
    "Tool call: search_web",
    "Action: search_web\nAction Input: fees",
]
ANSWERS = [
    "Apply by 15 July [1].",
    "[1] says that it is 15 July.",
    "Task (1): apply. Task (2): wait.",
    "Troubleshooting (Wi-Fi): restart it.",
    "Search documents and web pages yourself.",
    "The name is {Biology} and `code` is 5 < 6.",
    "```\nMonday 9-12\n```",
    "Tools are in room 5.",
    "<b>15 July</b>",
    "Function rooms: 12.",
    "[",
    "x",
]
PREFACES = ["", "\n\n", "Sure. ", "Let me look that up.\n", "I will search:\n\n"]


async def cut(text: str, *places: int) -> AsyncIterator[str]:
    edges = [0, *places, len(text)]
    for start, end in pairwise(edges):
        yield text[start:end]


async def told(text: str, *places: int) -> str:
    return "".join([piece async for piece in without_leaks(cut(text, *places))])


@pytest.mark.parametrize("leak", LEAKS)
def test_every_shape_is_a_call(leak: str) -> None:
    assert is_leaked_call(leak) and is_leaked_call(f"I will look it up.\n{leak}")


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_none(answer: str) -> None:
    assert not is_leaked_call(answer)


@pytest.mark.parametrize("leak", LEAKS)
async def test_nothing_of_a_call_passes_wherever_the_stream_is_cut(leak: str) -> None:
    for place in range(len(leak)):
        with pytest.raises(LeakedCall):
            await told(leak, place)
    with pytest.raises(LeakedCall):
        await told(leak, *range(1, len(leak)))


@pytest.mark.parametrize("preface", PREFACES)
async def test_a_call_that_is_announced_is_a_call(preface: str) -> None:
    leak = preface + '<tool_call>{"name": "search_web"}</tool_call>'
    for place in range(len(leak)):
        with pytest.raises(LeakedCall):
            await told(leak, place)


@pytest.mark.parametrize("answer", [*ANSWERS, " Two\n\nparagraphs [1]. \n", "Long. " * 60])
async def test_an_answer_passes_whole_without_the_space_around_it(answer: str) -> None:
    for place in range(len(answer)):
        assert await told(answer, place) == answer.strip()
    assert await told(answer, *range(1, len(answer))) == answer.strip()


async def test_a_call_after_an_answer_is_cut_off() -> None:
    answer = "The deadline is 15 July [1]. " * 5
    text = f'{answer}\n\n{{"name": "search_web", "arguments": {{}}}} and more'
    for place in range(len(text)):
        assert await told(text, place) == answer.strip()


async def test_text_is_held_only_until_it_is_sure() -> None:
    size = POLICY.campus.held_chars
    pieces = without_leaks(cut("x" * 3 * size, size - 1, size, size + 1))
    assert await anext(pieces) == "x" * size
    assert await anext(pieces) == "x"
    await pieces.aclose()


async def test_the_source_is_read_to_its_end_because_its_usage_comes_last() -> None:
    ended = False

    async def source() -> AsyncIterator[str]:
        nonlocal ended
        yield '{"name": '
        yield '"search_web"}'
        yield "more"
        ended = True

    with pytest.raises(LeakedCall):
        [piece async for piece in without_leaks(source())]
    assert ended


async def test_nothing_is_nothing() -> None:
    assert await told("") == "" and await told(" \n ") == ""
