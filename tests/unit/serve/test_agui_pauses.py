"""Pauses over AG-UI: what goes out, and every form of answer that may come in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import Event as PublishedEvent
from ag_ui.core import RunAgentInput
from fake_gateway import REPLY, FakeGateway, client_of
from jsonschema import Draft202012Validator
from listening import run_body
from pydantic import TypeAdapter

from config.policy import POLICY
from domain.events import (
    Event,
    PauseAbandoned,
    StepStarted,
    TextDelta,
    TurnFinished,
    TurnPaused,
)
from domain.pauses import Option, Pause, PauseQuestion, PauseRequest, ResumeRequest
from serve.agui_events import RunProjection
from serve.interrupts import public_interrupt, response_schema

PUBLISHED: TypeAdapter[Any] = TypeAdapter(PublishedEvent)
PAUSE = Pause(
    interaction_id="i-1",
    specialist="person_disambiguation",
    tool="choose_person",
    call_id="call-secret",
    request=PauseRequest(
        reason="choice",
        questions=(
            PauseQuestion(
                id="person",
                text="Which Anna?",
                options=(Option(value="p1", label="Anna B."), Option(value="p2", label="Anna K.")),
            ),
            PauseQuestion(id="when", text="Since when?"),
        ),
        prepared={"draft": "prepared-secret"},
    ),
)
PAUSED = REPLY.model_copy(update={"status": "paused", "text": "", "citations": ()})
TURN_PAUSED = TurnPaused(pause=PAUSE, reply=PAUSED)
INTERNAL = ("call-secret", "prepared-secret", "choose_person")


def projected(*events: Event) -> list[dict[str, Any]]:
    projection = RunProjection("t1", "r1")
    out = [projection.started(), *(e for event in events for e in projection.project(event))]
    documents = [json.loads(event.model_dump_json(by_alias=True)) for event in out]
    for document, event in zip(documents, out, strict=True):
        assert type(PUBLISHED.validate_python(document)) is type(event)
    return documents


def test_a_pause_ends_the_run_with_an_interrupt() -> None:
    events = projected(
        StepStarted(step="person_disambiguation"), TextDelta(agent="a", text="Well."), TURN_PAUSED
    )
    assert [event["type"] for event in events][-4:] == [
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "CUSTOM",
        "RUN_FINISHED",
    ]
    custom, finished = events[-2:]
    assert custom["name"] == "manta.reply"
    assert custom["value"] == finished["result"] == PAUSED.model_dump(mode="json")
    assert finished["outcome"]["type"] == "interrupt"
    (interrupt,) = finished["outcome"]["interrupts"]
    assert interrupt == {
        "id": "i-1",
        "reason": "choice",
        "message": "Which Anna?\nSince when?",
        "responseSchema": response_schema(PAUSE),
        "metadata": {
            "questions": [
                {
                    "id": "person",
                    "text": "Which Anna?",
                    "options": [
                        {"value": "p1", "label": "Anna B."},
                        {"value": "p2", "label": "Anna K."},
                    ],
                },
                {"id": "when", "text": "Since when?", "options": []},
            ]
        },
    }


def test_nothing_internal_goes_out() -> None:
    shown = json.dumps(projected(TURN_PAUSED)) + public_interrupt(PAUSE).model_dump_json()
    assert all(secret not in shown for secret in INTERNAL)


@pytest.mark.parametrize(
    ("answer", "valid"),
    [
        ({"person": "p1", "when": "2020"}, True),
        ({"person": "p3", "when": "2020"}, False),
        ({"person": "p1"}, False),
        ({"person": "p1", "when": ""}, False),
        ({"person": "p1", "when": "x" * POLICY.pause.answer_chars}, True),
        ({"person": "p1", "when": "x" * (POLICY.pause.answer_chars + 1)}, False),
        ({"person": "p1", "when": "2020", "more": "x"}, False),
        ("p1", False),
    ],
)
def test_the_response_schema_asks_for_every_question_in_order(answer: Any, valid: bool) -> None:
    schema = response_schema(PAUSE)
    Draft202012Validator.check_schema(schema)
    assert list(schema["properties"]) == schema["required"] == ["person", "when"]
    assert Draft202012Validator(schema).is_valid(answer) is valid


def test_a_pause_that_was_left_is_told() -> None:
    (event,) = projected(PauseAbandoned(interaction_id="i-1"))[1:]
    assert (event["name"], event["value"]) == (
        "manta.pause_abandoned",
        {"interactionId": "i-1"},
    )


@pytest.mark.parametrize(
    ("status", "outcome"), [("abandoned", "cancelled"), ("replied", "success"), ("miss", "success")]
)
def test_an_abandoned_turn_is_cancelled(status: Any, outcome: str) -> None:
    reply = REPLY.model_copy(update={"status": status})
    finished = projected(TurnFinished(reply=reply))[-1]
    assert finished["outcome"] == {"type": outcome}
    assert finished["result"]["status"] == status


def entry(payload: Any = None, **fields: Any) -> dict[str, Any]:
    return {"interruptId": "i-1", "status": "resolved", "payload": payload, **fields}


async def post(gateway: FakeGateway, **fields: Any) -> Any:
    async with client_of(gateway) as client:
        sent = json.dumps(run_body("r1", **fields))
        headers = {"Content-Type": "application/json"}
        return await client.post("/v1/runs", content=sent, headers=headers)


@pytest.mark.parametrize(
    ("sent", "resume"),
    [
        (
            entry({"a": "x", "b": " y "}),
            ResumeRequest(interaction_id="i-1", payload={"a": "x", "b": "y"}),
        ),
        (entry("  yes "), ResumeRequest(interaction_id="i-1", payload="yes")),
        (entry("x" * 4_000), ResumeRequest(interaction_id="i-1", payload="x" * 4_000)),
        (
            entry({str(n): "x" for n in range(5)}),
            ResumeRequest(interaction_id="i-1", payload={str(n): "x" for n in range(5)}),
        ),
        (entry(status="cancelled"), ResumeRequest(interaction_id="i-1", cancelled=True)),
        (
            entry({"a": "x"}, status="cancelled"),
            ResumeRequest(interaction_id="i-1", cancelled=True),
        ),
        (
            entry("yes", metadata={"signature": "s"}),
            ResumeRequest(interaction_id="i-1", payload="yes"),
        ),
    ],
)
@pytest.mark.parametrize("messages", [[], [{"id": "1", "role": "user", "content": "old"}]])
async def test_an_answer_becomes_the_turns_and_messages_are_not_read(
    sent: dict[str, Any], resume: ResumeRequest, messages: list[Any]
) -> None:
    gateway = FakeGateway(pauses=["i-1"])
    reply = await post(gateway, resume=[sent], messages=messages)
    assert reply.status_code == 200
    (turn,) = gateway.turns
    assert (turn.resume, turn.messages) == (resume, [])


@pytest.mark.parametrize(
    ("sent", "param"),
    [
        ([entry("a"), entry("b")], "resume"),
        ([entry("a", interruptId="")], "resume.0.interruptId"),
        ([entry("a", interruptId="x" * 129)], "resume.0.interruptId"),
        ([entry("a", status="done")], "resume.0.status"),
        ([entry()], "resume.0.payload"),
        ([entry({})], "resume.0.payload"),
        ([entry(["a"])], "resume.0.payload"),
        ([entry(True)], "resume.0.payload"),
        ([entry(" ")], "resume.0.payload"),
        ([entry("x" * 4_001)], "resume.0.payload"),
        ([entry("\ud800")], "resume.0.payload"),
        ([entry({"a": " \n"})], "resume.0.payload.a"),
        ([entry({"a": 1})], "resume.0.payload.a"),
        ([entry({"a": None})], "resume.0.payload.a"),
        ([entry({"a": "x" * 4_001})], "resume.0.payload.a"),
        ([entry({"": "x"})], "resume.0.payload"),
        ([entry({str(n): "x" for n in range(6)})], "resume.0.payload"),
    ],
)
async def test_an_answer_of_another_form_is_refused_by_its_name(
    sent: list[Any], param: str
) -> None:
    gateway = FakeGateway(pauses=["i-1"])
    reply = await post(gateway, resume=sent, messages=[])
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)
    assert gateway.turns == []


async def test_an_answer_to_no_open_pause_is_not_found_and_names_no_run() -> None:
    gateway = FakeGateway()
    assert (await post(gateway, resume=[entry("yes")])).status_code == 404
    assert gateway.log.logs == {}


async def test_an_empty_list_of_answers_is_none() -> None:
    gateway = FakeGateway()
    assert (await post(gateway, resume=[])).status_code == 200
    assert gateway.turns[0].resume is None
    assert (await post(gateway, resume=[], messages=[])).status_code == 400


@pytest.mark.parametrize(
    ("fields", "interactive"),
    [
        ({}, False),
        ({"protocolVersion": "1.0"}, True),
        ({"protocolVersion": "1.12"}, True),
        ({"protocolVersion": "2.0"}, False),
        ({"protocolVersion": "1"}, False),
        ({"protocolVersion": "10.1"}, False),
        ({"forwardedProps": {"interrupts": True}}, True),
        ({"protocolVersion": "1.0", "forwardedProps": {"interrupts": False}}, False),
        ({"protocolVersion": "0.9", "forwardedProps": {"interrupts": True}}, True),
    ],
)
async def test_a_client_says_whether_it_can_show_a_pause(
    fields: dict[str, Any], interactive: bool
) -> None:
    gateway = FakeGateway()
    assert (await post(gateway, **fields)).status_code == 200
    assert gateway.turns[0].interactive is interactive


def test_the_protocols_own_input_can_carry_it() -> None:
    body = RunAgentInput.model_validate(run_body("r1", resume=[entry("yes")], messages=[]))
    assert body.resume is not None and body.resume[0].payload == "yes"


async def test_an_openai_client_is_shown_a_pause_as_text() -> None:
    gateway = FakeGateway([TURN_PAUSED])
    asked = {"model": "manta", "messages": [{"role": "user", "content": "Which Anna?"}]}
    async with client_of(gateway) as client:
        whole = (await client.post("/v1/chat/completions", json=asked)).json()
        stream = (await client.post("/v1/chat/completions", json={**asked, "stream": True})).text
    assert whole["choices"][0]["message"]["content"] == PAUSE.text
    assert whole["manta"]["status"] == "paused"
    chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    assert chunks[1]["choices"][0]["delta"]["content"] == PAUSE.text
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert stream.endswith("data: [DONE]\n\n")
    assert all(secret not in stream + json.dumps(whole) for secret in INTERNAL)
    assert not any(turn.interactive for turn in gateway.turns)
