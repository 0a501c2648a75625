"""The limits of a specialist's loop, as LangChain's own middleware and ours, in their order."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelCallLimitMiddleware,
    ToolCallLimitMiddleware,
)

from actors.pausing import EndingMiddleware
from actors.public_reply import PublicReplyMiddleware
from actors.tool_errors import recovering_middleware
from config.policy import POLICY


def limiting_middleware(*, recovers: bool) -> list[AgentMiddleware[Any, Any]]:
    """A pause ends the loop before a model turn is counted. An extra tool call gets an error result
    and the model can still answer; a model turn too many raises (seed "Specialist call limits")."""
    limits = POLICY.specialist
    chain: list[Any] = [
        EndingMiddleware(),
        ModelCallLimitMiddleware(run_limit=limits.model_calls, exit_behavior="error"),
        ToolCallLimitMiddleware(run_limit=limits.tool_calls, exit_behavior="continue"),
        ContextEditingMiddleware(
            edits=[
                ClearToolUsesEdit(
                    trigger=limits.editing_threshold_tokens, keep=limits.tool_results_kept
                )
            ]
        ),
        PublicReplyMiddleware(),
    ]
    return [*chain, recovering_middleware()] if recovers else chain
