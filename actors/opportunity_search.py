"""Opportunity search: the organisation's internal positions and missions."""

from __future__ import annotations

from actors.clarification import CLARIFICATION, clarified, request_clarification
from actors.record_search import RecordSearch
from actors.role_handles import RetrieverHandle
from actors.toolbox import Toolbox
from config.tenants import SpecialistName

AGENT: SpecialistName = "opportunity_search"


def opportunity_tools(retriever: RetrieverHandle) -> Toolbox:
    records = RecordSearch(
        "opportunities",
        retriever,
        search="search_opportunities",
        get="get_opportunity",
        activity="searching_opportunities",
        agent=AGENT,
    )
    return Toolbox(
        tools=(*records.tools, request_clarification),
        continuations={**records.continuations, CLARIFICATION: clarified},
        pausing=frozenset({CLARIFICATION}),
        transitions=frozenset({CLARIFICATION}),
    )
