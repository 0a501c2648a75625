"""Task guidance: the user's own tasks, their steps, and passages about how something is done."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool

from actors.role_handles import RetrieverHandle
from actors.specialist import Specialist
from actors.specialist_run import SpecialistRun
from config.settings import Settings
from config.tenants import SpecialistName, TenantConfig
from domain.errors import NotFound, Unavailable
from domain.events import Activity, Event
from domain.messages import Message
from domain.outcomes import SpecialistOutcome
from domain.requests import RequestContext
from providers.interface import Models
from retrieval.directory import TaskDirectory

AGENT: SpecialistName = "task_guidance"


class TaskGuidance:
    """A specialist over the tenant's task directory."""

    def __init__(
        self,
        models: Models,
        settings: Settings,
        retriever: RetrieverHandle,
        directory: TaskDirectory,
    ) -> None:
        tools = task_tools(retriever, directory)
        self._specialist = Specialist(AGENT, tools, models, settings)

    async def prepare(self) -> None:
        await self._specialist.prepare()

    async def run(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        messages: tuple[Message, ...],
        may_hand_off: bool = True,
    ) -> AsyncGenerator[Event | SpecialistOutcome, None]:
        """See :meth:`actors.specialist.Specialist.run`; this specialist never hands over."""
        loop = self._specialist.run(context, tenant, messages)
        async with aclosing(loop) as items:
            async for item in items:
                yield item


def task_tools(retriever: RetrieverHandle, directory: TaskDirectory) -> list[BaseTool]:
    """The specialist's tools; whose tasks they show is decided by the request, not by a model."""

    @tool
    async def list_my_tasks(runtime: ToolRuntime[SpecialistRun]) -> str:
        """List the user's assigned tasks with their status and due date."""
        context = runtime.context.context
        runtime.stream_writer(Activity(code="reading_tasks", agent=AGENT))
        try:
            tasks = await directory.tasks(context.tenant, context.user)
        except Unavailable as failure:
            return _error(failure.code)
        return json.dumps({"tasks": [task.brief() for task in tasks]}, ensure_ascii=False)

    @tool
    async def get_task(task_id: str, runtime: ToolRuntime[SpecialistRun]) -> str:
        """Get one of the user's tasks with its steps and notes.

        Args:
            task_id: the id from ``list_my_tasks``.
        """
        context = runtime.context.context
        runtime.stream_writer(Activity(code="reading_tasks", agent=AGENT))
        try:
            task = await directory.task(context.tenant, context.user, task_id)
        except NotFound:
            return _error("unknown_task")
        except Unavailable as failure:
            return _error(failure.code)
        return json.dumps({"task": task.shown()}, ensure_ascii=False)

    @tool
    async def search_task_knowledge(query: str, runtime: ToolRuntime[SpecialistRun]) -> str:
        """Find passages of the organisation's documents about how something is done.

        Args:
            query: a self-contained query.
        """
        run = runtime.context
        runtime.stream_writer(Activity(code="searching_documents", agent=AGENT))
        if not run.tenant.chatbot.rag.enabled:
            return _error("no_documents")
        try:
            passages = await retriever.search(run.context.tenant, query)
        except Unavailable as failure:
            return _error(failure.code)
        shown = [
            {"title": p.title, "heading": p.heading, "page": p.page, "text": p.text}
            for p in passages
        ]
        return json.dumps({"passages": shown}, ensure_ascii=False)

    return [list_my_tasks, get_task, search_task_knowledge]


def _error(code: str) -> str:
    return json.dumps({"error": code})
