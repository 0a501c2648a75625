"""Whole turns over HTTP on the real-model path: native decisions, streams, failures."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from acme import (
    ANSWER,
    CAREER,
    GUARD,
    RESEARCH,
    SEARCH,
    SUPERVISOR,
    ask,
    eventually,
    hand_over,
    run,
)
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
from served import Served

pytestmark = pytest.mark.integration


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
    assert spent["model_calls"] == len(models.requests) == 5
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


def test_one_enabled_specialist_needs_no_routing_call(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    ask(client, "Hello", tenant="quiet")
    assert models.asked(SUPERVISOR) == []
    career = models.asked(CAREER)
    offered = [tool["name"] for body in career for tool in body.get("tools", ())]
    assert "transfer_to_knowledge_base" not in offered, "there is nothing to research"
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
    eventually(lambda: models.open_requests == 0)
    body["stream"] = False
    models.script(GUARD, Silent(30))
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{app.url}/v1/chat/completions", json=body, timeout=0.7)
    eventually(lambda: models.open_requests == 0)
