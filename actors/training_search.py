"""Training search: courses and programmes."""

from __future__ import annotations

from actors.clarification import CLARIFICATION, clarified, request_clarification
from actors.record_search import RecordSearch
from actors.role_handles import RetrieverHandle
from actors.toolbox import Toolbox
from config.tenants import SpecialistName

AGENT: SpecialistName = "training_search"


def training_tools(retriever: RetrieverHandle) -> Toolbox:
    records = RecordSearch(
        "trainings",
        retriever,
        search="search_trainings",
        get="get_training",
        activity="searching_trainings",
        agent=AGENT,
    )
    return Toolbox(
        tools=(*records.tools, request_clarification),
        continuations={**records.continuations, CLARIFICATION: clarified},
        pausing=frozenset({CLARIFICATION}),
        transitions=frozenset({CLARIFICATION}),
    )
