"""What one turn of the campus advisor carries: who asks, what was found, what was decided."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from langchain_core.messages import BaseMessage

from actors.campus.known_site import KnownSite
from actors.evidence import Evidence
from config.campus import CampusConfig
from config.tenants import TenantConfig
from crawler.session import BrowsingSession
from domain.answers import KnowledgeAnswer
from domain.budgets import Meter
from domain.events import Event
from domain.requests import RequestContext, SpecialistRequest
from providers.usage import CallMeter

if TYPE_CHECKING:
    from actors.campus.services import CampusServices

AGENT = "campus_advisor"
About = Literal["general", "application", "teaching"]
Tell = Callable[[Event], None]


class CampusState(TypedDict, total=False):
    """Channels of the advisor's graph; they live as long as the turn.

    ``visits`` counts the nodes that were entered, ``lap`` the rewrites. ``messages`` holds what the
    turn added: calls, results and notes to the agent.
    """

    messages: Annotated[list[BaseMessage], operator.add]
    visits: Annotated[int, operator.add]
    lap: Annotated[int, operator.add]
    verdict: str
    text: str
    answer: KnowledgeAnswer | None


@dataclass(slots=True)
class Delivered:
    """One result of a tool as the advisor's model sees it."""

    source_id: str
    title: str
    text: str
    place: str = ""
    trusted: bool = False


def as_shown(one: Delivered) -> dict[str, str]:
    """A result as models read it."""
    return {
        "source_id": one.source_id,
        "title": one.title,
        "place": one.place,
        "text": one.text,
    }


@dataclass(slots=True)
class CampusRun:
    """Runtime context of the graph; it is never checkpointed.

    ``queries`` is everything that was looked for, ``asked`` what the latest batch looked for.
    ``latest`` and ``failed`` are that batch's results and the codes of its failures. ``silent``
    names the sources that did not respond and have not responded since: with one of them an absence
    is no miss (decision 0010).
    """

    context: RequestContext
    tenant: TenantConfig
    campus: CampusConfig
    request: SpecialistRequest
    question: str
    model: str
    services: CampusServices
    session: BrowsingSession
    meter: Meter
    calls: CallMeter
    evidence: Evidence = field(default_factory=Evidence)
    site: KnownSite = field(default_factory=KnownSite)
    about: About = "general"
    queries: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    latest: list[Delivered] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)

    def about_it(self) -> dict[str, Any]:
        """What log lines carry."""
        return {"request_id": self.context.request_id, "tenant": self.context.tenant}


CampusTool = Callable[[CampusRun, dict[str, Any]], Awaitable[list[Delivered]]]
