"""Pure routing, conversation keys, and the language of a reply."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from domain.messages import Message, ToolCall, assistant, user
from domain.requests import thread_id
from graph import routing
from graph.locale import reply_locale
from graph.state import TurnState, conversation, plain, turn_input
from graph.turn import build_turn


def state(**values: Any) -> TurnState:
    return TurnState(**values)  # type: ignore[typeddict-item]


ALLOW = {"decision": "allow", "reply": ""}


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (state(gate=ALLOW), "memory supervisor"),
        (state(gate=ALLOW, entry=None), "memory supervisor"),
        (state(gate=ALLOW, entry="task_guidance"), "memory task_guidance"),
        (state(gate={"decision": "block", "reply": "No."}), "deliver"),
        (state(gate={"decision": "doubt", "reply": "Why?"}), "deliver"),
        (state(gate={"decision": "block", "reply": ""}, entry="career_chat"), "deliver"),
        (state(gate={"decision": "ALLOW", "reply": ""}), "deliver"),
        (state(gate=None), "deliver"),
        (state(), "deliver"),
    ],
)
def test_only_an_allowed_message_passes_the_gate(given: TurnState, target: str) -> None:
    assert routing.after_gate(given) == target.split()


@pytest.mark.parametrize("name", ["career_chat", "task_guidance"])
def test_the_chosen_specialist_is_next(name: str) -> None:
    assert routing.after_supervisor(state(specialist=name)) == name


@pytest.mark.parametrize("given", [state(), state(specialist=None)])
def test_a_supervisor_without_a_choice_is_an_error(given: TurnState) -> None:
    with pytest.raises(ValueError, match="no specialist"):
        routing.after_supervisor(given)


HANDOFF = {"call_id": "1", "question": "q"}


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (state(handoff=HANDOFF), "knowledge"),
        (state(handoff=HANDOFF, knowledge=None), "knowledge"),
        (state(handoff=None), "deliver"),
        (state(), "deliver"),
        (state(handoff=HANDOFF, knowledge={"status": "unanswerable"}), "deliver"),
        (state(asked={"interaction_id": "i"}), "await_answers"),
        (state(asked={"interaction_id": "i"}, handoff=HANDOFF), "await_answers"),
    ],
)
def test_one_handoff_a_turn(given: TurnState, target: str) -> None:
    assert routing.after_specialist(given) == target


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (state(knowledge={"status": "answered"}), "deliver"),
        (state(knowledge={"status": "unanswerable"}), "career_chat"),
        (state(knowledge={"status": "unavailable"}), "career_chat"),
        (state(knowledge=None), "career_chat"),
        (state(), "career_chat"),
    ],
)
def test_only_a_supported_answer_is_delivered_as_it_is(given: TurnState, target: str) -> None:
    assert routing.after_knowledge(given) == target


def test_the_input_of_a_turn_resets_all_that_belongs_to_a_turn() -> None:
    given = turn_input([user("q")], "career_chat")
    assert given["entry"] == "career_chat"
    assert given["incoming"] == [{"role": "user", "text": "q"}]
    kept = {"history", "active_agent", "summary", "pause"}
    assert set(TurnState.__annotations__) == {*given, *kept}
    reset = set(given) - {"entry", "incoming"}
    assert all(not given[name] for name in reset)  # type: ignore[literal-required]


def test_a_conversation_is_history_then_input_then_draft() -> None:
    calls = (ToolCall(id="1", name="t", arguments={"a": [1]}),)
    drafted = Message(role="assistant", text="", tool_calls=calls)
    given = state(
        history=plain([user("old"), assistant("reply")]),
        incoming=plain([user("now")]),
        draft=plain([drafted]),
    )
    assert conversation(given) == (user("old"), assistant("reply"), user("now"), drafted)
    assert conversation(state(incoming=plain([user("now")]))) == (user("now"),)


PARTS = [
    "a",
    "b",
    "a|b",
    "|",
    "||",
    "%7c",
    "%",
    "a%",
    "%25",
    "7c",
    "é",
    "%c3%a9",
    "%c3a9",
    "Ã",
    "",
    " ",
]


def test_no_two_owners_share_a_key() -> None:
    owners = list(itertools.product(PARTS, repeat=3))
    assert len({thread_id(*owner) for owner in owners}) == len(owners)


def test_a_key_has_three_parts_of_harmless_characters() -> None:
    key = thread_id("acme", "ana|*?[x]:{y}\n", "c 1")
    assert key.count("|") == 2
    assert not set(key) & set("*?[]{}:\n ")
    assert thread_id("acme", "ana.b@x-y_1", "c1") == "acme|ana.b@x-y_1|c1"


QUESTIONS = {
    "en": [
        "How many days of leave do I have?",
        "Who handles payroll?",
        "Where is the first aid room?",
        "Can I work from home?",
        "What are my tasks?",
        "How do I claim an expense?",
        "When is the salary paid?",
        "Thank you very much",
    ],
    "fr": [
        "Combien de jours de congé ai-je ?",
        "Qui s'occupe de la paie ?",
        "Où se trouve la cantine ?",
        "Puis-je travailler à la maison ?",
        "Quelles sont mes tâches ?",
        "Comment déclarer un accident ?",
        "Quand le salaire est-il versé ?",
        "Merci beaucoup",
    ],
    "de": [
        "Wie viele Urlaubstage habe ich?",
        "Wer ist im Betriebsrat?",
        "Wo finde ich die Kantine?",
        "Darf ich zu Hause arbeiten?",
        "Was sind meine Aufgaben?",
        "Wie melde ich einen Unfall?",
        "Wann wird das Gehalt gezahlt?",
        "Vielen Dank für die Hilfe",
    ],
}


@pytest.mark.parametrize(
    ("locale", "question"), [(k, q) for k, questions in QUESTIONS.items() for q in questions]
)
def test_a_short_question_is_answered_in_its_language(locale: Any, question: str) -> None:
    other: Any = "de" if locale != "de" else "fr"
    assert reply_locale(None, question, other) == locale


@pytest.mark.parametrize("text", ["", "12345", "T-12?", "???", "こんにちは"])
@pytest.mark.parametrize("default", ["en", "fr", "de"])
def test_a_text_without_a_known_language_gets_the_tenants(text: str, default: Any) -> None:
    assert reply_locale(None, text, default) == default


@pytest.mark.parametrize("asked", ["en", "fr", "de"])
def test_the_requested_language_wins_over_the_detected_one(asked: Any) -> None:
    assert reply_locale(asked, "Wie viele Urlaubstage habe ich?", "en") == asked


def test_the_compiled_graph_has_the_designs_edges_only() -> None:
    drawn = build_turn(None).get_graph()
    edges = {(edge.source, edge.target) for edge in drawn.edges}
    assert {edge for edge in edges if not any(name.startswith("__error") for name in edge)} >= {
        ("__start__", "gate"),
        ("__start__", "deliver"),
        ("gate", "memory"),
        ("memory", "__end__"),
        ("gate", "supervisor"),
        ("gate", "deliver"),
        ("supervisor", "career_chat"),
        ("supervisor", "task_guidance"),
        ("career_chat", "knowledge"),
        ("career_chat", "deliver"),
        ("career_chat", "await_answers"),
        ("await_answers", "__end__"),
        ("task_guidance", "deliver"),
        ("knowledge", "career_chat"),
        ("knowledge", "deliver"),
        ("deliver", "__end__"),
    }
    assert ("task_guidance", "knowledge") not in edges, "only career chat hands over"
    assert ("gate", "knowledge") not in edges
    assert {edge.source for edge in drawn.edges if edge.target == "__end__"} == {
        "deliver",
        "await_answers",
        "memory",
    }
