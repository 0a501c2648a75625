"""The researcher role: one bounded research, from a question to a validated answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import date
from typing import Any, cast

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph.state import CompiledStateGraph

from actors.page_source import PageSource
from actors.pump import pumped
from actors.research_run import ResearchRun
from actors.research_tools import AGENT, read_knowledge_page, search_knowledge
from actors.role_handles import CrawlerHandle, PageCacheHandle, RetrieverHandle
from actors.structured_answer import (
    AnswerRejected,
    StructuredAnswer,
    validated_citations,
)
from config import prompt_files
from config.policy import POLICY
from config.settings import Settings
from config.tenants import TenantConfig
from crawler.session import BrowsingSession
from domain.answers import KnowledgeAnswer
from domain.budgets import Budget, Meter
from domain.errors import AllowanceExhausted, MantaError
from domain.events import Activity, Event
from domain.messages import Message
from domain.requests import RequestContext
from providers.build import model_name
from providers.failures import model_failures
from providers.interface import Models
from providers.labelled_data import labelled
from providers.usage import CallMeter

log = logging.getLogger("manta.research")


class ResearchBudgetMiddleware(AgentMiddleware[AgentState[Any], ResearchRun]):
    """Counts model calls where they are made; the last one is offered the answer tool only."""

    async def awrap_model_call(
        self,
        request: ModelRequest[ResearchRun],
        handler: Callable[[ModelRequest[ResearchRun]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        meter = request.runtime.context.meter
        meter.take("model_calls")
        if meter.left("model_calls") == 0:
            request = request.override(tools=[])
        with model_failures():
            return await handler(request)


class Researcher:
    """Owns each run's evidence, budget and browsing session; lives with the process itself."""

    def __init__(
        self,
        models: Models,
        settings: Settings,
        retriever: RetrieverHandle,
        cache: PageCacheHandle,
        crawlers: CrawlerHandle,
    ) -> None:
        self._models = models
        self._settings = settings
        self._retriever = retriever
        self._cache = cache
        self._crawlers = crawlers
        self._agents: dict[str, CompiledStateGraph[Any, ResearchRun, Any, Any]] = {}

    async def prepare(self) -> None:
        """Build the agent of the process's default model before the first request needs it."""
        self._agent(self._settings.mini_model)
        await self._models.prepare([])

    async def run(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        question: str,
        messages: tuple[Message, ...],
    ) -> AsyncGenerator[Event | KnowledgeAnswer, None]:
        """Research ``question``; yield public events and, last, the answer.

        Failures end in an ``unavailable`` answer, never in an error: only a cancellation passes.

        Args:
            messages: the conversation; earlier user messages recover the question of a retry,
                earlier assistant statements are no evidence.
        """
        meter = Meter(_budget(context.budget), "the research")
        calls = CallMeter("manta.research", self._settings.prices, context.request_id)
        session = self._session(context, tenant, meter.budget)
        run = ResearchRun(context, tenant, meter, session, self._retriever)
        draft: StructuredAnswer | None = None
        try:
            # Also for direct entries: without a source no model and no embedding is called.
            readiness = await self._retriever.knowledge(tenant)
            if readiness.offered:
                loop = pumped(
                    self._loop(run, question, messages, calls), seconds=meter.seconds_left()
                )
                async with aclosing(loop) as items:
                    async for item in items:
                        if isinstance(item, StructuredAnswer):
                            draft = item
                        else:
                            yield item
                if len(run.evidence) > 1:
                    yield Activity(code="comparing_sources", agent=AGENT)
                yield Activity(code="preparing_answer", agent=AGENT)
                answer = self._judged(run, draft)
            elif readiness.documents == "unavailable":
                answer = KnowledgeAnswer(status="unavailable", code="no_source")
            else:
                answer = KnowledgeAnswer(status="unanswerable", code="no_source")
        except TimeoutError:
            answer = KnowledgeAnswer(status="unavailable", code="deadline")
        except AllowanceExhausted as exhausted:
            answer = self._without_answer(run, f"{exhausted.allowance}_limit")
        except MantaError as error:
            answer = KnowledgeAnswer(status="unavailable", code=error.code)
        meter.add(calls.spent.model_copy(update={"model_calls": 0}))
        budget = session.web_budget()
        reads = (meter.budget.reads or 0) - budget.remaining_reads
        spent = meter.spent().model_copy(update={"page_attempts": budget.used, "reads": reads})
        log.info(
            "research_completed",
            extra={
                "request_id": context.request_id,
                "tenant": context.tenant,
                "status": answer.status,
                "code": answer.code,
                "cited": len(answer.citations),
                "evidence": len(run.evidence),
                "model_calls": spent.model_calls,
                "page_attempts": spent.page_attempts,
                "reads": spent.reads,
                "seconds": round(spent.seconds, 3),
            },
        )
        yield answer.model_copy(update={"spent": spent})

    async def _loop(
        self,
        run: ResearchRun,
        question: str,
        messages: tuple[Message, ...],
        calls: CallMeter,
    ) -> AsyncGenerator[Event | StructuredAnswer, None]:
        model = model_name(self._settings, run.tenant, "mini")
        prompt = _prompt(run.context, question, messages)
        final: dict[str, Any] = {}
        async for mode, item in self._agent(model).astream(
            {"messages": prompt},
            {"callbacks": [calls], "recursion_limit": 8 * POLICY.research.model_calls},
            context=run,
            stream_mode=["custom", "values"],
        ):
            if mode == "custom":
                yield cast(Event, item)
            else:
                final = cast(dict[str, Any], item)
        draft = final.get("structured_response")
        if isinstance(draft, StructuredAnswer):
            yield draft

    def _judged(self, run: ResearchRun, draft: StructuredAnswer | None) -> KnowledgeAnswer:
        """The model's declared status beside what holds structurally."""
        if draft is None:
            return self._without_answer(run, "no_structured_answer")
        log.info(
            "research_declared",
            extra={
                "request_id": run.context.request_id,
                "declared": draft.status,
                "cited": len(draft.citations),
            },
        )
        if draft.status != "answered":
            if draft.status == "unavailable" and not run.has_failures():
                return KnowledgeAnswer(status="unanswerable", code="declared")
            if draft.status == "unanswerable" and run.source_failed():
                return KnowledgeAnswer(
                    status="unavailable", code="source_failed", limitation=draft.limitation
                )
            return KnowledgeAnswer(
                status=draft.status, limitation=draft.limitation, code="declared"
            )
        try:
            citations = validated_citations(draft, run.evidence)
        except AnswerRejected as rejected:
            log.warning(
                "answer_rejected",
                extra={"request_id": run.context.request_id, "code": rejected.code},
            )
            return self._without_answer(run, rejected.code)
        return KnowledgeAnswer(
            status="answered",
            answer=draft.answer.strip(),
            citations=citations,
            limitation=draft.limitation,
        )

    def _without_answer(self, run: ResearchRun, code: str) -> KnowledgeAnswer:
        """A miss, or an unavailability when a source that might have answered did not respond."""
        status = "unavailable" if run.source_failed() else "unanswerable"
        return KnowledgeAnswer(status=status, code=code)

    def _session(
        self, context: RequestContext, tenant: TenantConfig, budget: Budget
    ) -> BrowsingSession:
        """A session within the tenant's configuration and the request's allowances."""
        web = tenant.web
        narrowed = web.model_copy(
            update={
                "max_pages": _least(web.max_pages, budget.page_attempts),
                "max_pages_per_source": _least(
                    web.max_pages_per_source, budget.page_attempts_per_source
                ),
            }
        )
        research = POLICY.research
        limits = replace(
            POLICY,
            research=replace(
                research,
                seconds=_least(research.seconds, budget.seconds),
                reads=_least(research.reads, budget.reads),
            ),
        )
        pages = PageSource(tenant.tenant, web, self._cache, self._crawlers)
        return BrowsingSession(narrowed, pages.fetch, limits=limits, request_id=context.request_id)

    def _agent(self, model: str) -> CompiledStateGraph[Any, ResearchRun, Any, Any]:
        if model not in self._agents:
            self._agents[model] = create_agent(
                self._models.chat(model, "manta.research"),
                [search_knowledge, read_knowledge_page],
                system_prompt=prompt_files.text("research"),
                middleware=[ResearchBudgetMiddleware()],
                response_format=ToolStrategy(StructuredAnswer),
                context_schema=ResearchRun,
            )
        return self._agents[model]


def _budget(asked: Budget) -> Budget:
    limits = POLICY.research
    return asked.narrowed(
        seconds=limits.seconds,
        model_calls=limits.model_calls,
        searches=limits.searches,
        reads=limits.reads,
    )


def _least(limit: Any, allowed: Any) -> Any:
    return limit if allowed is None else min(limit, allowed)


def _prompt(
    context: RequestContext, question: str, messages: tuple[Message, ...]
) -> list[BaseMessage]:
    """Request data, the conversation as labelled data, and the question as the user's message."""
    recent = [
        {"role": message.role, "text": message.text}
        for message in messages
        if message.role != "tool" and message.text.strip()
    ][-POLICY.gate.recent_messages :]
    return [
        labelled("request", {"language": context.locale, "date": date.today().isoformat()}),
        labelled(
            "conversation",
            {"note": "assistant statements are not evidence", "messages": recent},
        ),
        HumanMessage(question),
    ]
