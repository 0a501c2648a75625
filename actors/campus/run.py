"""What one turn of the campus advisor carries: who asks, what was found, what was decided."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, TypedDict

from langchain_core.messages import BaseMessage

from actors.campus.known_site import KnownSite
from actors.evidence import Evidence
from actors.role_handles import RetrieverHandle
from config.campus import CampusConfig
from config.tenants import TenantConfig
from crawler.session import BrowsingSession
from domain.answers import KnowledgeAnswer
from domain.budgets import Meter
from domain.events import Event, Verdict
from domain.requests import RequestContext, SpecialistRequest
from providers.interface import Models
from providers.usage import CallMeter

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


class Grades(Protocol):
    """Whether what was found is worth answering from."""

    async def grade(self, run: CampusRun) -> Verdict: ...


class Judges(Protocol):
    """Whether a draft may stand that no tool supports."""

    async def judge(self, run: CampusRun, draft: str) -> Verdict: ...


class SearchesWeb(Protocol):
    """The university's public pages."""

    async def search(
        self, run: CampusRun, arguments: dict[str, Any], tell: Tell
    ) -> list[Delivered]: ...


class AsksSubagents(Protocol):
    """Services with sources of their own."""

    async def ask(
        self, run: CampusRun, arguments: dict[str, Any], tell: Tell
    ) -> list[Delivered]: ...


@dataclass(frozen=True, slots=True)
class CampusServices:
    """What the nodes work with; lives with the process, and each turn's run carries it.

    ``shown_urls`` are the operator's: where people open what a source's URL names.
    """

    models: Models
    retriever: RetrieverHandle
    web: SearchesWeb
    subagents: AsksSubagents
    grader: Grades
    judge: Judges
    shown_urls: Mapping[str, str]


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
