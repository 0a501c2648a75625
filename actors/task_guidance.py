"""Task guidance: the user's own tasks, their steps, and passages about how something is done."""

from __future__ import annotations

import json

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool

from actors.own_data import Directories, caller
from actors.role_handles import RetrieverHandle
from actors.specialist_run import SpecialistRun
from actors.toolbox import Toolbox
from config.tenants import SpecialistName
from domain.events import Activity

AGENT: SpecialistName = "task_guidance"


def task_tools(directories: Directories, retriever: RetrieverHandle) -> Toolbox:
    """Whose tasks are shown is decided by the request, not by a model."""

    @tool
    async def list_my_tasks(runtime: ToolRuntime[SpecialistRun]) -> str:
        """List the user's assigned tasks with their status and due date."""
        run = runtime.context
        runtime.stream_writer(Activity(code="reading_tasks", agent=AGENT))
        tasks = await directories(run.tenant).tasks(caller(run))
        return json.dumps({"tasks": [task.brief() for task in tasks]}, ensure_ascii=False)

    @tool
    async def get_task(task_id: str, runtime: ToolRuntime[SpecialistRun]) -> str:
        """Get one of the user's tasks with its steps and notes.

        Args:
            task_id: the id from ``list_my_tasks``.
        """
        run = runtime.context
        runtime.stream_writer(Activity(code="reading_tasks", agent=AGENT))
        task = await directories(run.tenant).task(caller(run), task_id)
        return json.dumps({"task": task.shown()}, ensure_ascii=False)

    return Toolbox(tools=(list_my_tasks, get_task, passages_tool(retriever)), recovers=True)


def passages_tool(retriever: RetrieverHandle) -> BaseTool:
    @tool
    async def search_knowledge(query: str, runtime: ToolRuntime[SpecialistRun]) -> str:
        """Find passages of the organisation's documents about how something is done.

        Args:
            query: a self-contained query.
        """
        run = runtime.context
        runtime.stream_writer(Activity(code="searching_documents", agent=AGENT))
        if not run.tenant.chatbot.rag.enabled:
            return json.dumps({"error": "no_documents"})
        passages = await retriever.search(run.context.tenant, query)
        shown = [
            {"title": p.title, "heading": p.heading, "page": p.page, "text": p.text}
            for p in passages
        ]
        return json.dumps({"passages": shown}, ensure_ascii=False)

    return search_knowledge
