"""Summaries in the state of a conversation: what is kept, what a specialist is given."""

from __future__ import annotations

from fake_turn import ALLOW, CHOSEN, Stage, pausing, reply, said

from domain.events import TurnPaused
from domain.outcomes import RoutingOutcome, Summary

SUMMED = RoutingOutcome(specialist="career_chat", summary=Summary(text="They spoke.", covers=2))


async def test_a_summary_stands_for_the_beginning_and_the_history_stays_whole() -> None:
    stage = Stage(
        gate=[ALLOW] * 3,
        route=[CHOSEN, SUMMED, CHOSEN],
        career=[[said("One.")], [said("Two.")], [said("Three.")]],
    )
    for text in ("first", "second", "third"):
        reply(await stage.turn(text))
    given = stage.career.calls[1][2]
    assert given.summary == SUMMED.summary
    assert [m.text for m in given.messages] == ["second"], "what it covers is not sent again"
    given = stage.career.calls[2][2]
    assert given.summary == SUMMED.summary
    assert [m.text for m in given.messages] == ["second", "Two.", "third"]
    assert len(await stage.history()) == 6
    completed, current, known = stage.supervisor.calls[2][2:5]
    assert [m.text for m in completed] == ["second", "Two."]
    assert [m.text for m in current] == ["third"]
    assert known == SUMMED.summary


async def test_a_paused_turn_is_never_summarised_away() -> None:
    stage = Stage(
        gate=[ALLOW] * 4,
        route=[CHOSEN, SUMMED],
        career=[[said("One.")], [pausing("Which?")], [said("Done.")]],
    )
    await stage.turn("first")
    last = (await stage.turn("second"))[-1]
    assert isinstance(last, TurnPaused)
    await stage.resume(last.pause.interaction_id, "That one")
    given = stage.career.calls[2][2]
    assert [m.text for m in given.messages] == ["second", ""], "the paused turn is whole"
    assert given.summary == SUMMED.summary
