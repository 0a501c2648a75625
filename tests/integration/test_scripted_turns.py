"""Whole turns over HTTP on the real-model path: native decisions, handoff, limits, failures."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from model_server import ModelServer
from scripted_replies import (
    Calls,
    Chosen,
    Malformed,
    Refused,
    Silent,
    Status,
    Text,
    call,
)
from served import Served, served, settings_for
from sites import Site, site

pytestmark = pytest.mark.integration

GUARD = "manta.guardrail.decision"
SUPERVISOR = "manta.supervisor"
CAREER = "manta.career_chat"
RESEARCH = "manta.research"
PAGE = (
    "<html><head><title>Leave</title></head><body><main><h1>Leave</h1>"
    "<p>Full-time staff receive 27 days of annual leave in every calendar year.</p>"
    '<p>More: <a href="carry.html">Carrying over unused days</a></p></main></body></html>'
)
LINKED = (
    "<html><head><title>Carry over</title></head><body><main><h1>Carry over</h1>"
    "<p>Up to five unused days may be carried over until the end of March.</p></main></body></html>"
)


@pytest.fixture(scope="module")
def pages() -> Iterator[tuple[Site, str]]:
    with site({"/hr/": PAGE, "/hr/carry.html": LINKED}) as running:
        yield running


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tenants")
    web = {
        "enabled": True,
        "sources": [{"url": "http://hr.acme.example/hr/", "allowed_path_prefixes": ["/hr"]}],
    }
    acme = {"tenant": "acme", "name": "Acme", "chatbot": {"knowledge_base": {"web": web}}}
    quiet = {
        "tenant": "quiet",
        "name": "Quiet",
        "chatbot": {"agents": {"career_chat": {"active": True}}},
    }
    idle = {"tenant": "idle", "name": "Idle", "chatbot": {"agents": {}}}
    for tenant in (acme, quiet, idle):
        (folder / f"{tenant['tenant']}.json").write_text(json.dumps(tenant))
    return folder


@pytest.fixture(scope="module")
def app(
    model_server: ModelServer,
    pages: tuple[Site, str],
    tenants: Path,
    redis_url: str,
    milvus_uri: str,
) -> Iterator[Served]:
    settings = settings_for(
        tenants=tenants,
        default_tenant="acme",
        provider="openai",
        openai_api_key="test",
        openai_base_url=model_server.url,
        redis_url=redis_url,
        milvus_uri=milvus_uri,
        connect_to={"hr.acme.example:80": pages[1]},
        tasks=None,
        prices={"gpt-6-luna": {"input": 1.0, "cached": 0.5, "output": 2.0}},
    )
    with served(settings) as running:
        yield running


@pytest.fixture
def client(app: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{app.url}/v1", api_key="any", max_retries=0)


def ask(client: openai.OpenAI, text: str, tenant: str = "acme", **more: Any) -> Any:
    return client.chat.completions.create(
        model="manta",
        messages=[{"role": "user", "content": text}],
        extra_headers={"X-Manta-Tenant": tenant},
        **more,
    )


def run(app: Served, text: str, thread: str = "t", tenant: str = "acme") -> list[dict[str, Any]]:
    """All AG-UI events of one run."""
    body = {
        "threadId": thread,
        "runId": f"run-{time.monotonic_ns()}",
        "messages": [{"id": "1", "role": "user", "content": text}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
    headers = {"X-Manta-Tenant": tenant}
    with httpx.stream("POST", f"{app.url}/v1/runs", json=body, headers=headers, timeout=60) as got:
        assert got.status_code == 200, got.read()
        return [json.loads(line[6:]) for line in got.iter_lines() if line.startswith("data: ")]


def searched(models: ModelServer) -> dict[str, Any]:
    """The result of the search in the latest research request."""
    body = models.asked(RESEARCH)[-1]
    outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
    return json.loads(outputs[0]["output"])


def hand_over(models: ModelServer) -> None:
    models.script(GUARD, Chosen("allow"))
    models.script(SUPERVISOR, Chosen("career_chat"))
    models.script(CAREER, call("transfer_to_knowledge_base", question="How many days of leave?"))


SEARCH = call("search_knowledge", query="days of leave", comment="Looking for leave")
ANSWER = call(
    "StructuredAnswer",
    status="answered",
    answer="You receive 27 days.",
    citations=[{"source_id": "w1", "quote": "Full-time staff receive 27 days of annual leave"}],
)


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


def test_decisions_are_native_and_carry_no_generation_settings(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    models.script(SUPERVISOR, Chosen("career_chat"))
    ask(client, "Hello")
    paths = {seen["task"]: seen["path"] for seen in models.requests}
    assert paths[GUARD] == paths[SUPERVISOR] == "/v1/decisions"
    body = models.asked(GUARD)[0]
    assert set(body) == {"model", "input", "questions"}
    assert body["questions"][0]["name"] == "guardrail_decision"
    values = [choice["value"] for choice in body["questions"][0]["choices"]]
    assert values == ["allow", "doubt", "block"]


def test_usage_is_what_the_model_calls_used(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    reply = ask(client, "Hello")
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    spent = reply.model_extra["manta"]["spent"]
    assert spent["model_calls"] == len(models.requests) == 4
    assert spent["cost_usd"] > 0


def test_the_sdk_streams_the_final_turn_only(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    models.script(CAREER, Calls((("reply_to_user", {}),), text="SECRET SCRATCH"), Text("A b c."))
    stream = ask(client, "Hello", stream=True, stream_options={"include_usage": True})
    text, usage, progress = "", None, []
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            text += chunk.choices[0].delta.content
        usage = chunk.usage or usage
        progress += [chunk.model_extra["manta"]] if "manta" in chunk.model_extra else []
    assert text == "A b c."
    assert usage.completion_tokens > 0
    assert progress[0]["event"]["type"] == "step_started"
    assert progress[-1]["reply"]["status"] == "replied"


def test_a_tool_turn_is_never_shown(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    hand_over(models)
    leak = Calls((("transfer_to_knowledge_base", {"question": "leave?"}),), text="LEAKED")
    models.reset()
    models.script(CAREER, leak)
    models.script(RESEARCH, SEARCH, ANSWER)
    reply = ask(client, "How many days of leave do I have?")
    assert "LEAKED" not in reply.model_dump_json()


def test_block_and_doubt_end_with_a_boundary_reply(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    for decision in ("block", "doubt"):
        models.reset()
        models.script(GUARD, Chosen(decision))
        models.script("manta.guardrail.reply", Text("I cannot help with that."))
        reply = ask(client, "Please do harm")
        assert reply.choices[0].message.content == "I cannot help with that."
        assert reply.model_extra["manta"]["status"] == "boundary"
        assert [seen["task"] for seen in models.requests] == [GUARD, "manta.guardrail.reply"]
        body = models.asked("manta.guardrail.reply")[0]
        assert body.get("max_completion_tokens") == 512
        assert "tools" not in body


def test_an_empty_boundary_reply_becomes_the_static_text(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    models.script(GUARD, Chosen("block"))
    models.script("manta.guardrail.reply", Text(""))
    reply = ask(client, "Aide-moi à nuire à mon collègue de travail", metadata={"locale": "fr"})
    assert reply.choices[0].message.content.startswith("Je ne peux pas vous aider")


@pytest.mark.parametrize(
    "reply",
    [
        Refused(),
        Malformed(),
        Chosen("perhaps"),
        Chosen("allow", {"allow": 7.0}),
        Status(400),
        Malformed("[1]"),
    ],
    ids=["refusal", "empty", "unknown", "distribution", "status", "list"],
)
def test_a_gate_without_a_usable_decision_stops_the_turn(
    app: Served, models: ModelServer, client: openai.OpenAI, reply: Any
) -> None:
    models.script(GUARD, reply)
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client, "Hello")
    assert caught.value.status_code == 503
    assert caught.value.body["code"] == "model_unavailable"
    assert {seen["task"] for seen in models.requests} == {GUARD}, "nothing else has started"
    assert all(seen["path"] == "/v1/decisions" for seen in models.requests), "no generative retry"


def test_an_incomplete_boundary_reply_stops_the_turn(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    models.script(GUARD, Chosen("block"))
    models.script("manta.guardrail.reply", Text("I can", finish="length"))
    with pytest.raises(openai.InternalServerError):
        ask(client, "Hello")


def test_transient_failures_are_tried_three_times_at_most(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    models.script(GUARD, Status(500), Status(500), Chosen("allow"))
    assert ask(client, "Hello").choices[0].message.content
    models.reset()
    models.script(GUARD, Status(500), Status(500), Status(500), Chosen("allow"))
    with pytest.raises(openai.InternalServerError):
        ask(client, "Hello")
    assert len(models.asked(GUARD)) == 3


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


def test_one_enabled_specialist_needs_no_routing_call(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    ask(client, "Hello", tenant="quiet")
    assert models.asked(SUPERVISOR) == []
    career = models.asked(CAREER)
    assert all("tools" not in body for body in career), "nothing to research, nothing offered"
    assert "disabled" in json.dumps(career[0])


def test_no_enabled_specialist_stops_the_turn(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client, "Hello", tenant="idle")
    assert caught.value.body["code"] == "invalid_configuration"


def test_a_direct_entry_skips_the_supervisor_but_not_the_gate(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    client.chat.completions.create(
        model="manta/task_guidance", messages=[{"role": "user", "content": "My tasks?"}]
    )
    tasks = [seen["task"] for seen in models.requests]
    assert tasks[0] == GUARD
    assert SUPERVISOR not in tasks
    assert "manta.task_guidance" in tasks


def test_a_disabled_specialist_is_refused_before_anything_runs(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(
            model="manta/task_guidance",
            messages=[{"role": "user", "content": "My tasks?"}],
            extra_headers={"X-Manta-Tenant": "quiet"},
        )
    assert models.requests == []


def test_a_specialist_that_loops_ends_in_the_safe_error(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    models.script(SUPERVISOR, Chosen("task_guidance"))
    models.script("manta.task_guidance", *[call("list_my_tasks")] * 20)
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client, "Loop please")
    assert caught.value.body["code"] == "allowance_exhausted"
    bodies = models.asked("manta.task_guidance")
    assert len(bodies) == 8, "eight model turns"
    results = [i for i in bodies[-1]["input"] if i.get("type") == "function_call_output"]
    assert sum("limit" in item["output"].lower() for item in results) == 1, "six ran, one refused"


def test_a_conversation_holds_its_acknowledged_turns_only(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    talk = {"metadata": {"conversation": "c1"}}
    models.script(CAREER, call("reply_to_user"), Text("First reply."))
    ask(client, "First question", **talk)
    models.reset()
    models.script(GUARD, Status(400))
    with pytest.raises(openai.InternalServerError):
        ask(client, "Failed question", **talk)
    models.reset()
    ask(client, "Third question", **talk)
    seen = json.dumps(models.asked(CAREER)[0])
    assert "First question" in seen
    assert "First reply." in seen
    assert "Failed question" not in seen
    models.reset()
    ask(client, "Hello", metadata={"conversation": "c1"}, tenant="quiet")
    assert "First question" not in json.dumps(models.requests), "another tenant, another thread"


def test_agui_events_are_ordered_and_complete(app: Served, models: ModelServer) -> None:
    hand_over(models)
    models.script(RESEARCH, SEARCH, ANSWER)
    events = run(app, "How many days of leave do I have?", thread="agui")
    kinds = [event["type"] for event in events]
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    steps = [e["stepName"] for e in events if e["type"] == "STEP_STARTED"]
    assert steps == ["gate", "supervisor", "career_chat", "knowledge"]
    assert kinds.count("STEP_STARTED") == kinds.count("STEP_FINISHED")
    text = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert text == "You receive 27 days."
    comments = [e["content"] for e in events if e.get("activityType") == "manta.comment"]
    assert comments[0]["text"] == "Looking for leave"
    reply = next(e["value"] for e in events if e["type"] == "CUSTOM")
    assert reply["status"] == "answered"
    assert events[-1]["usage"][0]["inputTokens"] > 0


def test_a_stopped_run_ends_with_run_error(app: Served, models: ModelServer) -> None:
    models.script(GUARD, Refused())
    events = run(app, "Hello", thread="agui-error")
    assert events[-1]["type"] == "RUN_ERROR"
    assert events[-1]["message"] == "The assistant could not answer just now. Please try again."


def test_a_client_that_disconnects_cancels_down_to_the_model(
    app: Served, models: ModelServer
) -> None:
    models.script(GUARD, Silent(30))
    body = {"model": "manta", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{app.url}/v1/chat/completions", json=body, timeout=0.7)
    assert len(models.asked(GUARD)) == 1
    _eventually(lambda: models.open_requests == 0)
    body["stream"] = False
    models.script(GUARD, Silent(30))
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{app.url}/v1/chat/completions", json=body, timeout=0.7)
    _eventually(lambda: models.open_requests == 0)


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
        _eventually(lambda: not app.gateway._turns)
        assert len(models.asked(RESEARCH)) == 1, "the research did not go on"
    finally:
        state.delay = 0.0


def _eventually(holds: Any, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it did not become true in time")
