"""A turn over fake roles, with the outcomes that tests use, and a memory of its own."""

from __future__ import annotations

from typing import Any

from fake_requests import context_of, tenant_of
from fake_roles import FakeDecider, FakeRunner, cell_of
from langgraph.checkpoint.memory import InMemorySaver

from domain.answers import Citation, KnowledgeAnswer, Reply
from domain.budgets import Spent
from domain.events import Event, StepStarted, TurnFinished
from domain.messages import Message, ToolCall, assistant, user
from domain.outcomes import GateOutcome, Handoff, RoutingOutcome, SpecialistOutcome
from domain.requests import thread_id
from graph.run import run_turn
from graph.state import TurnContext
from graph.turn import TurnGraph, build_turn

ALLOW = GateOutcome(decision="allow", spent=Spent(model_calls=1, cost_usd=0.25))
CHOSEN = RoutingOutcome(specialist="career_chat", spent=Spent(model_calls=1))
TRANSFER = ToolCall(id="call-1", name="transfer_to_knowledge_base", arguments={"question": "q?"})
HANDOFF = SpecialistOutcome(
    messages=(Message(role="assistant", text="", tool_calls=(TRANSFER,)),),
    handoff=Handoff(call_id="call-1", question="q?"),
    spent=Spent(model_calls=1),
)
CITATION = Citation(number=1, kind="document", title="Leave", quote="27 days")
ANSWERED = KnowledgeAnswer(
    status="answered",
    answer="You get\u00a027 days. \n",
    citations=(CITATION,),
    spent=Spent(model_calls=2, searches=1),
)


def said(text: str) -> SpecialistOutcome:
    return SpecialistOutcome(messages=(assistant(text),), spent=Spent(model_calls=2))


class Stage:
    """Fake roles with the usual outcomes, and one graph with a memory of its own."""

    def __init__(
        self,
        *,
        gate: Any = ALLOW,
        route: Any = CHOSEN,
        career: Any = (),
        research: Any = (),
        tasks: Any = (),
        clean_up: float = 0.0,
    ) -> None:
        self.guardrail = FakeDecider(*(gate if isinstance(gate, list) else [gate]))
        self.supervisor = FakeDecider(*(route if isinstance(route, list) else [route]))
        self.career = FakeRunner(*career, clean_up=clean_up)
        self.researcher = FakeRunner(*research, clean_up=clean_up)
        self.tasks = FakeRunner(*tasks)
        self.saver = InMemorySaver()
        self.graph: TurnGraph = build_turn(self.saver)
        self.roles = cell_of(
            self.guardrail, self.supervisor, self.career, self.researcher, self.tasks
        )

    def context(self, **fields: Any) -> TurnContext:
        return TurnContext(request=context_of(**fields), tenant=tenant_of(), roles=self.roles)

    async def turn(
        self, text: str = "How?", entry: str | None = None, **fields: Any
    ) -> list[Event]:
        events = run_turn(self.graph, self.context(**fields), [user(text)], entry=entry)
        return [event async for event in events]

    async def history(self) -> list[dict[str, Any]]:
        key = thread_id("acme", "ana", "c1")
        kept = await self.graph.aget_state({"configurable": {"thread_id": key}})
        found: list[dict[str, Any]] = kept.values.get("history", [])
        return found


def steps(events: list[Event]) -> list[str]:
    return [event.step for event in events if isinstance(event, StepStarted)]


def reply(events: list[Event]) -> Reply:
    assert isinstance(events[-1], TurnFinished), events[-1]
    return events[-1].reply
