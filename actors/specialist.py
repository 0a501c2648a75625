"""The bounded model and tool loop that every conversational specialist shares."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import date
from typing import Any, cast

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelCallLimitMiddleware,
    ToolCallLimitMiddleware,
)
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph

from actors.coalesce import coalesced
from actors.conversation import bounded_history, from_langchain
from actors.public_reply import PublicReplyMiddleware
from actors.specialist_run import SpecialistRun
from config import prompt_files
from config.policy import POLICY
from config.settings import Settings
from config.tenants import SpecialistName, TenantConfig
from domain.errors import AllowanceExhausted, ModelUnavailable
from domain.events import Activity, Event, TextDelivered, TextDelta
from domain.messages import Message
from domain.outcomes import Handoff, SpecialistOutcome
from domain.requests import RequestContext
from providers.build import model_name
from providers.interface import PUBLIC_TAG, Models, Task
from providers.labelled_data import labelled
from providers.usage import CallMeter

log = logging.getLogger("manta.specialist")


class Specialist:
    """One specialist: a prompt, its business tools, and the loop with its limits.

    A compiled agent is built once a model and kept, because building costs as much as running.
    """

    def __init__(
        self,
        name: SpecialistName,
        tools: Sequence[BaseTool],
        models: Models,
        settings: Settings,
        *,
        handoff_tool: str | None = None,
    ) -> None:
        self.name = name
        self._task: Task = f"manta.{name}"  # type: ignore[assignment]
        self._tools = tuple(tools)
        self._models = models
        self._settings = settings
        self._handoff_tool = handoff_tool
        self._agents: dict[str, CompiledStateGraph[Any, SpecialistRun, Any, Any]] = {}

    async def prepare(self) -> None:
        """Build the agent of the process's default model before the first request needs it."""
        self._agent(self._settings.mini_model)
        await self._models.prepare([])

    async def run(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        messages: tuple[Message, ...],
        *,
        withheld: frozenset[str] = frozenset(),
        facts: dict[str, Any] | None = None,
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        """Run the loop; yield public events and, last, the outcome.

        Args:
            messages: the conversation, the current user message included.
            withheld: tools not offered in this invocation.
            facts: further request data for the prompt.

        Raises:
            AllowanceExhausted: the loop used up its model turns.
            ModelUnavailable: a model call failed.
        """
        model = model_name(self._settings, tenant, "mini")
        run = SpecialistRun(
            context=context,
            tenant=tenant,
            offered=self._offered(tenant) - withheld,
            public_model=self._models.chat(model, self._task, public=True),
        )
        meter = CallMeter(self._task, self._settings.prices, context.request_id)
        request = labelled(
            "request",
            {"language": context.locale, "date": date.today().isoformat(), **(facts or {})},
        )
        prompt: list[BaseMessage] = [request, *bounded_history(messages)]
        yield Activity(code="writing_reply", agent=self.name)
        async with aclosing(coalesced(self._loop(run, model, prompt, meter))) as items:
            async for item in items:
                yield item

    async def _loop(
        self, run: SpecialistRun, model: str, prompt: list[BaseMessage], meter: CallMeter
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        streamed = False
        final: list[BaseMessage] = []
        try:
            async for mode, item in self._agent(model).astream(
                {"messages": prompt},
                {"callbacks": [meter], "recursion_limit": 8 * POLICY.specialist.model_calls},
                context=run,
                stream_mode=["messages", "custom", "values"],
            ):
                if mode == "values":
                    final = cast(dict[str, Any], item)["messages"]
                elif mode == "custom":
                    yield cast(Event, item)
                else:
                    delta = _public_text(*cast(tuple[BaseMessage, dict[str, Any]], item))
                    if delta:
                        streamed = True
                        yield TextDelta(agent=self.name, text=delta)
        except ModelCallLimitExceededError as error:
            limit = POLICY.specialist.model_calls
            raise AllowanceExhausted("model_calls", limit, self.name) from error
        outcome = self._outcome(final[len(prompt) :], meter)
        if not streamed and not outcome.handoff:
            yield TextDelivered(agent=self.name, text=outcome.text)
        yield outcome

    def _outcome(self, added: Sequence[BaseMessage], meter: CallMeter) -> SpecialistOutcome:
        messages = from_langchain(added)
        asking = next(
            (index for index, m in reversed(list(enumerate(messages))) if m.role == "assistant"), 0
        )
        for call in messages[asking].tool_calls if messages else ():
            if call.name == self._handoff_tool and _recorded(added, call.id):
                # The tool only recorded the transition: its result is what the research gives.
                # Whatever else that message asked for is dropped, one handoff is one call.
                only = messages[asking].model_copy(update={"tool_calls": (call,)})
                return SpecialistOutcome(
                    messages=(*messages[:asking], only),
                    handoff=Handoff(
                        call_id=call.id, question=str(call.arguments.get("question", ""))
                    ),
                    spent=meter.spent,
                )
        if not messages or messages[-1].role != "assistant" or not messages[-1].text.strip():
            raise ModelUnavailable("the model", "empty reply")
        return SpecialistOutcome(messages=messages, spent=meter.spent)

    def _offered(self, tenant: TenantConfig) -> frozenset[str]:
        """The tenant's tools. Excluding every business tool keeps them all and warns; the handoff
        is a transition rather than a business tool and can always be excluded."""
        handoff = frozenset({self._handoff_tool}) if self._handoff_tool else frozenset()
        excluded = tenant.excluded_tools(self.name)
        business = frozenset(tool.name for tool in self._tools) - handoff
        if business and not business - excluded:
            log.warning(
                "tool_exclusion_ignored", extra={"tenant": tenant.tenant, "specialist": self.name}
            )
            return business | (handoff - excluded)
        return (business | handoff) - excluded

    def _agent(self, model: str) -> CompiledStateGraph[Any, SpecialistRun, Any, Any]:
        if model not in self._agents:
            limits = POLICY.specialist
            self._agents[model] = create_agent(
                self._models.chat(model, self._task),
                self._tools,
                system_prompt=prompt_files.text(self.name),
                middleware=[
                    ModelCallLimitMiddleware(  # type: ignore[list-item]
                        run_limit=limits.model_calls, exit_behavior="error"
                    ),
                    ToolCallLimitMiddleware(  # type: ignore[list-item]
                        run_limit=limits.tool_calls, exit_behavior="continue"
                    ),
                    ContextEditingMiddleware(
                        edits=[
                            ClearToolUsesEdit(
                                trigger=limits.editing_threshold_tokens,
                                keep=limits.tool_results_kept,
                            )
                        ]
                    ),
                    PublicReplyMiddleware(),
                ],
                context_schema=SpecialistRun,
            )
        return self._agents[model]


def _recorded(added: Sequence[BaseMessage], call_id: str) -> bool:
    """Whether the tool really ran for this call, and was not refused."""
    return any(
        isinstance(message, ToolMessage)
        and message.tool_call_id == call_id
        and message.status != "error"
        for message in added
    )


def _public_text(message: BaseMessage, metadata: dict[str, Any]) -> str:
    """Text of a public call's chunk; internal model tokens never pass."""
    public = PUBLIC_TAG in (metadata.get("tags") or [])
    return message.text if public and isinstance(message, AIMessageChunk) else ""
