"""The document tools: study programmes, collections, what a call must say, what is offered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from campus_bench import AGENT, SEARCH, SITE, CampusBench, cite, results
from fake_requests import tenant_of
from fake_roles import passage
from model_server import ModelServer
from scripted_replies import Malformed, Text, call

from actors.campus.offered_tools import offered_names, offered_tools

HIT = passage("The deadline is 15 July.", "Admission")
NEAR, FAR = {"15 July": 0.9}, {"15 July": 0.1}
ANSWER = Text("Apply by 15 July [1].")
PROGRAMMES = {"programmes": ["Biology", "Lehramt"]}
SUBAGENT = {
    "name": "rules",
    "description": "Rules.",
    "url": "http://localhost:1/mcp",
    "prompt": "x",
}


async def test_a_search_may_be_of_one_study_programme(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR, **PROGRAMMES)
    search = call("search_documents", query="deadline", programme="Biology")
    await bench.run(search, ANSWER, evidence=[cite()])
    assert bench.retriever.searched_in == [("document", "Biology")]


async def test_an_unknown_programme_is_named_with_the_known_ones(models: ModelServer) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR, **PROGRAMMES)
    search = call("search_documents", query="deadline", programme="Alchemy")
    await bench.run(search, SEARCH, ANSWER, evidence=[cite()])
    [wrong] = results(models, 1)
    assert wrong["error"] == "invalid_input" and wrong["mend"] == "use one of Biology, Lehramt"


@pytest.mark.parametrize("arguments", [{}, {"query": "  "}, {"query": None}, {"words": "x"}])
async def test_a_call_without_words_is_a_failed_call(
    models: ModelServer, arguments: dict[str, Any]
) -> None:
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    await bench.run(call("search_documents", **arguments), SEARCH, ANSWER, evidence=[cite()])
    assert results(models, 1)[0]["error"] == "invalid_input"
    assert len(bench.retriever.searched) == 1


async def test_troubleshooting_is_a_collection_of_its_own(models: ModelServer) -> None:
    found = {"troubleshooting": [HIT]}
    bench = CampusBench(models, passages=found, near=NEAR, troubleshooting=True)
    await bench.run(call("troubleshooting", query="wifi"), ANSWER, evidence=[cite()])
    assert bench.retriever.searched_in == [("troubleshooting", None)]


async def test_a_tool_that_is_not_offered_is_not_run(models: ModelServer) -> None:
    bench = CampusBench(models, passages={"troubleshooting": [HIT]}, near=NEAR)
    await bench.run(call("troubleshooting", query="wifi"), SEARCH)
    assert results(models, 1)[0]["error"] == "tool_not_available"
    assert bench.retriever.searched_in == [("document", None)]


async def test_arguments_that_are_no_json_are_a_failed_call(models: ModelServer) -> None:
    """Without a result under its id a provider would refuse the next request."""
    function = {"name": "search_documents", "arguments": '{"query": "dead'}
    tool_call = {"id": "call_x", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [tool_call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    bench = CampusBench(models, passages=[HIT], near=NEAR)
    await bench.run(Malformed(json.dumps(body)), SEARCH, ANSWER, evidence=[cite()])
    seen = models.asked(AGENT)[1]["messages"]
    called = next(m for m in seen if m.get("tool_calls"))["tool_calls"]
    assert [(one["id"], one["function"]["arguments"]) for one in called] == [("call_x", "{}")]
    assert results(models, 1) == [
        {"id": "call_x", "error": "invalid_input", "mend": "say what to look for"}
    ]


def names(**chatbot: Any) -> tuple[str, ...]:
    tenant = tenant_of(**{"campus": {}, **chatbot})
    offered = offered_names(tenant)
    assert [tool["function"]["name"] for tool in offered_tools(tenant)] == list(offered)
    return offered


def test_only_what_has_something_to_look_into_is_offered() -> None:
    web = {"web": {"enabled": True, "sources": [{"url": SITE}]}}
    assert names() == ()
    assert names(rag={"enabled": True}) == ("search_documents",)
    assert names(knowledge_base=web) == ("search_web",)
    assert names(campus={"troubleshooting": True}) == ("troubleshooting",)
    assert names(campus={"subagents": [SUBAGENT]}) == ("task",)
    assert names(campus={"subagents": [{**SUBAGENT, "enabled": False}]}) == ()


def test_a_tenant_excludes_tools_but_never_all_of_them() -> None:
    both = {"rag": {"enabled": True}, "campus": {"troubleshooting": True}}
    agents = {"campus_advisor": {"tool_exclusion": ["search_documents"]}}
    assert names(**both, agents=agents) == ("troubleshooting",)
    agents = {"campus_advisor": {"tool_exclusion": ["search_documents", "troubleshooting"]}}
    assert names(**both, agents=agents) == ("search_documents", "troubleshooting")


def test_programmes_and_subagents_are_named_in_the_schemas() -> None:
    campus = {**PROGRAMMES, "subagents": [SUBAGENT, {**SUBAGENT, "name": "x", "enabled": False}]}
    documents, task = offered_tools(tenant_of(rag={"enabled": True}, campus=campus))
    offered = documents["function"]["parameters"]["properties"]["programme"]["enum"]
    assert offered == ["Biology", "Lehramt"]
    assert task["function"]["parameters"]["properties"]["subagent"]["enum"] == ["rules"]
    [plain] = offered_tools(tenant_of(rag={"enabled": True}, campus={}))
    assert list(plain["function"]["parameters"]["properties"]) == ["query"]


async def test_a_tenant_without_any_source_is_asked_for_other_words(models: ModelServer) -> None:
    bench = CampusBench(models, chatbot={"rag": {"enabled": False}})
    _, outcome = await bench.run(*[Text("It is in July.")] * 4)
    assert "tools" not in models.asked(AGENT)[0]
    assert outcome.knowledge is not None and outcome.knowledge.status == "unanswerable"
