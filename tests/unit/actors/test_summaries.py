"""Summaries of long conversations, and the one redirect of the routing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_models import FakeModels
from fake_requests import context_of, tenant_of
from langchain_core.messages.utils import count_tokens_approximately

from actors.compaction import due
from actors.conversation import to_langchain
from actors.redirects import redirected
from actors.supervisor import Supervisor
from config.policy import POLICY
from config.settings import Settings
from config.tenants import SPECIALISTS
from domain.errors import ModelUnavailable
from domain.messages import Message, ToolCall, assistant, user
from domain.outcomes import Summary

SETTINGS = Settings.load()
LIMITS = POLICY.summary
NOW = (user("And now?"),)


def turns(count: int, text: str = "x") -> list[Message]:
    return [m for n in range(count) for m in (user(f"q{n} {text}"), assistant(f"a{n} {text}"))]


@pytest.mark.parametrize(
    ("messages", "is_due"), [(LIMITS.trigger_messages, False), (LIMITS.trigger_messages + 2, True)]
)
def test_more_than_forty_messages_are_summarised(messages: int, is_due: bool) -> None:
    covered = due(turns(messages // 2))
    assert covered == (messages - LIMITS.kept_messages if is_due else 0)


def test_more_than_six_thousand_tokens_are_summarised() -> None:
    assert LIMITS.trigger_tokens == 6_000
    exact = turns(10)
    missing = LIMITS.trigger_tokens - count_tokens_approximately(to_langchain(exact))
    exact[0] = user(exact[0].text + " " * (missing * 4))
    assert count_tokens_approximately(to_langchain(exact)) == LIMITS.trigger_tokens
    assert due(exact) == 0
    exact[0] = user(exact[0].text + " " * 4)
    assert due(exact) == 20 - LIMITS.kept_messages


def test_a_summary_ends_where_a_turn_ends() -> None:
    calling = Message(role="assistant", text="", tool_calls=(ToolCall(id="c", name="t"),))
    result = Message(role="tool", text="r", tool_call_id="c", tool_name="t")
    answer = user("answer").model_copy(update={"interaction": "i"})
    tail = [user("q"), calling, result, *[assistant("?"), answer] * 4, assistant("end")]
    covered = due([*turns(20), *tail])
    assert covered == 40, "the turn of the kept messages is kept whole"


async def decide(models: FakeModels, completed: Any, summary: Any = None, **tenant: Any) -> Any:
    return await Supervisor(models, SETTINGS).decide(
        context_of(), tenant_of(**tenant), tuple(completed), NOW, summary, "career_chat"
    )


async def test_a_long_conversation_is_summarised_before_the_decision() -> None:
    models = FakeModels(["career_chat"], ["They spoke of ships."])
    outcome = await decide(models, turns(21))
    assert outcome.summary == Summary(text="They spoke of ships.", covers=32)
    assert outcome.specialist == "career_chat"
    assert models.calls[0] == ("gpt-6-luna", "manta.compaction")
    assert models.limits[0] == LIMITS.tokens == 600
    evidence = json.loads(models.evidence[0])
    assert evidence["summary"] == "They spoke of ships."
    assert evidence["recent_messages"][0]["text"] == "q16 x"
    assert len(evidence["recent_messages"]) == LIMITS.kept_messages


async def test_the_next_summary_covers_the_one_before() -> None:
    models = FakeModels(["career_chat"], ["Everything so far."])
    outcome = await decide(models, turns(21), Summary(text="Ships.", covers=32))
    assert outcome.summary.covers == 64
    prompt = models.chats[0].asked[0]
    assert "Ships." in prompt[1].text and prompt[1].type == "human"


async def test_a_short_conversation_is_not_summarised() -> None:
    models = FakeModels(["career_chat"])
    outcome = await decide(models, turns(20), Summary(text="Ships.", covers=4))
    assert outcome.summary is None
    assert json.loads(models.evidence[0])["summary"] == "Ships."


async def test_one_specialist_alone_is_summarised_without_a_decision() -> None:
    models = FakeModels([], ["Short."])
    outcome = await decide(models, turns(21), agents={"task_guidance": {}})
    assert (outcome.specialist, outcome.summary.text) == ("task_guidance", "Short.")
    assert models.questions == []


@pytest.mark.parametrize("reply", ["", "  "])
async def test_a_failed_summary_stops_no_turn(reply: str, caplog: pytest.LogCaptureFixture) -> None:
    models = FakeModels(["career_chat"], [reply])
    outcome = await decide(models, turns(21))
    assert (outcome.specialist, outcome.summary) == ("career_chat", None)
    assert "summary_failed" in caplog.messages


async def test_tool_records_are_evidence_of_the_routing() -> None:
    asked = ToolCall(id="c", name="get_task", arguments={"n": 1})
    calling = Message(role="assistant", text="", tool_calls=(asked,))
    result = Message(role="tool", text="RESULT", tool_call_id="c", tool_name="get_task")
    models = FakeModels(["career_chat"])
    await decide(models, [user("q"), calling, result, assistant("a")])
    recent = json.loads(models.evidence[0])["recent_messages"]
    assert recent[1]["tool_calls"] == [{"name": "get_task", "arguments": {"n": 1}}]
    assert recent[2] == {"role": "tool", "text": "RESULT", "tool": "get_task"}


PLANNED = (
    Message(role="tool", text="{}", tool_call_id="c", tool_name="build_learning_plan"),
    assistant("Here is your plan."),
)


@pytest.mark.parametrize(
    "text",
    [
        "Which courses fit the first step of that plan?",
        "Trouve une formation pour la deuxième étape",
        "Such einen Kurs für meinen Plan",
        "Is there a training for my objective?",
    ],
)
@pytest.mark.parametrize(
    ("enabled", "target"),
    [
        (SPECIALISTS, "profile_analysis"),
        (("career_chat", "training_search"), "career_chat"),
        (("training_search", "task_guidance"), "training_search"),
    ],
)
def test_training_that_elaborates_a_plan_goes_to_who_knows_the_plan(
    text: str, enabled: tuple[str, ...], target: str
) -> None:
    messages = (*PLANNED, user(text))
    assert redirected("training_search", messages, "career_chat", enabled) == target


@pytest.mark.parametrize(
    ("chosen", "messages", "active"),
    [
        ("training_search", (user("Which courses fit my plan?"),), "career_chat"),
        ("training_search", (*PLANNED, user("Are there welding courses in Brest?")), "career_chat"),
        ("opportunity_search", (*PLANNED, user("Jobs for my plan?")), "profile_analysis"),
        ("career_chat", (*PLANNED, user("What about my plan?")), "profile_analysis"),
    ],
)
def test_anything_else_stays_where_it_was_routed(
    chosen: str, messages: tuple[Message, ...], active: str
) -> None:
    assert redirected(chosen, messages, active, SPECIALISTS) == chosen


async def test_the_supervisor_redirects() -> None:
    models = FakeModels(["training_search"])
    outcome = await Supervisor(models, SETTINGS).decide(
        context_of(), tenant_of(), PLANNED, (user("A course for my plan?"),), None, None
    )
    assert outcome.specialist == "profile_analysis"


async def test_a_choice_that_is_not_enabled_is_no_decision() -> None:
    models = FakeModels(["talent_search"])
    agents: dict[str, Any] = {"career_chat": {}, "task_guidance": {}}
    with pytest.raises(ModelUnavailable):
        await decide(models, (), agents=agents)
    assert [c.value for c in models.questions[0].choices] == ["career_chat", "task_guidance"]
    assert all(choice.description for choice in models.questions[0].choices)
