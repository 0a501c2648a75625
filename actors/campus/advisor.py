"""The campus advisor role: a university's assistant for applicants and students."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from actors.campus.grading import Grader, grading_question
from actors.campus.graph import build_campus
from actors.campus.judging import Judge, judge_question
from actors.campus.link_proposals import LinkProposals
from actors.campus.mcp_services import McpServices
from actors.campus.query_cache import QueryCache
from actors.campus.run import CampusRun, CampusServices, CampusState
from actors.campus.subagents import Subagents
from actors.campus.web import WebSearch
from actors.coalesce import coalesced
from actors.page_source import PageSource
from actors.role_handles import CrawlerHandle, PageCacheHandle, RetrieverHandle
from config.policy import POLICY
from config.settings import Settings
from config.tenants import TenantConfig
from crawler.session import BrowsingSession
from domain.budgets import Budget, Meter, Spent
from domain.errors import InvalidConfiguration, ModelUnavailable
from domain.events import Event
from domain.messages import assistant, latest_user_text
from domain.outcomes import SpecialistOutcome
from domain.requests import RequestContext, SpecialistRequest
from providers.build import model_name
from providers.interface import Models
from providers.usage import CallMeter


class CampusAdvisor:
    """Owns each turn's evidence and browsing; lives with the process itself."""

    def __init__(
        self,
        models: Models,
        settings: Settings,
        retriever: RetrieverHandle,
        cache: PageCacheHandle,
        crawlers: CrawlerHandle,
        queries: QueryCache,
    ) -> None:
        keys = settings.service_keys
        self._settings = settings
        self._cache = cache
        self._crawlers = crawlers
        self._proposals = LinkProposals(keys, settings.connect_to)
        self._services = CampusServices(
            models=models,
            retriever=retriever,
            web=WebSearch(models.embedder, queries, self._proposals),
            subagents=Subagents(models, McpServices(keys, settings.connect_to)),
            grader=Grader(models),
            judge=Judge(models),
            shown_urls=settings.shown_urls,
        )
        self._graph = build_campus()

    async def prepare(self) -> None:
        await self._services.models.prepare([grading_question(), judge_question()])

    async def run(
        self, context: RequestContext, tenant: TenantConfig, request: SpecialistRequest
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        """One turn of the graph; public events and, last, the outcome.

        Raises:
            InvalidConfiguration: the tenant configures no campus.
            ModelUnavailable: a model call failed.
            AllowanceExhausted: the request's own budget ran out.
        """
        campus = tenant.chatbot.campus
        if campus is None:
            raise InvalidConfiguration(
                "chatbot.campus", "is not configured", "configure it, or disable the advisor"
            )
        meter = Meter(_budget(context.budget, tenant), "the campus advisor")
        run = CampusRun(
            context=context,
            tenant=tenant,
            campus=campus,
            request=request,
            question=latest_user_text(request.messages),
            model=model_name(self._settings, tenant, "mini"),
            services=self._services,
            session=self._session(tenant, context, meter.budget),
            meter=meter,
            calls=CallMeter("manta.campus_advisor", self._settings.prices, context.request_id),
        )
        async with aclosing(coalesced(self._loop(run))) as items:
            async for item in items:
                yield item

    async def close(self) -> None:
        await self._proposals.close()

    async def _loop(self, run: CampusRun) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        final: CampusState = {}
        # LangGraph's own limit only guards against a defect: the tenant's is counted in the state.
        config: Any = {"recursion_limit": 2 * run.campus.recursion_limit + 10}
        stream = self._graph.astream(
            CampusState(messages=[], visits=0, lap=0),
            config,
            context=run,
            stream_mode=["custom", "values"],
        )
        async with aclosing(cast(AsyncGenerator[Any, None], stream)) as items:
            async for mode, item in items:
                if mode == "custom":
                    yield cast(Event, item)
                else:
                    final = cast(CampusState, item)
        text = final.get("text", "").strip()
        if not text:
            raise ModelUnavailable("the model", "empty reply")
        yield SpecialistOutcome(
            messages=(assistant(text),), knowledge=final.get("answer"), spent=_spent(run)
        )

    def _session(
        self, tenant: TenantConfig, context: RequestContext, budget: Budget
    ) -> BrowsingSession:
        """A session within the tenant's configuration and the request's allowances."""
        narrowed = tenant.web.model_copy(
            update={
                "max_pages": budget.page_attempts,
                "max_pages_per_source": budget.page_attempts_per_source,
            }
        )
        allowed: Any = {"seconds": budget.seconds, "reads": budget.reads}
        limits = replace(POLICY, research=replace(POLICY.research, **allowed))
        pages = PageSource(tenant.tenant, tenant.web, self._cache, self._crawlers)
        return BrowsingSession(narrowed, pages.fetch, limits=limits, request_id=context.request_id)


def _budget(asked: Budget, tenant: TenantConfig) -> Budget:
    return asked.narrowed(
        seconds=POLICY.nodes.specialist,
        tool_calls=POLICY.campus.tool_calls,
        reads=POLICY.campus.reads,
        page_attempts=tenant.web.max_pages,
        page_attempts_per_source=tenant.web.max_pages_per_source,
    )


def _spent(run: CampusRun) -> Spent:
    """What the turn used. Model calls are counted where they are allowed, their tokens where they
    are made; the turn's own clock measures its time."""
    web = run.session.web_budget()
    reads = (run.meter.budget.reads or 0) - web.remaining_reads
    spent = run.meter.spent() + run.calls.spent.model_copy(update={"model_calls": 0})
    return spent.model_copy(update={"page_attempts": web.used, "reads": reads, "seconds": 0.0})
