"""AG-UI: every event validates against the published package, and each input is checked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import BaseEvent, EventType, RunErrorEvent, RunFinishedEvent
from ag_ui.core import Event as PublishedEvent
from fake_gateway import CHAT_ONLY, REPLY, FakeGateway, client_of, directory
from pydantic import TypeAdapter

from domain.events import (
    Activity,
    Comment,
    Event,
    StepFinished,
    StepStarted,
    TextDelivered,
    TextDelta,
    TurnFinished,
    TurnStopped,
)
from serve.agui_events import RunProjection

PUBLISHED: TypeAdapter[Any] = TypeAdapter(PublishedEvent)
STOPPED = TurnStopped(code="model_unavailable", stage="gate", message="Sorry.")
WHOLE: list[Event] = [
    StepStarted(step="gate"),
    Activity(code="checking_request", agent="guardrail"),
    StepFinished(step="gate", seconds=0.1),
    StepStarted(step="career_chat"),
    TextDelta(agent="career_chat", text="You get "),
    TextDelta(agent="career_chat", text="27 days."),
    StepFinished(step="career_chat", seconds=0.1),
    TurnFinished(reply=REPLY),
]


def projected(*events: Event) -> list[BaseEvent]:
    projection = RunProjection("t1", "r1")
    return [projection.started(), *(out for event in events for out in projection.project(event))]


def kinds(events: list[BaseEvent]) -> list[str]:
    return [event.type.value for event in events]


ALL = [
    *WHOLE[:-1],
    Comment(agent="knowledge", text="Looking"),
    TextDelivered(agent="knowledge", text="x"),
    WHOLE[-1],
]


@pytest.mark.parametrize("last", [WHOLE[-1], STOPPED], ids=["finished", "stopped"])
def test_every_event_is_one_of_the_published_protocol(last: Event) -> None:
    for event in projected(*ALL[:-1], last):
        document = json.loads(event.model_dump_json(by_alias=True, exclude_none=True))
        again = PUBLISHED.validate_python(document)
        assert type(again) is type(event)


def test_a_run_begins_and_ends_and_its_message_is_one() -> None:
    events = projected(*WHOLE)
    assert kinds(events) == [
        "RUN_STARTED",
        "STEP_STARTED",
        "ACTIVITY_SNAPSHOT",
        "STEP_FINISHED",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",
        "STEP_FINISHED",
        "TEXT_MESSAGE_END",
        "CUSTOM",
        "RUN_FINISHED",
    ]
    ids = {e.message_id for e in events if "TEXT_MESSAGE" in e.type.value}  # type: ignore[attr-defined]
    assert len(ids) == 1


def test_the_end_of_a_run_carries_the_reply_and_the_tokens() -> None:
    finished = projected(*WHOLE)[-1]
    assert isinstance(finished, RunFinishedEvent)
    assert (finished.thread_id, finished.run_id) == ("t1", "r1")
    assert finished.result["status"] == "answered"
    assert finished.usage is not None
    usage = finished.usage[0]
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (100, 20, 120)


def test_what_is_open_is_closed_before_the_error_the_innermost_first() -> None:
    events = projected(
        StepStarted(step="outer"),
        StepStarted(step="inner"),
        TextDelta(agent="a", text="half"),
        STOPPED,
    )
    assert kinds(events)[-4:] == [
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "STEP_FINISHED",
        "RUN_ERROR",
    ]
    assert [e.step_name for e in events if e.type == EventType.STEP_FINISHED] == [  # type: ignore[attr-defined]
        "inner",
        "outer",
    ]
    error = events[-1]
    assert isinstance(error, RunErrorEvent)
    assert (error.message, error.code) == ("Sorry.", "model_unavailable")


def test_a_step_that_failed_is_closed_when_the_run_goes_on_and_ends() -> None:
    events = projected(StepStarted(step="knowledge"), *WHOLE)
    assert kinds(events).count("STEP_STARTED") == kinds(events).count("STEP_FINISHED")
    assert kinds(events)[-1] == "RUN_FINISHED"


def test_a_stop_with_nothing_open_is_an_error_only() -> None:
    assert kinds(projected(STOPPED)) == ["RUN_STARTED", "RUN_ERROR"]


def test_progress_is_an_activity_with_an_id_of_its_own() -> None:
    comment = Comment(agent="knowledge", text="Looking")
    first, second = projected(comment, comment)[1:]
    assert first.activity_type == "manta.comment"  # type: ignore[attr-defined]
    assert first.content == {"agent": "knowledge", "text": "Looking"}  # type: ignore[attr-defined]
    assert first.message_id != second.message_id  # type: ignore[attr-defined]


def body(**fields: Any) -> dict[str, Any]:
    return {
        "threadId": "t1",
        "runId": "r1",
        "messages": [{"id": "1", "role": "user", "content": "How many days?"}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        **fields,
    }


async def post(gateway: FakeGateway, **fields: Any) -> Any:
    async with client_of(gateway) as client:
        return await client.post("/v1/runs", json=body(**fields))


async def test_a_run_streams_the_protocol() -> None:
    gateway = FakeGateway(WHOLE)
    reply = await post(gateway, forwardedProps={"locale": "de", "agent": "career_chat"})
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["cache-control"] == "no-store"
    lines = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: ")]
    for line in lines:
        PUBLISHED.validate_python(line)
    assert (lines[0]["type"], lines[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")
    assert (lines[0]["threadId"], lines[0]["runId"]) == ("t1", "r1")
    (turn,) = gateway.turns
    assert (turn.conversation, turn.run_id) == ("t1", "r1")
    assert (turn.locale, turn.entry) == ("de", "career_chat")


async def test_only_the_last_message_is_the_turns() -> None:
    gateway = FakeGateway(WHOLE)
    messages = [
        {"id": "1", "role": "user", "content": "old"},
        {"id": "2", "role": "assistant", "content": "reply"},
        {"id": "3", "role": "user", "content": [{"type": "text", "text": "new"}]},
    ]
    await post(gateway, messages=messages)
    assert [message.text for message in gateway.turns[0].messages] == ["new"]


IMAGE = {"type": "image", "source": {"type": "url", "value": "https://x/"}}
ASSISTANT = {"id": "2", "role": "assistant", "content": "x"}


def said(content: Any) -> list[dict[str, Any]]:
    return [{"id": "1", "role": "user", "content": content}]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"surprise": 1}, "surprise"),
        ({"threadId": ""}, "threadId"),
        ({"threadId": "x" * 129}, "threadId"),
        ({"threadId": "a\nb"}, "threadId"),
        ({"runId": ""}, "runId"),
        ({"runId": "x" * 129}, "runId"),
        ({"messages": []}, "messages"),
        ({"messages": [*said("q"), ASSISTANT]}, "messages"),
        ({"messages": said("q") * 201}, "messages"),
        ({"messages": said(" ")}, "messages.0.content"),
        ({"messages": said("x" * 16_001)}, "messages.0.content"),
        ({"messages": said([IMAGE])}, "messages.0.content.0"),
        ({"messages": [{"id": "1", "role": "user"}]}, "messages.0.user.content"),
        ({"forwardedProps": {"tenant": "zoo"}}, "forwardedProps.tenant"),
        ({"forwardedProps": [1]}, "forwardedProps"),
        ({"forwardedProps": {"locale": "it"}}, "forwardedProps.locale"),
        ({"forwardedProps": {"locale": ["en"]}}, "forwardedProps.locale"),
        ({"forwardedProps": {"agent": "barista"}}, "forwardedProps.agent"),
        ({"forwardedProps": {"agent": ["career_chat"]}}, "forwardedProps.agent"),
        ({"forwardedProps": {"interrupts": "yes"}}, "forwardedProps.interrupts"),
        ({"forwardedProps": {"interrupts": 1}}, "forwardedProps.interrupts"),
    ],
)
async def test_bad_input_is_refused_by_its_name_and_starts_no_turn(
    fields: dict[str, Any], param: str
) -> None:
    gateway = FakeGateway(WHOLE)
    reply = await post(gateway, **fields)
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == param
    assert gateway.turns == []


@pytest.mark.parametrize(
    "fields",
    [
        {"threadId": "x" * 128, "runId": "y" * 128},
        {"messages": said("q") * 200},
        {"messages": said("x" * 16_000)},
        {"forwardedProps": None},
    ],
)
async def test_input_at_its_limits_is_accepted(fields: dict[str, Any]) -> None:
    gateway = FakeGateway(WHOLE)
    assert (await post(gateway, **fields)).status_code == 200
    assert len(gateway.turns) == 1


async def test_a_refusal_names_the_message_that_is_too_long() -> None:
    reply = await post(FakeGateway(), messages=[*said("q"), ASSISTANT, *said("x" * 16_001)])
    assert reply.json()["error"]["param"] == "messages.2.content"


async def test_a_specialist_that_is_not_enabled_is_not_found() -> None:
    gateway = FakeGateway(tenants=directory(CHAT_ONLY), default_tenant="quiet")
    reply = await post(gateway, forwardedProps={"agent": "task_guidance"})
    assert reply.status_code == 404
    assert gateway.turns == []
