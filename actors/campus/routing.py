"""Pure routing of the advisor's graph, and how far its loop may go.

The tenant's recursion limit bounds the nodes that the loop visits. It goes on only while a further
search fits: no rewrite and no return to the agent that could not be searched for any more. What a
search delivered is always graded, and what is relevant always answered from: it was paid for.
"""

from __future__ import annotations

from langchain_core.messages import AIMessage
from langgraph.graph import END
from langgraph.runtime import Runtime

from actors.campus.grading import RELEVANT
from actors.campus.judging import JUSTIFIED
from actors.campus.run import About, CampusRun, CampusState

GENERATE: dict[About, str] = {
    "general": "generate",
    "application": "generate_application",
    "teaching": "generate_teaching",
}
SEARCH = 2
"""Nodes of another search: agent and tools."""
REWRITTEN_SEARCH = 3
"""The same after a rewrite."""


def last_call(state: CampusState) -> AIMessage:
    return next(m for m in reversed(state["messages"]) if isinstance(m, AIMessage))


def after_agent(state: CampusState) -> str:
    return "tools" if last_call(state).tool_calls else "judge"


def after_grade(state: CampusState, runtime: Runtime[CampusRun]) -> str:
    if state["verdict"] == RELEVANT:
        return GENERATE[runtime.context.about]
    return "rewrite" if _room(state, runtime.context, REWRITTEN_SEARCH) else "close"


def after_judge(state: CampusState, runtime: Runtime[CampusRun]) -> str:
    if state["verdict"] == JUSTIFIED:
        return END
    return "agent" if _room(state, runtime.context, SEARCH) else "close"


def _room(state: CampusState, run: CampusRun, nodes: int) -> bool:
    return state["visits"] + nodes <= run.campus.recursion_limit
