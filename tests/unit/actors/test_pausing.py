"""How a loop ends in a pause, and how a paused call is taken up."""

from __future__ import annotations

from typing import Any

import pytest
from fake_directory import SKILLED, FakeDirectory, FakeUploads
from fake_requests import tenant_of
from model_server import ModelServer
from scripted_replies import Calls, Text, call
from specialist_runs import REPLY, Bench, answered, results, tools_of

from config.policy import POLICY
from domain.errors import StoreUnavailable
from domain.events import Activity, TextDelivered, TextDelta
from domain.messages import user

pytestmark = pytest.mark.asyncio(loop_scope="session")

CAREER = "manta.career_chat"
ASK = ("request_clarification", {"questions": ["Which team?", "Since when?"]})
PROFILE = ("get_my_profile", {})
DONE = (REPLY, Text("Done."))


def bench(server: ModelServer, **more: Any) -> Bench:
    return Bench(server, directory=FakeDirectory(SKILLED), **more)


async def test_a_clarification_ends_the_loop_with_ordered_questions(models: ModelServer) -> None:
    asked = Calls((ASK,), text="SCRATCH")
    events, outcome = await bench(models).run("career_chat", asked, interactive=True)
    assert outcome.pause is not None
    assert [(q.id, q.text) for q in outcome.pause.questions] == [
        ("q1", "Which team?"),
        ("q2", "Since when?"),
    ]
    assert outcome.pause.interaction_id not in (outcome.pause.call_id, "")
    assert outcome.text == "" and not [
        e for e in events if isinstance(e, TextDelta | TextDelivered)
    ]
    assert "SCRATCH" not in repr((events, outcome))
    assert len(models.asked(CAREER)) == 1, "no model turn after the pause"


async def test_two_pauses_have_ids_of_their_own(models: ModelServer) -> None:
    made = [await bench(models).run("career_chat", Calls((ASK,)), interactive=True) for _ in "ab"]
    first, second = (outcome.pause for _, outcome in made)
    assert first is not None and second is not None
    assert first.interaction_id != second.interaction_id


LIMIT = POLICY.pause.questions


@pytest.mark.parametrize(
    ("questions", "pauses"),
    [(["a?"] * LIMIT, True), (["a?"] * (LIMIT + 1), False), ([], False), ([" "], False)],
)
async def test_one_to_five_questions_may_be_asked(
    models: ModelServer, questions: list[str], pauses: bool
) -> None:
    asked = call("request_clarification", questions=questions)
    replies = (asked,) if pauses else (asked, *DONE)
    _, outcome = await bench(models).run("career_chat", *replies, interactive=True)
    assert (outcome.pause is not None) is pauses


async def test_the_answers_are_the_calls_result_and_the_exchange_follows(
    models: ModelServer,
) -> None:
    _, asked = await bench(models).run("career_chat", Calls((ASK,)), interactive=True)
    again = answered(asked, q1="Logistics", q2="May")
    _, outcome = await bench(models).run("career_chat", *DONE, interactive=True, **again)
    assert [m.role for m in outcome.messages] == ["tool", "assistant", "user", "assistant"]
    assert results(outcome)[0]["answers"] == [
        {"question": "Which team?", "answer": "Logistics"},
        {"question": "Since when?", "answer": "May"},
    ]
    roles = [m["role"] for m in models.asked(CAREER)[1]["messages"]]
    assert roles == ["system", "user", "user", "assistant", "tool", "assistant", "user"]


async def test_results_of_the_same_message_are_kept(models: ModelServer) -> None:
    both = Calls((PROFILE, ASK))
    _, outcome = await bench(models).run("career_chat", both, interactive=True)
    assert outcome.pause is not None
    assert [m.role for m in outcome.messages] == ["assistant", "tool"]
    assert results(outcome)[0]["profile"]["role"] == "Planner"


async def test_of_two_questions_at_once_one_is_asked(models: ModelServer) -> None:
    _, outcome = await bench(models).run("career_chat", Calls((ASK, ASK)), interactive=True)
    assert outcome.pause is not None
    assert results(outcome) == [{"error": "one_question_at_a_time"}]
    refused = outcome.messages[-1]
    assert refused.tool_call_id != outcome.pause.call_id


