"""Documents: the university's own, help with its IT, and after a rewrite its FAQ."""

from __future__ import annotations

from typing import Any

from actors.campus.run import AGENT, CampusRun, Delivered, Tell
from actors.evidence import Source
from actors.role_handles import RetrieverHandle
from config.policy import POLICY
from domain.errors import InvalidInput
from domain.events import Activity
from domain.passages import Passage
from retrieval.tenancy import PassageCollection

FAQ = "search_faq"
"""Beside a batch of calls; no model is offered it."""


class DocumentTools:
    """``search_documents``, ``troubleshooting`` and the FAQ; lives with one batch of calls."""

    def __init__(self, retriever: RetrieverHandle, tell: Tell) -> None:
        self._retriever = retriever
        self._tell = tell

    async def documents(self, run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        """The nearest passages, of one study programme if the call names one."""
        query = query_of(arguments)
        programme = arguments.get("programme") or None
        if programme is not None and programme not in run.campus.programmes:
            known = ", ".join(run.campus.programmes)
            raise InvalidInput("programme", "is not a study programme here", f"use one of {known}")
        run.queries.append(query)
        self._tell(Activity(code="searching_documents", agent=AGENT))
        return await self._search(run, query, "document", programme)

    async def troubleshooting(self, run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        query = query_of(arguments)
        run.queries.append(query)
        self._tell(Activity(code="searching_documents", agent=AGENT))
        return await self._search(run, query, "troubleshooting", None)

    async def faq(self, run: CampusRun, arguments: dict[str, Any]) -> list[Delivered]:
        """Entries of the FAQ, which were written as answers and are trusted."""
        return await self._search(run, query_of(arguments), "faq", None)

    async def _search(
        self, run: CampusRun, query: str, collection: PassageCollection, programme: str | None
    ) -> list[Delivered]:
        passages = await self._retriever.search(
            run.context.tenant,
            query,
            POLICY.campus.passages,
            collection=collection,
            programme=programme,
        )
        return [_delivered(run, passage, trusted=collection == "faq") for passage in passages]


def query_of(arguments: dict[str, Any], name: str = "query") -> str:
    """Raises InvalidInput for a call without words to look for."""
    query = " ".join(str(arguments.get(name) or "").split())
    if not query:
        raise InvalidInput(name, "is empty", "say what to look for")
    return query[: POLICY.campus.query_chars]


def faq_query(arguments: dict[str, Any], question: str) -> str:
    """What the agent's call looks for, by whatever name its tool has for that."""
    return str(arguments.get("query") or arguments.get("request") or question)


def _delivered(run: CampusRun, passage: Passage, *, trusted: bool) -> Delivered:
    source = Source(
        kind="document", title=passage.title, heading=passage.heading, page=passage.page
    )
    source_id = run.evidence.deliver(passage.chunk_id, source, passage.text)
    place = ", ".join(
        str(part) for part in (passage.heading, passage.page and f"p. {passage.page}") if part
    )
    return Delivered(source_id, passage.title, passage.text, place, trusted)
