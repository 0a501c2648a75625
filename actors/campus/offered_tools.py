"""The tools that a tenant's advisor is offered, as its configuration has them."""

from __future__ import annotations

from typing import Any

from config.campus import CampusConfig
from config.tenants import TenantConfig

DOCUMENTS, WEB = "search_documents", "search_web"
TROUBLESHOOTING, TASK = "troubleshooting", "task"


def offered_names(tenant: TenantConfig) -> tuple[str, ...]:
    """The tools that have something to look into, without those that the tenant excludes.

    Excluding all of them keeps them all, as everywhere: an advisor without a tool could only guess.
    """
    campus = tenant.chatbot.campus or CampusConfig()
    has = {
        DOCUMENTS: tenant.chatbot.rag.enabled,
        WEB: bool(tenant.web.active_sources),
        TROUBLESHOOTING: campus.troubleshooting,
        TASK: bool(campus.active_subagents),
    }
    names = tuple(name for name, holds in has.items() if holds)
    excluded = tenant.excluded_tools("campus_advisor")
    return tuple(name for name in names if name not in excluded) or names


def offered_tools(tenant: TenantConfig) -> list[dict[str, Any]]:
    """Schemas in the form that every chat model's ``bind_tools`` takes."""
    campus = tenant.chatbot.campus or CampusConfig()
    schemas = _schemas(campus)
    return [schemas[name] for name in offered_names(tenant)]


def _schemas(campus: CampusConfig) -> dict[str, dict[str, Any]]:
    query = {"type": "string", "description": "A self-contained query in a source's words."}
    programme: dict[str, Any] = {
        "type": "string",
        "description": "Only if the question is about one study programme.",
        "enum": list(campus.programmes),
    }
    about = {
        "type": "string",
        "enum": ["general", "application", "teaching"],
        "description": (
            "What the question is about: application and admission, a teaching degree, or "
            "anything else."
        ),
    }
    subagent = {"type": "string", "enum": [one.name for one in campus.active_subagents]}
    described = "; ".join(f"{one.name}: {one.description}" for one in campus.active_subagents)
    return {
        DOCUMENTS: _tool(
            DOCUMENTS,
            "Search the university's documents: regulations, module handbooks, guides.",
            {"query": query, **({"programme": programme} if campus.programmes else {})},
            ["query"],
        ),
        WEB: _tool(
            WEB,
            "Search the university's public pages: dates, fees, programmes, contacts.",
            {"query": query, "about": about},
            ["query", "about"],
        ),
        TROUBLESHOOTING: _tool(
            TROUBLESHOOTING,
            "Find help with the university's IT: accounts, network, e-mail, printing.",
            {"query": query},
            ["query"],
        ),
        TASK: _tool(
            TASK,
            f"Ask a specialist that has sources of its own. {described}",
            {"subagent": subagent, "request": query},
            ["subagent", "request"],
        ),
    }


def _tool(
    name: str, description: str, properties: dict[str, Any], required: list[str]
) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }
