"""The wall clocks of the turn's nodes, held by LangGraph itself."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from fake_roles import cell_of
from fake_turn import ALLOW, CHOSEN, HANDOFF, Stage, reply, said

from config.policy import POLICY, NodeLimits
from domain.events import TurnStopped
from graph.turn import build_turn

CLEAN_UP = 0.2
SHORT = 0.15


def staged(stage: Stage, limits: NodeLimits) -> Stage:
    stage.graph = build_turn(stage.saver, limits)
    return stage


async def test_a_research_that_exceeds_its_node_s_time_is_unavailable_and_drained() -> None:
    stage = Stage(career=[[HANDOFF], [said("Not now.")]], research=[[30.0]], clean_up=CLEAN_UP)
    started = time.monotonic()
    found = reply(await staged(stage, replace(POLICY.nodes, knowledge=SHORT)).turn())
    assert (found.status, found.text) == ("unavailable", "Not now.")
    assert time.monotonic() - started < 10
    assert stage.researcher.cleaned == 1, "its clean-up has ended before the turn did"


async def test_a_specialist_that_exceeds_its_node_s_time_stops_only_its_turn() -> None:
    stage = Stage(
        gate=[ALLOW, ALLOW],
        route=[CHOSEN, CHOSEN],
        career=[[30.0], [said("Here.")]],
        clean_up=CLEAN_UP,
    )
    # The second turn's clean-up takes its share of the node's time too.
    staged(stage, replace(POLICY.nodes, specialist=SHORT + 2 * CLEAN_UP))
    last = (await stage.turn("Slow one"))[-1]
    assert isinstance(last, TurnStopped)
    assert (last.stage, last.code) == ("career_chat", "deadline_exceeded")
    assert stage.career.cleaned == 1
    assert reply(await stage.turn("Next")).text == "Here."
    assert [m["text"] for m in await stage.history()] == ["Next", "Here."]


class SlowDecider:
    """A guardrail or a supervisor that does not come to a decision."""

    async def decide(self, *_: object) -> None:
        await asyncio.sleep(30.0)


@pytest.mark.parametrize("name", ["gate", "supervisor"])
async def test_a_decision_that_exceeds_its_node_s_time_stops_the_turn(name: str) -> None:
    stage = staged(Stage(), replace(POLICY.nodes, **{name: SHORT}))
    guardrail = SlowDecider() if name == "gate" else stage.guardrail
    supervisor = SlowDecider() if name == "supervisor" else stage.supervisor
    stage.roles = cell_of(guardrail, supervisor, stage.career, stage.researcher, stage.tasks)
    last = (await stage.turn())[-1]
    assert isinstance(last, TurnStopped)
    assert (last.stage, last.code) == (name, "deadline_exceeded")
    assert stage.career.calls == [], "nothing after it has started"