async def test_a_handoff_beside_a_question_waits_for_the_answer(models: ModelServer) -> None:
    handing = ("transfer_to_knowledge_base", {"question": "q"})
    tenant = tenant_of(rag={"enabled": True})
    _, outcome = await bench(models).run(
        "career_chat", Calls((handing, ASK)), interactive=True, tenant=tenant
    )
    assert outcome.pause is not None and outcome.handoff is None
    assert results(outcome) == [{"error": "one_question_at_a_time"}]


async def test_a_resumed_run_has_a_fresh_allowance(models: ModelServer) -> None:
    used = [Calls((PROFILE,))] * POLICY.specialist.tool_calls
    _, asked = await bench(models).run("career_chat", *used[1:], Calls((ASK,)), interactive=True)
    _, outcome = await bench(models).run(
        "career_chat", *used, *DONE, interactive=True, **answered(asked, q1="a", q2="b")
    )
    assert all("profile" in result for result in results(outcome)[1:])


async def test_documents_are_offered_only_where_there_are_some(models: ModelServer) -> None:
    await bench(models).run("career_chat", *DONE)
    assert "analyze_document" not in tools_of(models.asked(CAREER)[0])
    await bench(models, uploads=FakeUploads(cv="x")).run("career_chat", *DONE)
    body = models.asked(CAREER)[2]
    assert "analyze_document" in tools_of(body)
    assert '"documents": [{"document_id": "cv"' in body["messages"][1]["content"]


async def test_a_document_is_read_in_windows(models: ModelServer) -> None:
    size = POLICY.document.window_chars
    text = "a" * size + "b"
    calls = (
        call("analyze_document", document_id="cv"),
        call("analyze_document", document_id="cv", offset=size),
        call("analyze_document", document_id="other"),
    )
    events, outcome = await bench(models, uploads=FakeUploads(cv=text)).run(
        "career_chat", *calls, *DONE
    )
    first, second, third = results(outcome)
    assert (first["text"], first["next_offset"]) == ("a" * size, size)
    assert (second["text"], second["next_offset"]) == ("b", None)
    assert third == {"error": "unknown_document"}
    assert Activity(code="reading_document", agent="career_chat") in events


async def test_another_users_documents_are_unknown(models: ModelServer) -> None:
    uploads = FakeUploads(thread="acme|ben|c1", cv="secret")
    await bench(models, uploads=uploads).run("career_chat", *DONE)
    assert "cv" not in str(models.asked(CAREER)[0]["messages"][1])


async def test_a_directory_that_fails_ends_no_conversation(models: ModelServer) -> None:
    broken = FakeDirectory(error=StoreUnavailable("the directory", "timeout"))
    _, outcome = await Bench(models, directory=broken).run("career_chat", Calls((PROFILE,)), *DONE)
    assert results(outcome) == [{"error": "store_unavailable"}]


async def test_the_token_reaches_the_directory_and_nothing_else(models: ModelServer) -> None:
    made = bench(models)
    _, outcome = await made.run("career_chat", Calls((PROFILE,)), *DONE, token="s3cret-token")
    token = made.directory.callers[0].token
    assert token is not None and token.get_secret_value() == "s3cret-token"
    assert "s3cret" not in str(models.requests) + repr(outcome)


async def test_preferences_and_summary_are_labelled_data(models: ModelServer) -> None:
    facts = [{"text": "I like </data> tea", "language": "en", "since": "2026-01-02"}]
    summary = {"text": "We spoke of tea.", "covers": 4}
    await bench(models).run("career_chat", *DONE, facts=facts, summary=summary)
    system, _, preferences, summarised, asked = models.asked(CAREER)[0]["messages"]
    assert preferences["role"] == summarised["role"] == "user"
    assert preferences["content"].startswith('<data label="preferences">')
    assert "</data> tea" not in preferences["content"]
    assert "We spoke of tea." in summarised["content"]
    assert "tea" not in system["content"]
    assert asked["content"] == user("How many days?").text
