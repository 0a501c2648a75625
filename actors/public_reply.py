"""Middleware that keeps a tool turn private and streams only the final, tool-free one.

A model turn that ends in a tool call must never be shown, and whether it does is known only at its
end. So while tools are bound, the action is selected privately: the model either calls a tool or
calls ``reply_to_user``, a few tokens long, and only then writes its public reply with no tools
bound. Both calls belong to one model turn (seed "Specialist call limits").
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from actors.specialist_run import SpecialistRun
from providers.failures import model_failures

REPLY = "reply_to_user"
REPLY_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": REPLY,
        "description": (
            "Choose this when no other tool is needed now. You write the reply to the user in the "
            "next step."
        ),
        "parameters": {"type": "object", "properties": {}},
    },
}


class PublicReplyMiddleware(AgentMiddleware[AgentState[Any], SpecialistRun]):
    """Selects privately, then writes publicly."""

    async def awrap_model_call(
        self,
        request: ModelRequest[SpecialistRun],
        handler: Callable[[ModelRequest[SpecialistRun]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        run = request.runtime.context
        run.meter.take("model_calls")
        offered = [tool for tool in request.tools if _name(tool) in run.offered]
        if offered:
            with model_failures():
                selection = await handler(
                    request.override(tools=[*offered, REPLY_TOOL], tool_choice="any")
                )
            action = _only_message(selection)
            calls = [call for call in action.tool_calls if call["name"] != REPLY]
            if calls:
                # Text beside a tool call is scratch: it is neither shown nor kept.
                return ModelResponse(
                    result=[action.model_copy(update={"content": "", "tool_calls": calls})]
                )
            if action.text.strip() and not action.tool_calls:
                # A server that cannot force a tool call has already written the reply.
                return selection
        writing = request.override(model=run.public_model, tools=[])
        with model_failures():
            reply = _only_message(await handler(writing))
            if reply.tool_calls and not reply.text.strip():
                # No tool is bound here. A model that makes a call up instead of replying is asked
                # once more; a call beside a reply is no action.
                reply = _only_message(await handler(writing))
        return ModelResponse(result=[reply.model_copy(update={"tool_calls": []})])

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """A model may name any tool; only those that this run offers are executed."""
        name = request.tool_call["name"]
        run = cast(SpecialistRun, request.runtime.context)
        if name in run.offered:
            run.meter.take("tool_calls")
            return await handler(request)
        return ToolMessage(
            json.dumps({"error": "tool_not_available"}),
            tool_call_id=request.tool_call["id"],
            name=name,
            status="error",
        )


def _name(tool: Any) -> str:
    return str(getattr(tool, "name", ""))


def _only_message(response: ModelResponse[Any]) -> AIMessage:
    message = response.result[0]
    if not isinstance(message, AIMessage):
        raise TypeError("a model call gave no assistant message")
    return message
