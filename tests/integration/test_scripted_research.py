"""Research over HTTP on the real-model path: evidence, limits, misses, unavailabilities."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from acme import (
    ANSWER,
    CAREER,
    RESEARCH,
    SEARCH,
    ask,
    eventually,
    hand_over,
    searched,
)
from model_server import ModelServer
from scripted_replies import (
    Status,
    Text,
    call,
)
from served import Served
from sites import Site

pytestmark = pytest.mark.integration


def test_a_supported_answer_is_delivered_byte_for_byte(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    hand_over(models)
    models.script(RESEARCH, SEARCH, ANSWER)
    reply = ask(client, "How many days of leave do I have?")
    assert reply.choices[0].message.content == "You receive 27 days."
    manta = reply.model_extra["manta"]
    assert manta["status"] == "answered"
    assert [c["url"] for c in manta["citations"]] == ["http://hr.acme.example/hr/"]
    assert manta["citations"][0]["quote"] in manta["citations"][0]["passage"]
    assert len(models.asked(CAREER)) == 1, "no model call follows an accepted answer"
    assert "w1" not in json.dumps(manta), "internal source ids are never shown"


def test_research_makes_four_model_calls_at_most_and_the_last_must_answer(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    hand_over(models)
    models.script(RESEARCH, SEARCH, SEARCH, SEARCH, SEARCH, SEARCH)
    models.script(CAREER, Text("I could not find it. Which year?"))
    reply = ask(client, "How many days of leave do I have?")
    calls = models.asked(RESEARCH)
    assert len(calls) == 4
    names = [[tool["name"] for tool in body["tools"]] for body in calls]
    assert set(names[0]) == {"search_knowledge", "read_knowledge_page", "StructuredAnswer"}
    assert names[3] == ["StructuredAnswer"]
    assert reply.model_extra["manta"]["status"] == "miss"
    assert reply.model_extra["manta"]["citations"] == []
    third = [item for item in calls[3]["input"] if item.get("type") == "function_call_output"][2]
    assert json.loads(third["output"])["error"] == "search_limit"


@pytest.mark.parametrize(
    "draft",
    [
        {"answer": "", "citations": [{"source_id": "w1", "quote": "27 days"}]},
        {"answer": "27 days.", "citations": []},
        {"answer": "27 days.", "citations": [{"source_id": "w9", "quote": "27 days"}]},
        {"answer": "28 days.", "citations": [{"source_id": "w1", "quote": "28 days of leave"}]},
        {
            "answer": "5 days.",
            "citations": [{"source_id": "w1", "quote": "Up to five unused days"}],
        },
    ],
    ids=["empty answer", "no citation", "unknown source", "invented quote", "undelivered page"],
)
def test_an_answer_without_delivered_evidence_is_a_miss(
    app: Served, models: ModelServer, client: openai.OpenAI, draft: dict[str, Any]
) -> None:
    hand_over(models)
    models.script(RESEARCH, SEARCH, call("StructuredAnswer", status="answered", **draft))
    models.script(CAREER, Text("I could not find it. Which year?"))
    reply = ask(client, "How many days of leave do I have?")
    assert reply.model_extra["manta"]["status"] == "miss"
    assert reply.model_extra["manta"]["citations"] == []
    assert reply.choices[0].message.content == "I could not find it. Which year?"
    again = models.asked(CAREER)[-1]
    assert "transfer_to_knowledge_base" not in json.dumps(again.get("tools", []))


def test_a_linked_page_is_read_through_its_handle(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    hand_over(models)
    models.script(RESEARCH, SEARCH, ANSWER)
    ask(client, "How many days of leave do I have?")
    link = searched(models)["pages"][0]["links"][0]
    assert link["label"] == "Carrying over unused days"
    assert "http" not in json.dumps(link), "a model never sees or supplies a URL"
    models.reset()
    hand_over(models)
    models.script(RESEARCH, SEARCH, call("read_knowledge_page", page_id="made-up", comment="x"))
    reply = ask(client, "How many days of leave do I have?")
    outputs = [
        i for i in models.asked(RESEARCH)[2]["input"] if i.get("type") == "function_call_output"
    ]
    assert json.loads(outputs[1]["output"])["error"] == "unknown_page"
    assert reply.model_extra["manta"]["status"] == "miss"


def test_a_failed_site_is_unavailable_not_a_miss(
    app: Served, models: ModelServer, client: openai.OpenAI, pages: tuple[Site, str]
) -> None:
    state, _ = pages
    state.pages, kept = {}, state.pages
    app.gateway._roles.ports["page_cache"]._role.__init__()  # type: ignore[attr-defined]
    hand_over(models)
    models.script(RESEARCH, SEARCH, call("StructuredAnswer", status="unanswerable"))
    models.script(CAREER, Text("I could not check just now."))
    try:
        reply = ask(client, "How many days of leave do I have?")
    finally:
        state.pages = kept
    assert reply.model_extra["manta"]["status"] == "unavailable"
    result = json.dumps(models.asked(CAREER)[-1])
    assert '\\"status\\": \\"unavailable\\"' in result


def test_a_model_that_fails_during_research_is_unavailable(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    hand_over(models)
    models.script(RESEARCH, Status(400))
    models.script(CAREER, Text("I could not check just now."))
    reply = ask(client, "How many days of leave do I have?")
    assert reply.model_extra["manta"]["status"] == "unavailable"
    assert reply.choices[0].message.content == "I could not check just now."


def test_a_client_that_disconnects_cancels_down_to_the_crawler(
    app: Served, models: ModelServer, pages: tuple[Site, str]
) -> None:
    state, _ = pages
    app.gateway._roles.ports["page_cache"]._role.__init__()  # type: ignore[attr-defined]
    hand_over(models)
    models.script(RESEARCH, SEARCH, ANSWER)
    state.delay = 5.0
    body = {"model": "manta", "messages": [{"role": "user", "content": "Leave?"}], "stream": True}
    try:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{app.url}/v1/chat/completions", json=body, timeout=1.5)
        eventually(lambda: not app.gateway._turns)
        assert len(models.asked(RESEARCH)) == 1, "the research did not go on"
    finally:
        state.delay = 0.0
