"""Decisions of a server that speaks chat completions only, and OpenAI's own."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from model_server import ModelServer
from scripted_replies import Chosen, Malformed, Refused, Silent, Status, Text

from config.settings import Price, Settings
from domain.errors import ModelUnavailable
from providers.interface import Choice, Decision, Question
from providers.openai_protocol import OpenAIModels

pytestmark = pytest.mark.asyncio(loop_scope="session")

TASK = "manta.supervisor"
QUESTION = Question(
    name="supervisor_decision",
    instructions="Choose the specialist.",
    choices=(
        Choice(value="career_chat", description="Company questions.", examples=("Leave?",)),
        Choice(value="task_guidance", description="Own tasks."),
    ),
    rules={"career_chat": ("x",)},
)
EVIDENCE = '{"latest_user_text": "My tasks?"}'
PRICES = {"gpt-6-luna": Price(input=2.0, cached=1.0, output=8.0)}


@asynccontextmanager
async def provider(server: ModelServer, kind: str, **more: Any) -> AsyncIterator[OpenAIModels]:
    given = {"openai_base_url": server.url, "openai_api_key": "k", "prices": PRICES, **more}
    models = OpenAIModels(Settings.load(provider=kind, **given))
    yield models
    await models.close()


async def decide(
    server: ModelServer, kind: str = "compatible", model: str = "gpt-6-luna"
) -> Decision:
    async with provider(server, kind) as models:
        return await models.decide(
            QUESTION,
            EVIDENCE,
            latest="My tasks?",
            model=model,
            task="manta.supervisor",
            request_id="r1",
        )


async def test_a_compatible_server_is_asked_with_a_strict_schema(models: ModelServer) -> None:
    models.script(TASK, Chosen("task_guidance"))
    decision = await decide(models)
    assert decision.value == "task_guidance"
    (seen,) = models.requests
    assert seen["path"] == "/v1/chat/completions"
    form = seen["body"]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    schema = form["json_schema"]["schema"]
    assert schema["properties"]["choice"]["enum"] == ["career_chat", "task_guidance"]
    assert schema["required"] == ["choice"]
    assert schema["additionalProperties"] is False


async def test_the_rules_are_instructions_and_the_evidence_is_data(models: ModelServer) -> None:
    await decide(models)
    system, human = models.requests[0]["body"]["messages"]
    assert system["role"] == "system"
    assert "Choose the specialist." in system["content"]
    assert "- career_chat: Company questions." in system["content"]
    assert "My tasks?" not in system["content"]
    assert EVIDENCE in human["content"]
    assert "Leave?" not in json.dumps(models.requests), "examples are for the offline model"


async def test_a_choice_counts_as_one_call_with_its_tokens_and_cost(models: ModelServer) -> None:
    decision = await decide(models)
    spent = decision.spent
    assert spent.model_calls == 1
    assert spent.cached_tokens == spent.input_tokens // 2 > 0
    fresh = spent.input_tokens - spent.cached_tokens
    expected = (fresh * 2 + spent.cached_tokens * 1 + spent.output_tokens * 8) / 1e6
    assert math.isclose(spent.cost_usd, expected)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Chosen("barista"), "malformed reply"),
        (Text('{"choice": "career_chat", "why": "x"}'), "malformed reply"),
        (Text("career_chat"), "malformed reply"),
        (Text("{}"), "malformed reply"),
        (Refused(), "refusal"),
        (Status(400), "status 400"),
        (Status(404), "status 404"),
    ],
    ids=["unknown", "extra", "no-json", "empty", "refusal", "400", "404"],
)
async def test_an_unusable_choice_is_unavailable_and_not_asked_again(
    models: ModelServer, reply: Any, reason: str
) -> None:
    models.script(TASK, reply, Chosen("career_chat"))
    with pytest.raises(ModelUnavailable) as caught:
        await decide(models)
    assert caught.value.reason == reason
    assert len(models.requests) == 1


@pytest.mark.parametrize(
    "body", ["{}", "[1]", "not json", '{"choices": []}'], ids=["empty", "list", "text", "none"]
)
async def test_a_body_that_breaks_the_protocol_is_unavailable(
    models: ModelServer, body: str
) -> None:
    models.script(TASK, *[Malformed(body)] * 3)
    with pytest.raises(ModelUnavailable):
        await decide(models)


async def test_a_reply_that_was_cut_off_is_unavailable(models: ModelServer) -> None:
    models.script(TASK, Text('{"choice": "car', finish="length"))
    with pytest.raises(ModelUnavailable):
        await decide(models)


@pytest.mark.parametrize("kind", ["compatible", "openai"])
async def test_a_silent_server_ends_with_the_callers_deadline(
    models: ModelServer, kind: str
) -> None:
    models.script(TASK, Silent(20))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await decide(models, kind)
    assert len(models.requests) == 1


@pytest.mark.parametrize("kind", ["compatible", "openai"])
async def test_three_attempts_are_made_at_most(models: ModelServer, kind: str) -> None:
    models.script(TASK, *[Status(500)] * 4)
    with pytest.raises(ModelUnavailable, match="status 500"):
        await decide(models, kind)
    assert len(models.requests) == 3


async def test_openai_decides_natively_with_a_model_that_can(models: ModelServer) -> None:
    models.script(TASK, Chosen("task_guidance"))
    decision = await decide(models, "openai")
    assert decision.value == "task_guidance"
    assert decision.probabilities == {"career_chat": 0.0, "task_guidance": 1.0}
    (seen,) = models.requests
    assert (seen["path"], seen["task"]) == ("/v1/decisions", TASK)
    assert set(seen["body"]) == {"model", "input", "questions"}
    (question,) = seen["body"]["questions"]
    assert question["type"] == "choice"
    assert question["instructions"] == "Choose the specialist."
    assert "examples" not in json.dumps(question)
    assert math.isclose(decision.spent.cost_usd, decision.spent.input_tokens * 2 / 1e6)
    assert decision.spent.output_tokens == 0


@pytest.mark.parametrize(
    ("kind", "model"), [("openai", "gpt-6-astra"), ("compatible", "gpt-6-luna")]
)
async def test_everything_else_decides_through_the_chat_call(
    models: ModelServer, kind: str, model: str
) -> None:
    await decide(models, kind, model)
    assert models.requests[0]["path"] in {"/v1/chat/completions", "/v1/responses"}
    assert models.requests[0]["task"] == TASK


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Refused(), "refusal"),
        (Chosen("barista"), "malformed reply"),
        (Chosen("career_chat", {"career_chat": 1.0001}), "malformed distribution"),
        (Chosen("career_chat", {"career_chat": -0.1}), "malformed distribution"),
        (Chosen("career_chat", {"barista": 0.5}), "malformed distribution"),
        (Malformed("{}"), "malformed reply"),
        (Malformed("[1]"), "malformed reply"),
        (Malformed("not json"), "malformed reply"),
        (Status(400), "status 400"),
    ],
    ids=["refusal", "unknown", "above", "below", "foreign", "empty", "list", "text", "400"],
)
async def test_an_unusable_native_decision_is_never_tried_through_generation(
    models: ModelServer, reply: Any, reason: str
) -> None:
    models.script(TASK, reply, Chosen("career_chat"))
    with pytest.raises(ModelUnavailable) as caught:
        await decide(models, "openai")
    assert caught.value.reason == reason
    assert [seen["path"] for seen in models.requests] == ["/v1/decisions"]


@pytest.mark.parametrize("share", [0.0, 1.0])
async def test_a_share_of_nothing_and_of_everything_is_allowed(
    models: ModelServer, share: float
) -> None:
    models.script(TASK, Chosen("career_chat", {"career_chat": share}))
    assert (await decide(models, "openai")).probabilities == {"career_chat": share}


@pytest.mark.parametrize("answers", [[], [1, 2]], ids=["none", "two"])
async def test_one_question_has_one_answer(models: ModelServer, answers: list[int]) -> None:
    answer = {
        "type": "choice",
        "name": "supervisor_decision",
        "choice": "career_chat",
        "confidence": 1,
        "probabilities": [],
    }
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 1,
    }
    body = {"answers": [answer for _ in answers], "model": "gpt-6-luna", "usage": usage}
    models.script(TASK, Malformed(json.dumps(body)))
    with pytest.raises(ModelUnavailable, match="malformed reply"):
        await decide(models, "openai")
