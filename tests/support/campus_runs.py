"""A turn's runtime context without a graph around it, for what is tested by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from campus_bench import ChosenEmbedder
from fake_requests import context_of, tenant_of

from actors.campus.run import CampusRun, Delivered
from actors.evidence import Source
from domain.budgets import Budget, Meter
from domain.messages import user
from domain.requests import SpecialistRequest
from providers.usage import CallMeter


def run_of(
    question: str = "When is the deadline?",
    *,
    near: dict[str, float] | None = None,
    embedding: Exception | None = None,
    session: Any = None,
    models: Any = None,
    chatbot: dict[str, Any] | None = None,
    budget: Budget | None = None,
    **campus: Any,
) -> CampusRun:
    tenant = tenant_of(rag={"enabled": True}, campus=campus, **(chatbot or {}))
    assert tenant.chatbot.campus is not None
    services: Any = SimpleNamespace(
        models=models or SimpleNamespace(embedder=ChosenEmbedder(near, embedding))
    )
    return CampusRun(
        context=context_of(),
        tenant=tenant,
        campus=tenant.chatbot.campus,
        request=SpecialistRequest(messages=(user(question),)),
        question=question,
        model="mini",
        services=services,
        session=session,
        meter=Meter(budget or Budget(tool_calls=6), "the campus advisor"),
        calls=CallMeter("manta.campus_advisor", {}, "r1"),
    )


def delivered(run: CampusRun, text: str, title: str = "Page", key: str = "") -> Delivered:
    """A result that a tool of this turn found."""
    source_id = run.evidence.deliver(key or text, Source(kind="document", title=title), text)
    return Delivered(source_id, title, text)
