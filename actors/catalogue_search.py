"""The three search specialists: the same two tools over another catalogue each."""

from __future__ import annotations

from dataclasses import dataclass

from actors.clarification import CLARIFICATION, clarified, request_clarification
from actors.record_search import RecordSearch
from actors.role_handles import RetrieverHandle
from actors.toolbox import Toolbox
from config.tenants import SpecialistName
from domain.events import ActivityCode
from domain.records import RecordKind


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One kind of record, the names of the tools over it, and what a client is told meanwhile."""

    kind: RecordKind
    search: str
    get: str
    activity: ActivityCode


CATALOGUES: dict[SpecialistName, Catalogue] = {
    "opportunity_search": Catalogue(
        "opportunities", "search_opportunities", "get_opportunity", "searching_opportunities"
    ),
    "training_search": Catalogue(
        "trainings", "search_trainings", "get_training", "searching_trainings"
    ),
    "talent_search": Catalogue("people", "search_people", "get_public_profile", "searching_people"),
}


def catalogue_tools(name: SpecialistName, retriever: RetrieverHandle) -> Toolbox:
    """The toolbox of one search specialist."""
    catalogue = CATALOGUES[name]
    records = RecordSearch(
        catalogue.kind,
        retriever,
        search=catalogue.search,
        get=catalogue.get,
        activity=catalogue.activity,
        agent=name,
    )
    return Toolbox(
        tools=(*records.tools, request_clarification),
        continuations={**records.continuations, CLARIFICATION: clarified},
        pausing=frozenset({CLARIFICATION}),
        transitions=frozenset({CLARIFICATION}),
    )
