"""Pauses inside a specialist's loop: how a tool asks, how the loop ends, how a call goes on.

A tool that needs its user gives back a request instead of a result. The loop then ends before the
next model turn, the request leaves the actor as a value, and nothing waits. When the answers come,
the tool's continuation takes up what was prepared; the tool itself is not called again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.runtime import Runtime

from actors.specialist_run import SpecialistRun
from domain.messages import Message
from domain.pauses import Pause, PauseRequest, Resumption

ToolResult = tuple[str, dict[str, Any] | None]
"""What a tool gives back: the text that a model reads, and the artifact that only code reads."""

Continuation = Callable[[SpecialistRun, Resumption], Awaitable[ToolResult]]
"""Takes up a paused call with its answers; it may pause again."""

_PAUSE = "pause"
_HANDOFF = "handoff"


def paused(request: PauseRequest) -> ToolResult:
    """The result of a tool that waits for its user."""
    return "waiting for the user", {_PAUSE: request.model_dump(mode="json")}


def handed_over() -> ToolResult:
    """The result of a tool that only records a transition: somebody else gives the real one."""
    return "recorded", {_HANDOFF: True}


class EndingMiddleware(AgentMiddleware[AgentState[Any], SpecialistRun]):
    """Ends the loop once a tool waits for the user or for another specialist."""

    @hook_config(can_jump_to=["end"])
    async def abefore_model(
        self, state: AgentState[Any], runtime: Runtime[SpecialistRun]
    ) -> dict[str, Any] | None:
        latest = state["messages"]
        ends = _waiting(latest, _PAUSE) or _waiting(latest, _HANDOFF)
        return {"jump_to": "end"} if ends else None


def handoff_call(messages: Sequence[BaseMessage]) -> str | None:
    """The id of the call that handed over; a call that was refused did not."""
    waiting = _waiting(messages, _HANDOFF)
    return waiting.tool_call_id if waiting else None


def _waiting(messages: Sequence[BaseMessage], what: str) -> ToolMessage | None:
    """The first call of the last model turn whose result somebody else gives."""
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        results.append(message)
    return next((result for result in reversed(results) if _holds(result.artifact, what)), None)


def split_pause(
    messages: Sequence[BaseMessage], specialist: str
) -> tuple[list[BaseMessage], Pause | None]:
    """The messages without the call's placeholder, and the pause it stands for.

    One turn asks for one thing: of two calls that wait, the first that asks the user is asked about
    and the other is refused, which its model may read and repeat later.
    """
    waiting = _waiting(messages, _PAUSE)
    if waiting is None:
        return list(messages), None
    kept: list[BaseMessage] = []
    for message in messages:
        if message is waiting:
            continue
        if isinstance(message, ToolMessage) and (
            _holds(message.artifact, _PAUSE) or _holds(message.artifact, _HANDOFF)
        ):
            message = message.model_copy(
                update={"content": '{"error": "one_question_at_a_time"}', "artifact": None}
            )
        kept.append(message)
    request = PauseRequest.model_validate(waiting.artifact[_PAUSE])
    return kept, opened(request, specialist, waiting.name or "", waiting.tool_call_id)


def opened(
    request: PauseRequest,
    specialist: str,
    tool: str,
    call_id: str,
    exchange: tuple[Message, ...] = (),
) -> Pause:
    """A pause under a public id of its own; it has nothing to do with any internal id."""
    return Pause(
        interaction_id=uuid4().hex,
        specialist=specialist,
        tool=tool,
        call_id=call_id,
        request=request,
        exchange=exchange,
    )


def taken_up(
    resumption: Resumption, result: ToolResult
) -> tuple[tuple[Message, ...], Pause | None]:
    """What a continued call adds: its result and then the whole exchange, or a further pause.

    The exchange follows the resolved pair of call and result, because providers accept nothing
    between the two (seed "Generic user interruptions").
    """
    content, artifact = result
    pause = resumption.pause
    if _holds(artifact, _PAUSE):
        request = PauseRequest.model_validate((artifact or {})[_PAUSE])
        exchange = resumption.exchange()
        return (), opened(request, pause.specialist, pause.tool, pause.call_id, exchange)
    resolved = Message(
        role="tool",
        text=content,
        tool_call_id=pause.call_id,
        tool_name=pause.tool,
        artifact=artifact,
    )
    return (resolved, *resumption.exchange()), None


def _holds(artifact: Any, what: str) -> bool:
    return isinstance(artifact, dict) and what in artifact
