"""What a model call is spared: older tool results, other specialists' tool calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_directory import FakeDirectory
from model_server import ModelServer
from scripted_replies import Text, call
from specialist_runs import ASKED, REPLY, Bench, results

from actors.conversation import bounded_history
from config.policy import POLICY
from domain.messages import Message, ToolCall, assistant, user
from retrieval.directory import Task

TASKS = "manta.task_guidance"
READ = call("get_task", task_id="T-1")


def shown(models: ModelServer, request: int) -> list[str]:
    """The tool results in the given request of the specialist."""
    body = models.asked(TASKS)[request]
    return [str(m["content"]) for m in body["messages"] if m["role"] == "tool"]


async def run(models: ModelServer, note_chars: int) -> Any:
    notes = FakeDirectory(tasks=(Task(id="T-1", title="Mine", notes="n" * note_chars),))
    _, outcome = await Bench(models, directory=notes).run(
        "task_guidance", *[READ] * 5, REPLY, Text("Done.")
    )
    return outcome


async def test_above_eight_thousand_tokens_all_but_three_results_are_cleared(
    models: ModelServer,
) -> None:
    # Five results of about 2,000 tokens each: the fourth takes the conversation above 8,000.
    outcome = await run(models, 4 * 2_000)
    full = json.dumps({"task": "n" * 100})[-80:-40]
    for request, results_seen in ((3, 3), (4, 4), (5, 5)):
        texts = shown(models, request)
        assert len(texts) == results_seen
        kept = [text for text in texts if full in text]
        assert len(kept) == min(3, results_seen), request
        assert all(full in text for text in texts[-3:]), "the latest three stay"
    assert all("n" * 8_000 in json.dumps(result) for result in results(outcome)), (
        "only the model's copy is edited"
    )


async def test_below_the_threshold_nothing_is_cleared(models: ModelServer) -> None:
    await run(models, 4 * 1_000)
    assert all("nnnn" in text for text in shown(models, 5))


def called(name: str, call_id: str) -> tuple[Message, Message]:
    calling = ToolCall(id=call_id, name=name, arguments={})
    return (
        Message(role="assistant", text="", tool_calls=(calling,)),
        Message(role="tool", text="result", tool_call_id=call_id, tool_name=name),
    )


PAST = (
    user("first"),
    *called("search_people", "a"),
    assistant("People."),
    user("second"),
    *called("transfer_to_knowledge_base", "b"),
    assistant("From the handbook."),
    user("third"),
    *called("get_task", "c"),
    assistant("A task."),
)


def test_of_past_turns_only_the_own_tool_calls_are_seen() -> None:
    history = bounded_history((*PAST, user("now")), frozenset({"get_task"}))
    assert [m.text for m in history if m.type == "tool"] == ["result"]
    assert [m.text for m in history if m.type == "ai" and m.text] == [
        "People.",
        "From the handbook.",
        "A task.",
    ]
    ids = [c["id"] for m in history for c in getattr(m, "tool_calls", ())]
    assert ids == ["c"], "a call never stands without its result"


def test_the_current_turn_keeps_a_transfer() -> None:
    history = bounded_history((*PAST, user("now"), *called("transfer_to_knowledge_base", "d")))
    assert [m.type for m in history[-3:]] == ["human", "ai", "tool"]


def test_an_answer_to_a_pause_begins_no_turn() -> None:
    answer = user("Logistics").model_copy(update={"interaction": "i"})
    asked = assistant("Which team?").model_copy(update={"interaction": "i"})
    turn = (user("now"), *called("request_clarification", "q"), asked, answer)
    long = [m for n in range(40) for m in (user(f"q{n}"), assistant(f"a{n}"))]
    history = bounded_history((*long, *turn))
    assert [m.type for m in history[-5:]] == ["human", "ai", "tool", "ai", "human"]
    assert len(history) <= POLICY.specialist.history_messages
    assert ASKED[0].text not in [m.text for m in history]


@pytest.mark.parametrize("extra", [0, 1])
def test_thirty_messages_count_the_current_turn(extra: int) -> None:
    limit = POLICY.specialist.history_messages
    past = [m for n in range(limit) for m in (user(f"q{n}"), assistant(f"a{n}"))]
    current = (user("now"), *called("get_task", "x"), *([user("x")] if extra else []))
    assert len(bounded_history((*past, *current), frozenset({"get_task"}))) <= limit
