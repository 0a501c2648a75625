"""Person disambiguation: which of several people is meant."""

from __future__ import annotations

import json
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool

from actors.pausing import ToolResult, paused
from actors.record_search import brief, whole
from actors.role_handles import RetrieverHandle
from actors.specialist_run import SpecialistRun
from actors.toolbox import Toolbox
from config.policy import POLICY
from config.prompt_files import phrase
from config.tenants import SpecialistName
from domain.errors import NotFound
from domain.events import Activity
from domain.pauses import Option, PauseQuestion, PauseRequest, Resumption
from domain.records import Record, RecordFilters
from retrieval.records.folding import folded

AGENT: SpecialistName = "person_disambiguation"
CHOOSE = "choose_person"
QUESTION = "person"
NOBODY = "nobody"


def person_tools(retriever: RetrieverHandle) -> Toolbox:
    chosen = PersonChoice(retriever)
    return Toolbox(
        tools=(chosen.find_tool(), chosen.choose_tool()),
        continuations={CHOOSE: chosen.take_up},
        pausing=frozenset({CHOOSE}),
    )


class PersonChoice:
    """Finds the people of a name, and lets the user say which of them is meant."""

    def __init__(self, retriever: RetrieverHandle) -> None:
        self._retriever = retriever

    def find_tool(self) -> BaseTool:
        @tool
        async def find_person(
            name: str, runtime: ToolRuntime[SpecialistRun], place: str | None = None
        ) -> str:
            """Find the people whose name contains all the given words.

            Args:
                name: a first name, a surname or both, as the user wrote it.
                place: a town or site, only if the user named one.
            """
            runtime.stream_writer(Activity(code="searching_people", agent=AGENT))
            filters = RecordFilters(place=place or None)
            hits = await self._retriever.search_records(
                runtime.context.context.tenant,
                "people",
                name[: POLICY.records.query_chars],
                filters,
                limit=POLICY.records.candidates,
            )
            people = [hit.record for hit in hits if is_named(hit.record, name)]
            return json.dumps({"people": [brief(one) for one in people]}, ensure_ascii=False)

        return find_person

    def choose_tool(self) -> BaseTool:
        @tool(CHOOSE, response_format="content_and_artifact")
        async def choose_person(
            person_ids: list[str], runtime: ToolRuntime[SpecialistRun]
        ) -> ToolResult:
            """Let the user choose between the people that ``find_person`` returned.

            Args:
                person_ids: two or more ids.
            """
            run = runtime.context
            ids = list(dict.fromkeys(person_ids))[: POLICY.pause.options - 1]
            try:
                people = [await self._person(run, one) for one in ids]
            except NotFound:
                return json.dumps({"error": "unknown_id"}), None
            if len(people) < 2:
                return json.dumps({"error": "nothing_to_choose"}), None
            locale = run.context.locale
            options = [Option(value=one.id, label=label(one)) for one in people]
            options.append(Option(value=NOBODY, label=phrase("choose_nobody", locale)))
            question = PauseQuestion(
                id=QUESTION, text=phrase("choose_person_question", locale), options=tuple(options)
            )
            # What was read is kept: the choice needs no second look at the catalogue.
            prepared = {"people": {one.id: whole(one) for one in people}}
            return paused(PauseRequest(reason="choice", questions=(question,), prepared=prepared))

        return choose_person

    async def take_up(self, run: SpecialistRun, resumption: Resumption) -> ToolResult:
        chosen = resumption.answers[QUESTION]
        people: dict[str, Any] = resumption.pause.request.prepared["people"]
        if chosen == NOBODY:
            return json.dumps({"chosen": None}), None
        return json.dumps({"chosen": people[chosen]}, ensure_ascii=False), None

    async def _person(self, run: SpecialistRun, person_id: str) -> Record:
        return await self._retriever.record(run.context.tenant, "people", person_id)


def label(person: Record) -> str:
    """Name, role and place: what tells two people of one name apart."""
    parts = (person.title, person.details.get("role"), person.details.get("team"), person.place)
    return ", ".join(str(part) for part in parts if part)


def is_named(person: Record, name: str) -> bool:
    """Whether every word of ``name`` begins a word of the person's; accents and case do not tell
    people apart."""
    words = folded(person.title).split()
    return all(any(word.startswith(asked) for word in words) for asked in folded(name).split())
