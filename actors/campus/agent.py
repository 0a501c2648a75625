"""The agent node: what to look for, or an answer that needs no looking."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from actors.campus.offered_tools import offered_tools
from actors.campus.run import CampusRun
from actors.conversation import to_langchain
from config import prompt_files
from domain.errors import ModelUnavailable
from domain.messages import Message
from providers.failures import model_failures
from providers.labelled_data import labelled


async def decided(run: CampusRun, added: Sequence[BaseMessage]) -> AIMessage:
    """One call with the tools bound: tool calls, or a text without one.

    Raises:
        ModelUnavailable: the call failed.
    """
    run.meter.take("model_calls")
    chat = run.services.models.chat(run.model, "manta.campus_advisor")
    tools = offered_tools(run.tenant)
    bound = chat.bind_tools(tools) if tools else chat
    with model_failures():
        reply = await bound.ainvoke(agent_prompt(run, added), {"callbacks": [run.calls]})
    return calls_or_text(reply)


def calls_or_text(reply: BaseMessage) -> AIMessage:
    """A reply as a loop keeps it: its tool calls, or else its text.

    Text beside a call is scratch. A call whose arguments are no JSON stays a call, without
    arguments: it fails as any call with wrong ones does, and has a result under its id, without
    which a provider would refuse the next request.

    Raises:
        ModelUnavailable: it is no reply of a model.
    """
    if not isinstance(reply, AIMessage):
        raise ModelUnavailable("the model", "malformed reply")
    calls = [(call["id"], call["name"], call["args"]) for call in reply.tool_calls]
    calls += [(call["id"], call["name"] or "unknown", {}) for call in reply.invalid_tool_calls]
    if not calls:
        return AIMessage(reply.text)
    return AIMessage(
        "",
        tool_calls=[
            {"id": call_id or f"call_{uuid4().hex[:12]}", "name": name, "args": arguments}
            for call_id, name, arguments in calls
        ],
    )


def agent_prompt(run: CampusRun, added: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The system message of this turn, the capped history, and what the turn has added.

    The system message is built anew each time and kept nowhere. Of the history only the latest
    texts are seen, the current question among them.
    """
    request = {"date": date.today().isoformat(), "language": run.context.locale}
    system = SystemMessage(
        "\n\n".join(
            [
                prompt_files.text("campus_advisor"),
                _block({**request, "question": run.question, "organisation": run.tenant.name}),
            ]
        )
    )
    history = to_langchain(texts_of(run.request.messages)[-run.campus.history_messages :])
    specialists = [one.name for one in run.campus.active_subagents]
    data: list[BaseMessage] = [labelled("request", {**request, "specialists": specialists})]
    if run.request.facts:
        known = [fact.model_dump(mode="json") for fact in run.request.facts]
        data.append(labelled("preferences", known))
    if run.request.summary is not None:
        data.append(labelled("summary", run.request.summary.text))
    return validated([system, *data, *history, *added])


def texts_of(messages: Sequence[Message]) -> list[Message]:
    """What was said, without the tool records of earlier turns."""
    return [
        message.model_copy(update={"tool_calls": ()})
        for message in messages
        if message.role != "tool" and message.text.strip()
    ]


def validated(prompt: list[BaseMessage]) -> list[BaseMessage]:
    """Raises ValueError unless exactly one system message, ours and not empty, comes first, and a
    person's question is in the prompt."""
    systems = [message for message in prompt if isinstance(message, SystemMessage)]
    if len(systems) != 1 or prompt[0] is not systems[0] or not systems[0].text.strip():
        raise ValueError("a prompt has one system message, and it comes first")
    if not any(isinstance(message, HumanMessage) for message in prompt[1:]):
        raise ValueError("a prompt holds what the user said")
    return prompt


def _block(payload: dict[str, Any]) -> str:
    """The turn's own data inside the instructions, in the form that they call untrusted."""
    body = json.dumps(payload, ensure_ascii=False).replace("<", "\\u003c")
    return f'<data label="turn">\n{body}\n</data>'
