"""A learning plan for one of the user's objectives: chosen, prepared, confirmed, saved once."""

from __future__ import annotations

import json
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool

from actors.own_data import NO_PROFILE, Directories, caller
from actors.pausing import ToolResult, paused
from actors.record_search import brief
from actors.role_handles import RetrieverHandle
from actors.specialist_run import SpecialistRun
from config.policy import POLICY
from config.prompt_files import phrase
from config.tenants import SpecialistName
from domain.errors import NotFound
from domain.events import Activity
from domain.pauses import Option, PauseQuestion, PauseRequest, Resumption
from domain.records import RecordFilters, RecordHit
from retrieval.directory import LearningPlan

PLAN = "build_learning_plan"
OBJECTIVE, CONFIRM = "objective", "confirm"
SAVE, DISCARD = "save", "discard"
AGENT: SpecialistName = "profile_analysis"


class LearningPlans:
    """The tool and its continuation; every stage keeps what the next one needs."""

    def __init__(self, directories: Directories, retriever: RetrieverHandle) -> None:
        self._directories = directories
        self._retriever = retriever

    def tool(self) -> BaseTool:
        @tool(PLAN, response_format="content_and_artifact")
        async def build_learning_plan(runtime: ToolRuntime[SpecialistRun]) -> ToolResult:
            """Prepare a learning plan from the user's objectives and the catalogue of trainings.

            The user chooses the objective and confirms the plan before it is saved.
            """
            run = runtime.context
            runtime.stream_writer(Activity(code="preparing_plan", agent=AGENT))
            return await self._begin(run)

        return build_learning_plan

    async def take_up(self, run: SpecialistRun, resumption: Resumption) -> ToolResult:
        prepared = resumption.pause.request.prepared
        if OBJECTIVE in resumption.answers:
            chosen = prepared["objectives"][resumption.answers[OBJECTIVE]]
            return await self._propose(run, chosen, prepared["skills"])
        plan = LearningPlan.model_validate(prepared["plan"])
        if resumption.answers[CONFIRM] == DISCARD:
            return json.dumps({"saved": False}), None
        # The interaction's id makes the write happen once, also when a reply after it was lost.
        saved = await self._directories(run.tenant).save_learning_plan(
            caller(run), plan, resumption.pause.interaction_id
        )
        result = {"saved": True, "plan": saved.model_dump(mode="json")}
        return json.dumps(result, ensure_ascii=False), None

    async def _begin(self, run: SpecialistRun) -> ToolResult:
        directory = self._directories(run.tenant)
        try:
            profile = await directory.profile(caller(run))
        except NotFound:
            return NO_PROFILE, None
        objectives = await directory.objectives(caller(run))
        if not objectives:
            return json.dumps({"error": "no_objectives"}), None
        skills = list(profile.skills)
        if len(objectives) == 1:
            return await self._propose(run, objectives[0].shown(), skills)
        shown = {one.id: one.shown() for one in objectives[: POLICY.pause.options]}
        question = PauseQuestion(
            id=OBJECTIVE,
            text=phrase("plan_objective_question", run.context.locale),
            options=tuple(
                Option(value=one, label=str(objective["title"])) for one, objective in shown.items()
            ),
        )
        prepared = {"objectives": shown, "skills": skills}
        return paused(PauseRequest(reason="choice", questions=(question,), prepared=prepared))

    async def _propose(
        self, run: SpecialistRun, objective: dict[str, Any], skills: list[str]
    ) -> ToolResult:
        """The trainings nearest to what the objective still needs, for the user to confirm."""
        known = {skill.casefold() for skill in skills}
        wanted = [skill for skill in objective["skills"] if skill.casefold() not in known]
        query = " ".join([str(objective["title"]), *wanted])
        # A course in the user's own language first; another one only where there is none.
        hits = await self._trainings(run, query, RecordFilters(language=run.context.locale))
        hits = hits or await self._trainings(run, query, RecordFilters())
        if not hits:
            return json.dumps({"error": "no_trainings"}), None
        steps = [brief(hit.record) for hit in hits[: POLICY.records.plan_steps]]
        plan = LearningPlan(
            objective_id=str(objective["id"]),
            objective=str(objective["title"]),
            training_ids=tuple(str(step["id"]) for step in steps),
            steps=tuple(str(step["title"]) for step in steps),
        )
        locale = run.context.locale
        text = phrase("plan_confirm_question", locale).format(
            objective=plan.objective, steps="; ".join(plan.steps)
        )
        options = (
            Option(value=SAVE, label=phrase("plan_save", locale)),
            Option(value=DISCARD, label=phrase("plan_discard", locale)),
        )
        question = PauseQuestion(id=CONFIRM, text=text, options=options)
        prepared = {"plan": plan.model_dump(mode="json")}
        return paused(PauseRequest(reason="confirmation", questions=(question,), prepared=prepared))

    async def _trainings(
        self, run: SpecialistRun, query: str, filters: RecordFilters
    ) -> list[RecordHit]:
        return await self._retriever.search_records(
            run.context.tenant, "trainings", query[: POLICY.records.query_chars], filters
        )
