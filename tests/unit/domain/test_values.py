"""Events, messages and passages as they travel."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import SecretStr, ValidationError

from domain.answers import Citation, KnowledgeAnswer, Reply
from domain.budgets import Spent
from domain.events import (
    EVENT,
    Activity,
    ActivityCode,
    Comment,
    Event,
    PauseAbandoned,
    StepFinished,
    StepStarted,
    TextDelivered,
    TextDelta,
    TurnFinished,
    TurnPaused,
    TurnStopped,
    Verdict,
)
from domain.messages import Message, ToolCall, assistant, latest_user_text, user
from domain.outcomes import GateOutcome, Handoff, SpecialistOutcome
from domain.passages import Passage, Readiness
from domain.pauses import Option, Pause, PauseQuestion, PauseRequest, Resumption
from domain.requests import RequestContext, SpecialistRequest

REPLY = Reply(
    status="answered",
    agent="knowledge",
    text="« 27 jours » – oui",
    citations=(Citation(number=1, kind="web", title="Leave", quote="27 days", url="https://x/"),),
    locale="fr",
    spent=Spent(model_calls=3, cost_usd=0.25),
)
PAUSE = Pause(
    interaction_id="i1",
    specialist="career_chat",
    tool="request_clarification",
    call_id="c1",
    request=PauseRequest(
        reason="choice",
        questions=(PauseQuestion(id="q1", text="Which?", options=(Option(value="a", label="Ä"),)),),
        prepared={"kept": [1, None, "é"]},
    ),
    exchange=(assistant("Before?"), user("Yes")),
)
EVENTS: list[Event] = [
    StepStarted(step="gate"),
    StepFinished(step="gate", seconds=0.25),
    Activity(code="searching_web", agent="knowledge"),
    Comment(agent="knowledge", text="Looking for leave"),
    TextDelta(agent="career_chat", text=" ümläut\n"),
    TextDelivered(agent="guardrail", text="No."),
    Verdict(agent="campus_advisor", step="grade", decision="relevant", reason="near", score=0.7),
    PauseAbandoned(interaction_id="i1"),
    TurnPaused(pause=PAUSE, reply=REPLY.model_copy(update={"status": "paused"})),
    TurnFinished(reply=REPLY),
    TurnStopped(code="model_unavailable", stage="gate", message="Sorry."),
]


def test_every_event_of_the_union_is_sampled_here() -> None:
    union = get_args(get_args(Event)[0])
    assert {type(event) for event in EVENTS} == set(union)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_comes_back_from_json_as_itself(event: Event) -> None:
    again = EVENT.validate_json(EVENT.dump_json(event))
    assert type(again) is type(event)
    assert again == event


def test_the_tag_alone_decides_the_kind_of_an_event() -> None:
    kinds = [event.type for event in EVENTS]
    assert len(set(kinds)) == len(kinds)
    with pytest.raises(ValidationError, match="tag"):
        EVENT.validate_python({"type": "thought", "text": "x"})


def test_an_event_takes_no_further_field() -> None:
    with pytest.raises(ValidationError, match="evidence"):
        EVENT.validate_python({"type": "comment", "agent": "a", "text": "b", "evidence": "c"})


def test_an_activity_is_one_of_the_codes_that_clients_translate() -> None:
    for code in get_args(ActivityCode):
        assert Activity(code=code, agent="x").code == code
    with pytest.raises(ValidationError, match="code"):
        Activity(code="thinking", agent="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        user("hello"),
        Readiness(documents="ready", web_sources=0),
        Spent(),
        RequestContext(request_id="r", tenant="t", user="u", conversation="c", locale="en"),
        Handoff(call_id="1", question="q"),
        GateOutcome(decision="allow"),
        REPLY,
        KnowledgeAnswer(status="unanswerable"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_travels_is_frozen_and_knows_its_fields_only(value: Any) -> None:
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, getattr(value, name))
    with pytest.raises(ValidationError, match="surprise"):
        type(value).model_validate({**value.model_dump(), "surprise": 1})


def test_a_message_comes_back_from_json_with_calls_and_artifact() -> None:
    message = Message(
        role="assistant",
        text="",
        tool_calls=(ToolCall(id="1", name="search", arguments={"q": "é", "n": [1, None]}),),
        artifact={"scores": [0.5]},
    )
    assert Message.model_validate_json(message.model_dump_json()) == message


def test_a_message_has_one_of_three_roles() -> None:
    with pytest.raises(ValidationError, match="role"):
        Message(role="system", text="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("messages", "latest"),
    [
        ((), ""),
        ((assistant("a"),), ""),
        ((user("first"), user("second")), "second"),
        ((user("mine"), assistant("reply"), Message(role="tool", text="t")), "mine"),
        ((user("earlier"), user("")), ""),
    ],
)
def test_the_latest_user_text_is_the_last_users(messages: Any, latest: str) -> None:
    assert latest_user_text(messages) == latest
    assert latest_user_text(list(messages)) == latest


@pytest.mark.parametrize(
    ("documents", "web_sources", "offered"),
    [
        ("ready", 0, True),
        ("ready", 2, True),
        ("empty", 0, False),
        ("disabled", 0, False),
        ("unavailable", 0, False),
        ("empty", 1, True),
        ("disabled", 1, True),
        ("unavailable", 1, True),
    ],
)
def test_knowledge_is_offered_with_documents_or_a_web_source(
    documents: Any, web_sources: int, offered: bool
) -> None:
    assert Readiness(documents=documents, web_sources=web_sources).offered is offered


def test_a_passage_comes_back_from_json() -> None:
    passage = Passage(
        chunk_id="c",
        title="T",
        heading=None,
        page=3,
        text="x",
        language="de",
        score=0.5,
        dense=-0.1,
        lexical=1.0,
    )
    assert Passage.model_validate_json(passage.model_dump_json()) == passage


def test_the_text_of_an_outcome_is_its_last_message_unless_it_hands_over() -> None:
    said = (assistant("first"), assistant("last"))
    assert SpecialistOutcome(messages=said).text == "last"
    assert SpecialistOutcome(messages=()).text == ""
    handoff = Handoff(call_id="1", question="q")
    assert SpecialistOutcome(messages=said, handoff=handoff).text == ""


def test_a_choice_is_read_by_its_label_and_a_text_as_it_was_written() -> None:
    written = PauseQuestion(id="q2", text="Since?")
    request = PAUSE.request.model_copy(update={"questions": (*PAUSE.questions, written)})
    pause = PAUSE.model_copy(update={"request": request})
    resumption = Resumption(pause=pause, answers={"q2": "May", "q1": "a"})
    assert resumption.text == "Ä\nMay", "in the order of the questions"
    asked, answered = resumption.exchange()[-2:]
    assert (asked.text, answered.text) == ("Which?\nSince?", "Ä\nMay")
    assert asked.interaction == answered.interaction == "i1"
    assert resumption.exchange()[:2] == PAUSE.exchange


def test_a_token_is_never_shown() -> None:
    request = SpecialistRequest(messages=(), token=SecretStr("s3cret"))
    assert "s3cret" not in repr(request) + request.model_dump_json()
