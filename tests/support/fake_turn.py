"""A turn over fake roles, with the outcomes that tests use, and a memory of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fake_requests import context_of, tenant_of
from fake_roles import FakeDecider, FakeMemory, FakeRunner, cell_of
from langgraph.checkpoint.memory import InMemorySaver

from domain.answers import Citation, KnowledgeAnswer, Reply
from domain.budgets import Spent
from domain.events import Event, StepStarted, TurnFinished
from domain.messages import Message, ToolCall, assistant, user
from domain.outcomes import GateOutcome, Handoff, RoutingOutcome, SpecialistOutcome
from domain.pauses import Pause, PauseQuestion, PauseRequest, ResumeRequest, Resumption
from domain.preferences import Fact
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
        memory: FakeMemory | None = None,
        facts: tuple[Fact, ...] = (),
        clean_up: float = 0.0,
    ) -> None:
        self.guardrail = FakeDecider(*(gate if isinstance(gate, list) else [gate]))
        self.supervisor = FakeDecider(*(route if isinstance(route, list) else [route]))
        self.career = FakeRunner(*career, clean_up=clean_up)
        self.researcher = FakeRunner(*research, clean_up=clean_up)
        self.tasks = FakeRunner(*tasks)
        self.memory = memory or FakeMemory()
        self.preferences = FakePreferences(facts)
        self.saver = InMemorySaver()
        self.graph: TurnGraph = build_turn(self.saver)
        self.roles = cell_of(
            self.guardrail,
            self.supervisor,
            self.career,
            self.researcher,
            self.tasks,
            self.memory,
        )

    def context(self, **fields: Any) -> TurnContext:
        return TurnContext(
            request=context_of(**fields),
            tenant=tenant_of(),
            roles=self.roles,
            interactive=True,
            preferences=self.preferences,
        )

    async def turn(
        self, text: str = "How?", entry: str | None = None, **fields: Any
    ) -> list[Event]:
        events = run_turn(self.graph, self.context(**fields), [user(text)], entry=entry)
        return [event async for event in events]

    async def resume(
        self, interaction_id: str, payload: Any = None, *, cancelled: bool = False, **fields: Any
    ) -> list[Event]:
        asked = ResumeRequest(interaction_id=interaction_id, payload=payload, cancelled=cancelled)
        events = run_turn(self.graph, self.context(**fields), [], resume=asked)
        return [event async for event in events]

    async def state(self) -> dict[str, Any]:
        key = thread_id("acme", "ana", "c1")
        kept = await self.graph.aget_state({"configurable": {"thread_id": key}})
        return dict(kept.values)

    async def history(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.state()).get("history", [])
        return found


class FakePreferences:
    """One owner's facts in memory; counts versions as the real store does."""

    def __init__(self, facts: tuple[Fact, ...] = ()) -> None:
        self.facts = facts
        self.version = 0
        self.reads: list[tuple[str, str]] = []
        self.error: Exception | None = None

    async def read(self, tenant: str, user: str) -> tuple[tuple[Fact, ...], int]:
        self.reads.append((tenant, user))
        if self.error is not None:
            raise self.error
        return self.facts, self.version

    async def write(
        self, tenant: str, user: str, facts: Sequence[Fact], expected_version: int
    ) -> bool:
        if expected_version != self.version:
            return False
        self.facts, self.version = tuple(facts), self.version + 1
        return True


def pausing(*questions: str, call_id: str = "call-9", **prepared: Any) -> SpecialistOutcome:
    """An outcome whose call waits for the user."""
    asked = tuple(
        PauseQuestion(id=f"q{number}", text=text) for number, text in enumerate(questions, 1)
    )
    calling = ToolCall(id=call_id, name="request_clarification", arguments={})
    return SpecialistOutcome(
        messages=(Message(role="assistant", text="", tool_calls=(calling,)),),
        pause=Pause(
            interaction_id=f"i-{call_id}",
            specialist="career_chat",
            tool="request_clarification",
            call_id=call_id,
            request=PauseRequest(reason="clarification", questions=asked, prepared=prepared),
        ),
        spent=Spent(model_calls=1),
    )


def answering(resumption: Resumption, text: str) -> SpecialistOutcome:
    """What a specialist gives for a resumed call: its result, the exchange, and the reply."""
    result = Message(
        role="tool",
        text="{}",
        tool_call_id=resumption.pause.call_id,
        tool_name=resumption.pause.tool,
    )
    return SpecialistOutcome(messages=(result, *resumption.exchange(), assistant(text)))


def steps(events: list[Event]) -> list[str]:
    return [event.step for event in events if isinstance(event, StepStarted)]


def reply(events: list[Event]) -> Reply:
    assert isinstance(events[-1], TurnFinished), events[-1]
    return events[-1].reply
