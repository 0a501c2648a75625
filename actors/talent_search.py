"""Talent search: people of the organisation by skill and availability."""

from __future__ import annotations

from actors.clarification import CLARIFICATION, clarified, request_clarification
from actors.record_search import RecordSearch
from actors.role_handles import RetrieverHandle
from actors.toolbox import Toolbox
from config.tenants import SpecialistName

AGENT: SpecialistName = "talent_search"


def talent_tools(retriever: RetrieverHandle) -> Toolbox:
    records = RecordSearch(
        "people",
        retriever,
        search="search_people",
        get="get_public_profile",
        activity="searching_people",
        agent=AGENT,
    )
    return Toolbox(
        tools=(*records.tools, request_clarification),
        continuations={**records.continuations, CLARIFICATION: clarified},
        pausing=frozenset({CLARIFICATION}),
        transitions=frozenset({CLARIFICATION}),
    )
