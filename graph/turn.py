"""The graph of a turn. Run ``python -m graph.turn`` to print it as Mermaid."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import TimeoutPolicy

from config.policy import POLICY, NodeLimits
from config.tenants import SPECIALISTS
from graph import endings, nodes, routing
from graph.state import TurnContext, TurnState

TurnGraph = CompiledStateGraph[TurnState, TurnContext, TurnState, TurnState]


def build_turn(
    saver: BaseCheckpointSaver[Any] | None, limits: NodeLimits = POLICY.nodes
) -> TurnGraph:
    """Compile the turn; with ``None`` nothing is kept between turns.

    An entry fixed to one specialist (``<name>_subgraph`` in the seeds) is the same graph with
    ``entry`` set in its input: the gate runs, the supervisor does not.
    """
    graph: StateGraph[TurnState, TurnContext, TurnState, TurnState] = StateGraph(
        TurnState, context_schema=TurnContext
    )
    graph.set_node_defaults(error_handler=nodes.stop)  # type: ignore[arg-type]
    graph.add_node("gate", nodes.gate, timeout=TimeoutPolicy(run_timeout=limits.gate))
    graph.add_node("memory", nodes.memory)
    graph.add_node(
        "supervisor", nodes.supervisor, timeout=TimeoutPolicy(run_timeout=limits.supervisor)
    )
    for name in SPECIALISTS:
        graph.add_node(
            name,
            nodes.specialist(name),
            timeout=TimeoutPolicy(run_timeout=limits.specialist),
        )
    graph.add_node(
        "knowledge",
        nodes.knowledge,
        timeout=TimeoutPolicy(run_timeout=limits.knowledge),
        error_handler=nodes.knowledge_unavailable,
    )
    graph.add_node("await_answers", endings.await_answers)
    graph.add_node("deliver", endings.deliver)

    graph.add_conditional_edges(START, routing.after_start, ["gate", "deliver"])
    graph.add_conditional_edges(
        "gate", routing.after_gate, ["memory", "supervisor", *SPECIALISTS, "deliver"]
    )
    graph.add_conditional_edges("supervisor", routing.after_supervisor, list(SPECIALISTS))
    for name in SPECIALISTS:
        targets = ["await_answers", "deliver"]
        if name == routing.CAREER_CHAT:
            targets.append("knowledge")
        graph.add_conditional_edges(name, routing.after_specialist, targets)
    graph.add_conditional_edges("knowledge", routing.after_knowledge, ["career_chat", "deliver"])
    graph.add_edge("memory", END)
    graph.add_edge("await_answers", END)
    graph.add_edge("deliver", END)
    return graph.compile(checkpointer=saver, name="turn")


def drawing() -> str:
    """The compiled graph as Mermaid; handlers, which no edge leads to, are left out."""
    lines = build_turn(None).get_graph().draw_mermaid(with_styles=False).splitlines()
    return "\n".join(line for line in lines if "error_handler" not in line)


if __name__ == "__main__":
    print(drawing())
