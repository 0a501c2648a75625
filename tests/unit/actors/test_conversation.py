"""Messages to LangChain and back, the bounded history, and the evidence of a decision."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from actors.conversation import bounded_history, evidence_json, from_langchain, to_langchain
from config.policy import POLICY
from domain.messages import Message, ToolCall, assistant, user

CALL = ToolCall(id="c1", name="get_task", arguments={"task_id": "T-1"})
TOOL_TURN = (
    Message(role="assistant", text="", tool_calls=(CALL,)),
    Message(
        role="tool",
        text='{"task": 1}',
        tool_call_id="c1",
        tool_name="get_task",
        artifact={"scores": [0.5]},
    ),
    assistant("Done."),
)


def turns(count: int, text: str = "x") -> list[Message]:
    """``count`` completed turns of two messages."""
    return [m for n in range(count) for m in (user(f"q{n} {text}"), assistant(f"a{n} {text}"))]


def test_assistant_and_tool_messages_come_back_as_they_went() -> None:
    assert from_langchain(to_langchain(TOOL_TURN)) == TOOL_TURN


def test_each_role_becomes_langchains() -> None:
    kinds = [type(m) for m in to_langchain([user("q"), *TOOL_TURN])]
    assert kinds == [HumanMessage, AIMessage, ToolMessage, AIMessage]


def test_artifacts_stay_beside_the_text_that_a_model_sees() -> None:
    tool = to_langchain(TOOL_TURN)[1]
    assert isinstance(tool, ToolMessage)
    assert tool.artifact == {"scores": [0.5]}
    assert "scores" not in str(tool.content)


def test_only_what_an_agent_added_comes_back() -> None:
    added = [HumanMessage("q"), SystemMessage("s"), AIMessage("a")]
    assert from_langchain(added) == (assistant("a"),)


def test_an_artifact_that_is_no_object_is_left_out() -> None:
    (message,) = from_langchain([ToolMessage("t", tool_call_id="1", artifact=[1])])
    assert message.artifact is None


def texts(messages: list[Any]) -> list[str]:
    return [m.text for m in messages]


def test_thirty_messages_stay_and_the_thirty_first_goes_with_its_turn() -> None:
    assert POLICY.specialist.history_messages == 30
    whole = [*turns(14), user("now"), *TOOL_TURN[:1]]
    assert len(whole) == 30
    assert len(bounded_history(whole)) == 30
    longer = [*turns(15), user("now")]
    assert len(longer) == 31
    kept = bounded_history(longer)
    assert texts(kept)[0] == "q1 x", "the oldest turn went whole"
    assert len(kept) == 29


def test_a_kept_history_starts_on_a_human_message() -> None:
    history = [user("q"), *TOOL_TURN] * 10
    kept = bounded_history([*history, user("now")])
    assert isinstance(kept[0], HumanMessage)
    assert len(kept) <= 30


def of_tokens(tokens: int) -> Message:
    """A user message that counts as exactly ``tokens``."""
    empty = count_tokens_approximately([HumanMessage("")])
    message = user("x" * 4 * (tokens - empty))
    assert count_tokens_approximately(to_langchain([message])) == tokens
    return message


@pytest.mark.parametrize(("tokens", "kept"), [(6_000, 2), (6_001, 1)])
def test_twelve_thousand_tokens_stay_and_one_more_does_not(tokens: int, kept: int) -> None:
    assert POLICY.specialist.history_tokens == 12_000
    messages = [of_tokens(tokens), of_tokens(6_000)]
    assert len(bounded_history(messages)) == kept


def test_the_current_turn_stays_whole_though_it_is_too_large_alone() -> None:
    current = [of_tokens(20_000), *TOOL_TURN]
    kept = bounded_history([*turns(3), *current])
    assert texts(kept) == [m.text for m in current]


def test_the_current_turn_stays_whole_though_it_has_too_many_messages() -> None:
    current = [user("now"), *TOOL_TURN * 15]
    assert len(bounded_history([*turns(3), *current])) == len(current) == 46


def test_no_message_is_cut_in_two() -> None:
    given = [*turns(20, "word " * 200), user("now")]
    originals = {m.text for m in given}
    assert set(texts(bounded_history(given))) <= originals


def test_an_empty_history_stays_empty() -> None:
    assert bounded_history([]) == []


def evidence(*messages: Message, **facts: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(evidence_json(messages, **facts))
    return found


def test_evidence_has_the_latest_user_text_whole_and_ten_texts_before_it() -> None:
    long = "é" * 16_000
    found = evidence(*turns(8), user(long))
    assert found["latest_user_text"] == long
    assert [m["text"] for m in found["recent_messages"]] == [m.text for m in turns(8)[-10:]]


@pytest.mark.parametrize(("count", "kept"), [(9, 9), (10, 10), (11, 10)])
def test_ten_earlier_texts_are_kept_at_most(count: int, kept: int) -> None:
    earlier = [user(str(number)) for number in range(count)]
    assert len(evidence(*earlier, user("now"))["recent_messages"]) == kept


def test_ten_texts_are_kept_at_most_though_the_last_is_not_the_users() -> None:
    assert len(evidence(*turns(8))["recent_messages"]) == 10


def test_empty_texts_and_tool_outputs_are_no_evidence() -> None:
    found = evidence(user("q"), *TOOL_TURN, user("  \n"), user("now"))
    assert found["recent_messages"] == [
        {"role": "user", "text": "q"},
        {"role": "assistant", "text": "Done."},
    ]
    assert "task" not in json.dumps(found)


def test_evidence_carries_the_given_facts_and_readable_letters() -> None:
    found = evidence_json([user("Où ?")], current_agent=None)
    assert "Où ?" in found
    assert json.loads(found)["current_agent"] is None


def test_no_message_gives_empty_evidence() -> None:
    assert evidence() == {"latest_user_text": "", "recent_messages": []}
