"""The advisor's own graph. Run ``python -m actors.campus.graph`` to print it as Mermaid."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from actors.campus import nodes, routing
from actors.campus.routing import GENERATE
from actors.campus.run import CampusRun, CampusState

CampusGraph = CompiledStateGraph[CampusState, CampusRun, CampusState, CampusState]


def build_campus() -> CampusGraph:
    """Compile the graph. What its nodes work with comes with each run."""
    graph: StateGraph[CampusState, CampusRun, CampusState, CampusState] = StateGraph(
        CampusState, context_schema=CampusRun
    )
    graph.add_node("agent", nodes.agent)
    graph.add_node("tools", nodes.tools)
    graph.add_node("grade", nodes.grade)
    graph.add_node("rewrite", nodes.rewrite)
    graph.add_node("judge", nodes.judge)
    for name in GENERATE.values():
        graph.add_node(name, nodes.generate)
    graph.add_node("close", nodes.close)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", routing.after_agent, ["tools", "judge"])
    graph.add_edge("tools", "grade")
    graph.add_conditional_edges(
        "grade", routing.after_grade, [*GENERATE.values(), "rewrite", "close"]
    )
    graph.add_edge("rewrite", "agent")
    graph.add_conditional_edges("judge", routing.after_judge, ["agent", "close", END])
    for name in (*GENERATE.values(), "close"):
        graph.add_edge(name, END)
    return graph.compile(name="campus")


def drawing() -> str:
    """The compiled graph as Mermaid."""
    return build_campus().get_graph().draw_mermaid(with_styles=False).strip()


if __name__ == "__main__":
    print(drawing())
