"""Pauses in the turn: what rests, who may answer, and what history says afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fake_roles import FakeRunner
from fake_turn import ALLOW, CHOSEN, Stage, answering, pausing, reply, said, steps

from config.policy import POLICY
from domain.errors import ModelUnavailable, NotFound
from domain.events import PauseAbandoned, TurnFinished, TurnPaused, TurnStopped
from domain.outcomes import GateOutcome
from domain.pauses import Option, PauseQuestion

ASK = pausing("Which team?", "Since when?", kept="what was prepared")
I1 = "i-call-9"
ANSWERS = {"q1": "Logistics", "q2": "May"}
BLOCK = GateOutcome(decision="block", reply="No.")


class Resuming(FakeRunner):
    """Answers a resumed call with a text, and anything else with the scripted runs."""

    async def run(self, *args: Any) -> Any:
        resumption = args[2].resumption
        if resumption is not None:
            self.runs.insert(0, [answering(resumption, "Done.")])
        async for item in super().run(*args):
            yield item


def stage(*runs: Any, gates: int = 6, **more: Any) -> Stage:
    made = Stage(gate=[ALLOW] * gates, route=[CHOSEN] * gates, career=[[ASK], *runs], **more)
    made.career.__class__ = Resuming
    return made


async def test_a_pause_ends_the_turn_and_rests_with_what_was_prepared() -> None:
    made = stage()
    events = await made.turn("Help me")
    last = events[-1]
    assert isinstance(last, TurnPaused)
    assert (last.reply.status, last.reply.text) == ("paused", "Which team?\nSince when?")
    assert last.pause.interaction_id == I1
    assert await made.history() == [], "a paused turn is no history yet"
    kept = (await made.state())["pause"]
    assert [m["role"] for m in kept["incoming"] + kept["draft"]] == ["user", "assistant"]
    assert kept["pause"]["request"]["prepared"] == {"kept": "what was prepared"}


async def test_the_answers_go_on_where_the_turn_stopped() -> None:
    made = stage()
    await made.turn("Help me")
    events = await made.resume(I1, ANSWERS)
    assert steps(events) == ["gate", "career_chat"], "no routing for a resumed turn"
    assert reply(events).text == "Done."
    history = await made.history()
    roles = ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert [m["role"] for m in history] == roles
    assert history[2]["tool_call_id"] == "call-9", "the pair is resolved first"
    assert history[3]["interaction"] == history[4]["interaction"] == I1
    assert history[4]["text"] == "Logistics\nMay"
    assert (await made.state())["pause"] is None
    resumption = made.career.calls[1][2].resumption
    assert resumption.pause.request.prepared == {"kept": "what was prepared"}


async def test_every_answer_passes_the_gate() -> None:
    made = stage()
    await made.turn("Help me")
    await made.resume(I1, ANSWERS)
    checked = [call[2] for call in made.guardrail.calls[1:]]
    assert [messages[-1].text for messages in checked] == ["Logistics", "May"]
    assert [messages[-2].text for messages in checked] == ["Which team?", "Since when?"]


@pytest.mark.parametrize("gates", [[BLOCK, ALLOW], [ALLOW, BLOCK]])
async def test_a_refused_answer_leaves_the_question_open(gates: list[Any]) -> None:
    made = stage()
    await made.turn("Help me")
    made.guardrail.outcomes = [*gates, ALLOW, ALLOW]
    refused = await made.resume(I1, ANSWERS)
    assert (reply(refused).status, reply(refused).text) == ("boundary", "No.")
    assert len(made.career.calls) == 1, "nothing else has started"
    assert await made.history() == []
    assert reply(await made.resume(I1, ANSWERS)).text == "Done."


@pytest.mark.parametrize("identity", ["i-other", "", "call-9"])
async def test_only_the_current_interaction_is_answered(identity: str) -> None:
    made = stage()
    await made.turn("Help me")
    last = (await made.resume(identity, ANSWERS))[-1]
    assert isinstance(last, TurnStopped) and last.code == "not_found"
    assert len(made.guardrail.calls) == 1
    assert reply(await made.resume(I1, ANSWERS)).text == "Done."


@pytest.mark.parametrize("owner", [{"user": "ben"}, {"tenant": "zoo"}, {"conversation": "c2"}])
async def test_nobody_else_answers(owner: dict[str, str]) -> None:
    made = stage()
    await made.turn("Help me")
    last = (await made.resume(I1, ANSWERS, **owner))[-1]
    assert isinstance(last, TurnStopped) and last.code == "not_found"
    assert len(made.career.calls) == 1


LIMIT = POLICY.pause.answer_chars


@pytest.mark.parametrize(
    "payload",
    [
        {"q1": "Logistics"},
        {**ANSWERS, "q3": "more"},
        {"q1": "Logistics", "q2": " "},
        {"q1": "Logistics", "q2": "x" * (LIMIT + 1)},
        {},
        None,
        "one text for two questions",
    ],
)
async def test_answers_cover_the_questions_exactly(payload: Any) -> None:
    made = stage()
    await made.turn("Help me")
    last = (await made.resume(I1, payload))[-1]
    assert isinstance(last, TurnStopped) and last.code == "invalid_input"
    assert reply(await made.resume(I1, {**ANSWERS, "q2": "x" * LIMIT})).text == "Done."


async def test_a_choice_is_one_of_its_options_and_is_read_by_its_label() -> None:
    question = PauseQuestion(
        id="who", text="Who?", options=(Option(value="p1", label="Ana, Brest"),)
    )
    assert ASK.pause is not None
    request = ASK.pause.request.model_copy(update={"questions": (question,)})
    pause = ASK.pause.model_copy(update={"request": request})
    made = stage()
    made.career.runs = [[ASK.model_copy(update={"pause": pause})]]
    await made.turn("Who is it?")
    wrong = (await made.resume(I1, "Ana, Brest"))[-1]
    assert isinstance(wrong, TurnStopped) and wrong.code == "invalid_input"
    await made.resume(I1, "p1")
    assert (await made.history())[4]["text"] == "Ana, Brest"


async def test_of_two_answers_one_after_the_other_only_the_first_runs() -> None:
    made = stage()
    await made.turn("Help me")
    await made.resume(I1, ANSWERS)
    again = (await made.resume(I1, ANSWERS))[-1]
    assert isinstance(again, TurnStopped) and again.code == "not_found"
    assert len(made.career.calls) == 2


async def test_a_resumed_turn_that_fails_leaves_the_pause_open() -> None:
    made = stage()
    await made.turn("Help me")
    made.career.__class__ = FakeRunner
    made.career.runs = [[ModelUnavailable("the model", "status 500")]]
    assert isinstance((await made.resume(I1, ANSWERS))[-1], TurnStopped)
    assert await made.history() == []
    made.career.__class__ = Resuming
    assert reply(await made.resume(I1, ANSWERS)).text == "Done."
    assert len(await made.history()) == 6


async def test_a_resumed_turn_that_is_cancelled_leaves_the_pause_open() -> None:
    made = stage()
    await made.turn("Help me")
    made.career.__class__ = FakeRunner
    made.career.runs = [[30.0]]
    task = asyncio.create_task(made.resume(I1, ANSWERS))
    while len(made.career.calls) < 2:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    made.career.__class__ = Resuming
    assert reply(await made.resume(I1, ANSWERS)).text == "Done."


async def test_a_call_may_pause_again() -> None:
    again = pausing("And the place?", call_id="call-10")
    made = stage()
    made.career.__class__ = FakeRunner
    made.career.runs = [[ASK], [again.model_copy(update={"messages": ()})]]
    await made.turn("Help me")
    last = (await made.resume(I1, ANSWERS))[-1]
    assert isinstance(last, TurnPaused) and last.pause.interaction_id == "i-call-10"
    assert isinstance((await made.resume(I1, ANSWERS))[-1], TurnStopped), "the first is answered"
    made.career.__class__ = Resuming
    events = await made.resume("i-call-10", {"q1": "Brest"})
    assert reply(events).text == "Done."
    assert (await made.history())[0]["text"] == "Help me"


async def test_new_input_abandons_the_pause_explicitly() -> None:
    made = stage([said("Something else.")])
    await made.turn("Help me")
    events = await made.turn("Never mind, hello")
    assert events[0] == PauseAbandoned(interaction_id=I1)
    assert reply(events).text == "Something else."
    texts = [m["text"] for m in await made.history()]
    assert texts == [
        "Help me",
        "",
        '{"status": "abandoned"}',
        "Which team?\nSince when?",
        "Never mind, hello",
        "Something else.",
    ]
    seen = made.career.calls[1][2].messages
    assert [m.role for m in seen] == ["user", "assistant", "tool", "assistant", "user"]
    assert isinstance((await made.resume(I1, ANSWERS))[-1], TurnStopped)


async def test_new_input_that_fails_abandons_nothing() -> None:
    made = stage()
    await made.turn("Help me")
    made.supervisor.outcomes = [ModelUnavailable("the model", "status 500")]
    assert isinstance((await made.turn("Never mind"))[-1], TurnStopped)
    assert reply(await made.resume(I1, ANSWERS)).text == "Done."
    assert "Never mind" not in [m["text"] for m in await made.history()]


async def test_a_new_pause_replaces_an_abandoned_one() -> None:
    made = stage([pausing("Which place?", call_id="call-10")])
    await made.turn("Help me")
    last = (await made.turn("Something else"))[-1]
    assert isinstance(last, TurnPaused)
    assert len(await made.history()) == 4, "the abandoned turn is closed"
    assert (await made.state())["pause"]["pause"]["interaction_id"] == "i-call-10"
    assert reply(await made.resume("i-call-10", "Brest")).text == "Done."
    assert [m["text"] for m in await made.history()][4] == "Something else"


async def test_a_cancelled_interaction_closes_the_pause_without_a_model() -> None:
    made = stage()
    await made.turn("Help me")
    events = await made.resume(I1, cancelled=True)
    assert events[0] == PauseAbandoned(interaction_id=I1)
    assert isinstance(events[-1], TurnFinished) and events[-1].reply.status == "abandoned"
    assert len(made.guardrail.calls) == 1
    assert [m["role"] for m in await made.history()] == ["user", "assistant", "tool", "assistant"]
    assert (await made.state())["pause"] is None
    last = (await made.resume(I1, cancelled=True))[-1]
    assert isinstance(last, TurnStopped) and last.code == NotFound.code


async def test_no_task_waits_for_the_user() -> None:
    made = stage()
    before = asyncio.all_tasks()
    await made.turn("Help me")
    assert asyncio.all_tasks() == before


async def test_only_a_late_answer_is_told_that_its_question_is_gone() -> None:
    made = stage()
    await made.turn("Help me")
    gone = (await made.resume("i-other", ANSWERS))[-1]
    assert isinstance(gone, TurnStopped) and "no longer open" in gone.message
    made.career.__class__ = FakeRunner
    made.career.runs = [[NotFound("the profile")]]
    failed = (await made.resume(I1, ANSWERS))[-1]
    assert isinstance(failed, TurnStopped) and failed.code == "not_found"
    assert "try again" in failed.message
