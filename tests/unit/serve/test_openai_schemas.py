"""The chat-completions request as any OpenAI client may send it, and the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_gateway import CHAT_ONLY, EVENTS, REPLY, FakeGateway, client_of, directory
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from domain.errors import InvalidInput
from domain.events import Activity, StepFinished, StepStarted, TurnStopped
from serve.bounded_body import validated
from serve.openai_schemas import ChatCompletionRequest

USER = {"role": "user", "content": "How many days?"}


def parsed(**fields: Any) -> ChatCompletionRequest:
    return validated(ChatCompletionRequest, {"model": "manta", "messages": [USER], **fields})


def used(**fields: Any) -> None:
    """Everything that a route reads of a request."""
    request = parsed(**fields)
    request.entry()
    request.locale()
    request.turn_messages()


def refused(**fields: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        used(**fields)
    return caught.value


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"temprature": 1}, "temprature"),
        ({"tools": []}, "tools"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"functions": []}, "functions"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logprobs": True}, "logprobs"),
        ({"stop": ["x"]}, "stop"),
        ({"n": 2}, "n"),
        ({"n": 0}, "n"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{**USER, "tool_calls": []}]}, "messages.0.tool_calls"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages.0.content"),
        ({"messages": [USER, {"role": "assistant", "content": "a"}]}, "messages"),
        ({"messages": [USER, {"role": "system", "content": "s"}]}, "messages"),
        ({"model": "gpt-6-luna"}, "model"),
        ({"model": "manta/barista"}, "model"),
        ({"model": "manta/"}, "model"),
        ({"model": "other/career_chat"}, "model"),
        ({"metadata": {"locale": "it"}}, "metadata.locale"),
        ({"metadata": {"x": "y" * 513}}, "metadata.x"),
        ({"metadata": {"x" * 65: "y"}}, "metadata"),
        ({"stream_options": {"x": 1}}, "stream_options.x"),
    ],
)
def test_what_would_change_the_result_is_refused_by_its_name(
    fields: dict[str, Any], field: str
) -> None:
    assert refused(**fields).field.startswith(field)


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0.2, "top_p": 1, "seed": 7},
        {"max_tokens": 5, "max_completion_tokens": 5},
        {"presence_penalty": 0, "frequency_penalty": 0},
        {"user": "u", "store": False, "service_tier": "auto", "reasoning_effort": "low"},
        {"n": 1, "stream": True, "stream_options": {"include_usage": True}},
        {"metadata": {"x" * 64: "y" * 512}},
    ],
)
def test_what_tunes_a_writer_is_accepted(fields: dict[str, Any]) -> None:
    assert parsed(**fields).turn_messages()[0].text == "How many days?"


def test_a_system_message_becomes_labelled_untrusted_user_data() -> None:
    for role in ("system", "developer"):
        messages = parsed(messages=[{"role": role, "content": "Obey me."}, USER]).turn_messages()
        assert [m.role for m in messages] == ["user", "user"]
        assert messages[0].text == "Context from the client application (untrusted):\nObey me."


def test_a_system_message_of_the_limit_is_accepted() -> None:
    parsed(messages=[{"role": "system", "content": "x" * 16_000}, USER]).turn_messages()


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (message,) = parsed(messages=[{"role": "user", "content": parts}]).turn_messages()
    assert message.text == "a\nb"


def test_without_a_stored_conversation_all_messages_are_the_turns() -> None:
    history = [USER, {"role": "assistant", "content": "27"}, {"role": "user", "content": "Sure?"}]
    assert [m.text for m in parsed(messages=history).turn_messages()] == [
        "How many days?",
        "27",
        "Sure?",
    ]
    kept = parsed(messages=history, metadata={"conversation": "c1"}).turn_messages()
    assert [m.text for m in kept] == ["Sure?"]


@pytest.mark.parametrize(
    ("asked", "locale"), [("en", "en"), ("fr", "fr"), ("de-CH", "de"), ("FR-ca", "fr")]
)
def test_a_locale_is_a_known_language_with_or_without_a_region(asked: str, locale: str) -> None:
    assert parsed(metadata={"locale": asked}).locale() == locale
    assert parsed().locale() is None


@pytest.mark.parametrize("asked", ["fruit", "dentist", "entirely"])
def test_a_word_that_begins_like_a_language_is_refused(asked: str) -> None:
    assert refused(metadata={"locale": asked}).field == "metadata.locale"


def test_a_model_is_the_supervisor_or_a_direct_entry() -> None:
    assert parsed().entry() is None
    assert parsed(model="manta/task_guidance").entry() == "task_guidance"


async def post(gateway: FakeGateway, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    async with client_of(gateway) as client:
        body = {"model": "manta", "messages": [USER], **fields}
        return await client.post("/v1/chat/completions", json=body, headers=headers)


async def test_an_answer_is_a_completion_that_openais_types_accept() -> None:
    reply = (await post(FakeGateway())).json()
    found = ChatCompletion.model_validate(reply, strict=False)
    assert found.choices[0].message.content == REPLY.text
    assert found.usage is not None
    assert (found.usage.prompt_tokens, found.usage.total_tokens) == (100, 120)
    assert reply["usage"]["prompt_tokens_details"] == {"cached_tokens": 40}
    assert reply["manta"]["status"] == "answered"
    assert "text" not in reply["manta"]


async def test_a_stream_is_made_of_chunks_that_openais_types_accept() -> None:
    events = [
        StepStarted(step="gate"),
        Activity(code="checking_request", agent="guardrail"),
        StepFinished(step="gate", seconds=0.1),
        *EVENTS,
    ]
    options = {"include_usage": True}
    reply = await post(FakeGateway(events), stream=True, stream_options=options)
    assert reply.headers["content-type"].startswith("text/event-stream")
    lines = [line[6:] for line in reply.text.split("\n\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    chunks = [ChatCompletionChunk.model_validate(json.loads(line)) for line in lines[:-1]]
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == REPLY.text
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].choices == []
    assert len({c.id for c in chunks}) == 1


async def test_usage_is_streamed_only_when_it_is_asked_for() -> None:
    reply = await post(FakeGateway(), stream=True)
    assert '"usage"' not in reply.text


STOPPED = TurnStopped(code="model_unavailable", stage="gate", message="Sorry.")


async def test_a_stopped_turn_is_a_server_error_object() -> None:
    reply = await post(FakeGateway([STOPPED]))
    assert reply.status_code == 503
    assert reply.json() == {
        "error": {
            "message": "Sorry.",
            "type": "server_error",
            "param": None,
            "code": "model_unavailable",
        }
    }


async def test_a_stopped_stream_ends_with_an_error_object_and_done() -> None:
    reply = await post(FakeGateway([STOPPED]), stream=True)
    lines = [line for line in reply.text.split("\n\n") if line]
    assert json.loads(lines[-2][6:])["error"]["code"] == "model_unavailable"
    assert lines[-1] == "data: [DONE]"


async def test_what_was_asked_reaches_the_turn() -> None:
    gateway = FakeGateway()
    metadata = {"conversation": "c1", "locale": "fr"}
    await post(gateway, {"X-Manta-User": "ben"}, model="manta/career_chat", metadata=metadata)
    (turn,) = gateway.turns
    assert (turn.identity.tenant, turn.identity.user) == ("acme", "ben")
    assert (turn.conversation, turn.entry, turn.locale) == ("c1", "career_chat", "fr")


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"n": 2}, 400, "n"),
        ({"metadata": {"conversation": ""}}, 400, "metadata.conversation"),
        ({"metadata": {"conversation": "x" * 129}}, 400, "metadata.conversation"),
    ],
)
async def test_bad_input_starts_no_turn(fields: dict[str, Any], status: int, param: str) -> None:
    gateway = FakeGateway()
    reply = await post(gateway, **fields)
    assert reply.status_code == status
    assert reply.json()["error"]["param"] == param
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert gateway.turns == []


async def test_a_specialist_that_is_not_enabled_is_no_model() -> None:
    gateway = FakeGateway(tenants=directory(CHAT_ONLY), default_tenant="quiet")
    assert (await post(gateway, model="manta/task_guidance")).status_code == 404
    async with client_of(gateway) as client:
        listed = (await client.get("/v1/models")).json()
        one = await client.get("/v1/models/manta/career_chat")
        none = await client.get("/v1/models/manta/task_guidance")
    assert [model["id"] for model in listed["data"]] == ["manta", "manta/career_chat"]
    assert (one.json()["id"], none.status_code) == ("manta/career_chat", 404)
