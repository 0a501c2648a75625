"""The guardrail and the supervisor over scripted models."""

from __future__ import annotations

import json

import pytest
from fake_models import FakeModels
from fake_requests import context_of, tenant_of
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from actors.guardrail import Guardrail, gate_question
from actors.supervisor import Supervisor, routing_question
from config.prompt_files import phrase
from config.settings import Settings
from domain.errors import InvalidConfiguration, ModelUnavailable
from domain.messages import Message, assistant, user
from providers.interface import Models
from providers.labelled_data import is_labelled, read_labelled

SETTINGS = Settings.load()
ASKED = (user("How many days?"),)


def guardrail(models: Models) -> Guardrail:
    return Guardrail(models, SETTINGS)


def test_the_gate_asks_one_question_with_three_choices() -> None:
    question = gate_question()
    assert question.name == "guardrail_decision"
    assert [choice.value for choice in question.choices] == ["allow", "doubt", "block"]


async def test_an_allowed_message_costs_one_decision_and_no_writing() -> None:
    models = FakeModels(["allow"])
    outcome = await guardrail(models).decide(context_of(), tenant_of(), ASKED)
    assert (outcome.decision, outcome.reply) == ("allow", "")
    assert (outcome.spent.model_calls, outcome.spent.input_tokens) == (1, 7)
    assert models.chats == []
    assert models.latest == ["How many days?"]


@pytest.mark.parametrize("decision", ["doubt", "block"])
async def test_a_boundary_reply_is_written_and_counted(decision: str) -> None:
    models = FakeModels([decision], ["  I cannot help with that.\n"])
    outcome = await guardrail(models).decide(context_of(locale="fr"), tenant_of(), ASKED)
    assert (outcome.decision, outcome.reply) == (decision, "I cannot help with that.")
    assert outcome.spent.model_calls == 2
    assert models.limits == [512]
    prompt = models.chats[0].asked[0]
    assert isinstance(prompt[0], SystemMessage)
    assert read_labelled(prompt, "boundary") == {"decision": decision, "language": "fr"}


@pytest.mark.parametrize("locale", ["en", "fr", "de"])
async def test_an_empty_boundary_reply_becomes_the_fixed_sentence(locale: str) -> None:
    models = FakeModels(["block"], [" \n"])
    outcome = await guardrail(models).decide(context_of(locale=locale), tenant_of(), ASKED)
    assert outcome.reply == phrase("boundary_block", locale)


async def test_a_decision_that_cannot_be_made_allows_nothing() -> None:
    failure = ModelUnavailable("the decision model", "refusal")
    with pytest.raises(ModelUnavailable, match="refusal"):
        await guardrail(FakeModels([failure])).decide(context_of(), tenant_of(), ASKED)


async def test_a_value_outside_the_choices_allows_nothing() -> None:
    with pytest.raises(ModelUnavailable, match="malformed"):
        await guardrail(FakeModels(["perhaps"])).decide(context_of(), tenant_of(), ASKED)


@pytest.mark.parametrize(
    "metadata",
    [{"finish_reason": "length"}, {"finish_reason": "content_filter"}, {"status": "incomplete"}],
)
async def test_an_incomplete_boundary_reply_is_a_failure(metadata: dict[str, str]) -> None:
    reply = AIMessage("I can", response_metadata=metadata)
    with pytest.raises(ModelUnavailable, match="incomplete"):
        await guardrail(FakeModels(["block"], [reply])).decide(context_of(), tenant_of(), ASKED)


async def test_the_reply_reads_ten_recent_texts_and_no_tool_output() -> None:
    earlier = [user(f"q{number}") for number in range(12)]
    secret = Message(role="tool", text="SECRET", tool_call_id="1")
    models = FakeModels(["block"], ["No."])
    messages = (*earlier, secret, assistant(""), user("now"))
    await guardrail(models).decide(context_of(), tenant_of(), messages)
    prompt = models.chats[0].asked[0]
    human = [m for m in prompt if isinstance(m, HumanMessage) and not is_labelled(m)]
    assert [m.content for m in human] == [f"q{number}" for number in range(3, 12)] + ["now"]
    assert "SECRET" not in str(prompt)


async def test_the_tenants_own_mini_model_decides() -> None:
    models = FakeModels(["allow"])
    tenant = tenant_of(models={"mini": "own-mini", "large": "own-large"})
    await guardrail(models).decide(context_of(), tenant, ASKED)
    assert models.calls == [("own-mini", "manta.guardrail.decision")]


def test_only_the_given_specialists_are_choices() -> None:
    question = routing_question(["task_guidance"])
    assert [choice.value for choice in question.choices] == ["task_guidance"]
    assert question.choices[0].examples


async def test_with_one_enabled_specialist_no_model_is_called() -> None:
    models = FakeModels()
    tenant = tenant_of(agents={"task_guidance": {}})
    outcome = await Supervisor(models, SETTINGS).decide(context_of(), tenant, (), ASKED, None, None)
    assert outcome.specialist == "task_guidance"
    assert outcome.spent.model_calls == 0
    assert models.questions == []


async def test_with_no_enabled_specialist_the_turn_fails() -> None:
    with pytest.raises(InvalidConfiguration, match=r"chatbot\.agents"):
        await Supervisor(FakeModels(), SETTINGS).decide(
            context_of(), tenant_of(agents={}), (), ASKED, None, None
        )


async def test_the_supervisor_chooses_with_the_current_agent_as_evidence() -> None:
    models = FakeModels(["task_guidance"])
    supervisor = Supervisor(models, SETTINGS)
    outcome = await supervisor.decide(
        context_of(locale="de"), tenant_of(), (), ASKED, None, "career_chat"
    )
    assert outcome.specialist == "task_guidance"
    assert outcome.spent.model_calls == 1
    evidence = json.loads(models.evidence[0])
    assert evidence["current_agent"] == "career_chat"
    assert evidence["requested_language"] == "de"
    assert models.calls == [("gpt-6-luna", "manta.supervisor")]


async def test_a_specialist_that_is_not_a_choice_is_no_decision() -> None:
    with pytest.raises(ModelUnavailable, match="malformed"):
        await Supervisor(FakeModels(["barista"]), SETTINGS).decide(
            context_of(), tenant_of(), (), ASKED, None, None
        )


async def test_a_decision_that_fails_is_not_tried_again() -> None:
    models = FakeModels([ModelUnavailable("the model", "timeout"), "career_chat"])
    with pytest.raises(ModelUnavailable, match="timeout"):
        await Supervisor(models, SETTINGS).decide(context_of(), tenant_of(), (), ASKED, None, None)
    assert len(models.questions) == 1
