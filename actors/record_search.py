"""The tools over a tenant's catalogue records: a search by meaning and fields, and one record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from pydantic import ValidationError

from actors.pausing import Continuation, ToolResult, paused
from actors.role_handles import RetrieverHandle
from actors.specialist_run import SpecialistRun
from actors.widening import widened, widening
from config.policy import POLICY
from domain.errors import InvalidInput, NotFound
from domain.events import Activity, ActivityCode
from domain.pauses import Resumption
from domain.records import Record, RecordFilters, RecordHit, RecordKind

TELLING = ("role", "team")
"""Details that tell two people of one name apart already in a list."""

IDS = "record_ids"
"""Where a search's artifact holds the ids that it showed. Display text is never parsed."""


class RecordSearch:
    """The search and the reading of one kind of record, under the names of its specialist."""

    def __init__(
        self,
        kind: RecordKind,
        retriever: RetrieverHandle,
        *,
        search: str,
        get: str,
        activity: ActivityCode,
        agent: str,
    ) -> None:
        self._kind = kind
        self._retriever = retriever
        self._search_name = search
        self._get_name = get
        self._activity = activity
        self._agent = agent

    @property
    def tools(self) -> tuple[BaseTool, BaseTool]:
        return self._search_tool(), self._get_tool()

    @property
    def continuations(self) -> dict[str, Continuation]:
        return {self._search_name: self.widen}

    def _search_tool(self) -> BaseTool:
        @tool(self._search_name, response_format="content_and_artifact")
        async def search(
            runtime: ToolRuntime[SpecialistRun],
            query: str,
            place: str | None = None,
            language: str | None = None,
            level: str | None = None,
            skill: str | None = None,
            starts_from: str | None = None,
            starts_to: str | None = None,
            show_more: bool = False,
        ) -> ToolResult:
            """Search by meaning. Set a field only where the user asked for it.

            Args:
                query: what is looked for, in a few words; empty to list by the fields alone.
                place: a town or site.
                language: a language's two letters (en, fr, de).
                level: the level as the catalogue names it.
                skill: one skill that must be there.
                starts_from: earliest start, YYYY-MM-DD.
                starts_to: latest start, YYYY-MM-DD.
                show_more: true only when the user asks for more of the last search's results.
            """
            fields = {
                "place": place,
                "language": language,
                "level": level,
                "skill": skill,
                "starts_from": starts_from,
                "starts_to": starts_to,
            }
            try:
                filters = RecordFilters.model_validate(
                    {name: value for name, value in fields.items() if value}
                )
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                field = str(first["loc"][0])
                return json.dumps({"error": "invalid_field", "field": field}), None
            runtime.stream_writer(Activity(code=self._activity, agent=self._agent))
            run = runtime.context
            shown = self._shown(run, runtime.state["messages"]) if show_more else ()
            try:
                hits = await self._hits(run, query, filters, shown)
            except InvalidInput as error:
                return json.dumps({"error": "invalid_field", "field": error.field}), None
            if not hits and not show_more and run.request.interactive:
                request = widening(query, filters, run.context.locale)
                if request is not None:
                    return paused(request)
            return found(hits)

        return search

    def _get_tool(self) -> BaseTool:
        @tool(self._get_name)
        async def get(record_id: str, runtime: ToolRuntime[SpecialistRun]) -> str:
            """Read one record whole.

            Args:
                record_id: the id from a search.
            """
            runtime.stream_writer(Activity(code=self._activity, agent=self._agent))
            tenant = runtime.context.context.tenant
            try:
                record = await self._retriever.record(tenant, self._kind, record_id)
            except NotFound:
                return json.dumps({"error": "unknown_id"})
            return json.dumps({"record": whole(record)}, ensure_ascii=False)

        return get

    async def widen(self, run: SpecialistRun, resumption: Resumption) -> ToolResult:
        """Search again with the condition that the user gave up; nothing else is repeated."""
        query, filters = widened(resumption)
        if filters is None:
            return json.dumps({"results": [], "user_keeps_conditions": True}), None
        return found(await self._hits(run, query, filters, ()))

    async def _hits(
        self, run: SpecialistRun, query: str, filters: RecordFilters, exclude: tuple[str, ...]
    ) -> list[RecordHit]:
        return await self._retriever.search_records(
            run.context.tenant,
            self._kind,
            query[: POLICY.records.query_chars],
            filters,
            exclude=exclude,
        )

    def _shown(self, run: SpecialistRun, current: Sequence[Any]) -> tuple[str, ...]:
        """The ids that this search has shown in the last messages, from their artifacts only."""
        artifacts = [
            message.artifact
            for message in run.request.messages[-POLICY.records.excluded_messages :]
            if message.tool_name == self._search_name
        ]
        # The loop's own state repeats the conversation; only this run's calls are new in it.
        before = {message.tool_call_id for message in run.request.messages}
        artifacts += [
            message.artifact
            for message in current
            if isinstance(message, ToolMessage)
            and message.name == self._search_name
            and message.tool_call_id not in before
        ]
        ids = [one for artifact in artifacts if artifact for one in artifact.get(IDS, ())]
        return tuple(dict.fromkeys(ids))


def found(hits: Sequence[RecordHit]) -> ToolResult:
    """The results as a model reads them, and their ids as code reads them."""
    results = [{**brief(hit.record), "score": round(hit.score, 3)} for hit in hits]
    text = json.dumps({"results": results}, ensure_ascii=False)
    return text, {IDS: [hit.record.id for hit in hits]}


def brief(record: Record) -> dict[str, Any]:
    """What a list shows of a record."""
    shown = record.model_dump(mode="json", exclude={"kind", "details", "text"})
    shown.update({name: record.details.get(name) for name in TELLING})
    return {name: value for name, value in shown.items() if value not in (None, [], ())}


def whole(record: Record) -> dict[str, Any]:
    return {**brief(record), "text": record.text, **record.details}
