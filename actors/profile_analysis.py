"""Profile analysis: strengths, gaps, action and learning plans."""

from __future__ import annotations

import json

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool

from actors.learning_plan import PLAN, LearningPlans
from actors.own_data import Directories, objectives_tool, profile_tool
from actors.record_search import whole
from actors.role_handles import RetrieverHandle
from actors.specialist_run import SpecialistRun
from actors.toolbox import Toolbox
from config.policy import POLICY
from config.tenants import SpecialistName
from domain.events import Activity
from domain.records import RecordFilters

AGENT: SpecialistName = "profile_analysis"


def profile_tools(directories: Directories, retriever: RetrieverHandle) -> Toolbox:
    plans = LearningPlans(directories, retriever)
    return Toolbox(
        tools=(
            profile_tool(directories, AGENT),
            objectives_tool(directories, AGENT),
            occupation_tool(retriever),
            plans.tool(),
        ),
        continuations={PLAN: plans.take_up},
        pausing=frozenset({PLAN}),
        recovers=True,
    )


def occupation_tool(retriever: RetrieverHandle) -> BaseTool:
    @tool
    async def match_occupation(description: str, runtime: ToolRuntime[SpecialistRun]) -> str:
        """Find the occupations nearest to a description, with the skills that they need.

        Args:
            description: a role, experience or wish, in the user's own words.
        """
        runtime.stream_writer(Activity(code="reading_profile", agent=AGENT))
        hits = await retriever.search_records(
            runtime.context.context.tenant,
            "occupations",
            description[: POLICY.records.query_chars],
            RecordFilters(),
        )
        found = [{**whole(hit.record), "score": round(hit.score, 3)} for hit in hits]
        return json.dumps({"occupations": found}, ensure_ascii=False)

    return match_occupation
