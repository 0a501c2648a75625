"""The bounded model and tool loop that every conversational specialist shares."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import date
from typing import Any, cast

from langchain.agents import create_agent
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain_core.messages import AIMessageChunk, BaseMessage
from langgraph.graph.state import CompiledStateGraph

from actors.coalesce import coalesced
from actors.conversation import bounded_history, from_langchain
from actors.pausing import handoff_call, split_pause, taken_up
from actors.specialist_limits import limiting_middleware
from actors.specialist_run import SpecialistRun
from actors.tool_errors import recovered
from actors.toolbox import Toolbox
from config import prompt_files
from config.policy import POLICY
from config.settings import Settings
from config.tenants import SpecialistName, TenantConfig
from domain.budgets import Meter
from domain.errors import AllowanceExhausted, ModelUnavailable
from domain.events import Activity, Event, TextDelivered, TextDelta
from domain.messages import Message
from domain.outcomes import Handoff, SpecialistOutcome
from domain.requests import RequestContext, SpecialistRequest
from providers.build import model_name
from providers.interface import PUBLIC_TAG, Models, Task
from providers.labelled_data import labelled
from providers.usage import CallMeter

log = logging.getLogger("manta.specialist")


class Specialist:
    """One specialist: a prompt, its tools, and the loop with its limits.

    A compiled agent is built once a model and kept, because building costs as much as running.
    """

    def __init__(
        self, name: SpecialistName, toolbox: Toolbox, models: Models, settings: Settings
    ) -> None:
        self.name = name
        self._task: Task = f"manta.{name}"  # type: ignore[assignment]
        self._toolbox = toolbox
        self._models = models
        self._settings = settings
        self._agents: dict[str, CompiledStateGraph[Any, SpecialistRun, Any, Any]] = {}

    async def prepare(self) -> None:
        """Build the agent of the process's default model before the first request needs it."""
        self._agent(self._settings.mini_model)
        await self._models.prepare([])

    async def run(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        request: SpecialistRequest,
        *,
        withheld: frozenset[str] = frozenset(),
        facts: dict[str, Any] | None = None,
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        """Run the loop; yield public events and, last, the outcome.

        Args:
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
            request=request,
            offered=self._offered(tenant, request) - withheld,
            public_model=self._models.chat(model, self._task, public=True),
            meter=Meter(context.budget, "the request"),
        )
        yield Activity(code="writing_reply", agent=self.name)
        resolved: tuple[Message, ...] = ()
        if request.resumption is not None:
            resolved, again = taken_up(request.resumption, await self._continued(run))
            if again is not None:
                yield SpecialistOutcome(messages=(), pause=again)
                return
        meter = CallMeter(self._task, self._settings.prices, context.request_id)
        prompt = self._prompt(context, request, resolved, facts or {})
        async with aclosing(coalesced(self._loop(run, model, prompt, resolved, meter))) as items:
            async for item in items:
                yield item

    async def _continued(self, run: SpecialistRun) -> tuple[str, dict[str, Any] | None]:
        """Take up the paused call; the tool itself is not called again."""
        resumption = run.request.resumption
        assert resumption is not None
        continuation = self._toolbox.continuations[resumption.pause.tool]
        try:
            return await continuation(run, resumption)
        except Exception as error:
            text = recovered(error) if self._toolbox.recovers else None
            if text is None:
                raise
            return text, None

    def _prompt(
        self,
        context: RequestContext,
        request: SpecialistRequest,
        resolved: tuple[Message, ...],
        facts: dict[str, Any],
    ) -> list[BaseMessage]:
        """Request data first, all of it labelled and untrusted, then the conversation's view."""
        about = {"language": context.locale, "date": date.today().isoformat(), **facts}
        prompt: list[BaseMessage] = [labelled("request", about)]
        if request.facts:
            known = [fact.model_dump(mode="json") for fact in request.facts]
            prompt.append(labelled("preferences", known))
        if request.summary is not None:
            prompt.append(labelled("summary", request.summary.text))
        return [*prompt, *bounded_history((*request.messages, *resolved), self._toolbox.names)]

    async def _loop(
        self,
        run: SpecialistRun,
        model: str,
        prompt: list[BaseMessage],
        resolved: tuple[Message, ...],
        meter: CallMeter,
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        streamed = False
        final: list[BaseMessage] = []
        try:
            async for mode, item in self._agent(model).astream(
                {"messages": prompt},
                {"callbacks": [meter], "recursion_limit": 10 * POLICY.specialist.model_calls},
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
        outcome = self._outcome(final[len(prompt) :], resolved, meter)
        if not streamed and outcome.text:
            yield TextDelivered(agent=self.name, text=outcome.text)
        yield outcome

    def _outcome(
        self, added: Sequence[BaseMessage], resolved: tuple[Message, ...], meter: CallMeter
    ) -> SpecialistOutcome:
        kept, pause = split_pause(added, self.name)
        messages = from_langchain(kept)
        if pause is not None:
            return SpecialistOutcome(
                messages=(*resolved, *messages), pause=pause, spent=meter.spent
            )
        handoff = handoff_call(added)
        if handoff is not None:
            return SpecialistOutcome(
                messages=(*resolved, *_until_call(messages, handoff)),
                handoff=_handoff(messages, handoff),
                spent=meter.spent,
            )
        if not messages or messages[-1].role != "assistant" or not messages[-1].text.strip():
            raise ModelUnavailable("the model", "empty reply")
        return SpecialistOutcome(messages=(*resolved, *messages), spent=meter.spent)

    def _offered(self, tenant: TenantConfig, request: SpecialistRequest) -> frozenset[str]:
        """The tenant's tools. Excluding every business tool keeps them all and warns."""
        excluded = tenant.excluded_tools(self.name)
        offered, ignored = self._toolbox.offered(excluded, interactive=request.interactive)
        if ignored:
            log.warning(
                "tool_exclusion_ignored", extra={"tenant": tenant.tenant, "specialist": self.name}
            )
        return offered

    def _agent(self, model: str) -> CompiledStateGraph[Any, SpecialistRun, Any, Any]:
        if model not in self._agents:
            self._agents[model] = create_agent(
                self._models.chat(model, self._task),
                self._toolbox.tools,
                system_prompt=prompt_files.text(self.name),
                middleware=limiting_middleware(recovers=self._toolbox.recovers),
                context_schema=SpecialistRun,
            )
        return self._agents[model]


def _until_call(messages: Sequence[Message], call_id: str) -> tuple[Message, ...]:
    """The messages up to the one that asked for the handoff, with that call alone: its result is
    what the research gives, and whatever else was asked for beside it is dropped."""
    at = _asking(messages, call_id)
    calls = tuple(call for call in messages[at].tool_calls if call.id == call_id)
    return (*messages[:at], messages[at].model_copy(update={"tool_calls": calls}))


def _handoff(messages: Sequence[Message], call_id: str) -> Handoff:
    asking = messages[_asking(messages, call_id)]
    call = next(call for call in asking.tool_calls if call.id == call_id)
    return Handoff(call_id=call_id, question=str(call.arguments.get("question", "")))


def _asking(messages: Sequence[Message], call_id: str) -> int:
    return next(
        index
        for index, message in enumerate(messages)
        if any(call.id == call_id for call in message.tool_calls)
    )


def _public_text(message: BaseMessage, metadata: dict[str, Any]) -> str:
    """Text of a public call's chunk; internal model tokens never pass."""
    public = PUBLIC_TAG in (metadata.get("tags") or [])
    return message.text if public and isinstance(message, AIMessageChunk) else ""
