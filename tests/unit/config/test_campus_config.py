"""``chatbot.campus`` of a tenant file: every bound, and what is refused with its path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_requests import tenant_of
from pydantic import ValidationError

from config.campus import CampusConfig, GradingConfig, SearchEndpointConfig, SubagentConfig
from config.tenants import TenantConfig, load_tenant
from domain.errors import InvalidConfiguration

SUBAGENT = {
    "name": "rules",
    "description": "Rules.",
    "url": "https://mcp.uni.example/",
    "prompt": "Search.",
}
ENDPOINT = {"url": "https://search.uni.example/?q={query}", "links": "items.*.link"}


def accepted(model: Any, given: dict[str, Any]) -> bool:
    try:
        model.model_validate_json(json.dumps(given))
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, True),
        ({"history_messages": 0}, False),
        ({"history_messages": 1}, True),
        ({"history_messages": 50}, True),
        ({"history_messages": 51}, False),
        ({"recursion_limit": 3}, False),
        ({"recursion_limit": 4}, True),
        ({"recursion_limit": 24}, True),
        ({"recursion_limit": 25}, False),
        ({"condensed_above_tokens": 499}, False),
        ({"condensed_above_tokens": 500}, True),
        ({"condensed_above_tokens": 60_000}, True),
        ({"condensed_above_tokens": 60_001}, False),
        ({"programmes": [""]}, False),
        ({"programmes": ["x" * 80]}, True),
        ({"programmes": ["x" * 81]}, False),
        ({"subagents": [SUBAGENT]}, True),
        ({"subagents": [SUBAGENT, SUBAGENT]}, False),
        ({"faqs": True}, False),
        ({"faq": "yes"}, False),
    ],
)
def test_the_bounds_of_a_campus(given: dict[str, Any], fits: bool) -> None:
    assert accepted(CampusConfig, given) is fits


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({"low": 0.3, "high": 0.3}, False),
        ({"low": 0.3, "high": 0.31}, True),
        ({"low": 0, "high": 1}, True),
        ({"low": -0.1}, False),
        ({"high": 1.1}, False),
        ({"low": 0.7}, False),
    ],
)
def test_the_thresholds_are_in_order(given: dict[str, Any], fits: bool) -> None:
    assert accepted(GradingConfig, given) is fits


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, True),
        ({"name": "Rules"}, False),
        ({"name": ""}, False),
        ({"recursion_limit": 0}, False),
        ({"recursion_limit": 1}, True),
        ({"recursion_limit": 12}, True),
        ({"recursion_limit": 13}, False),
        ({"timeout_seconds": 0}, False),
        ({"timeout_seconds": 60}, True),
        ({"timeout_seconds": 60.1}, False),
        ({"url": "http://mcp.uni.example/"}, False),
        ({"url": "http://localhost:8931/mcp"}, True),
        ({"url": "https://mcp.uni.example/?token=x"}, False),
        ({"url": "https://user:x@mcp.uni.example/"}, False),
        ({"url": "https://mcp.uni.example/#x"}, False),
        ({"token_setting": "rules_token"}, True),
        ({"token_setting": "a real token!"}, False),
        ({"token": "x"}, False),
    ],
)
def test_the_bounds_of_a_subagent(given: dict[str, Any], fits: bool) -> None:
    assert accepted(SubagentConfig, {**SUBAGENT, **given}) is fits


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, True),
        ({"url": "https://search.uni.example/"}, False),
        ({"url": "https://search.uni.example/?q={query}&key={key}"}, False),
        ({"key_setting": "site_search"}, False),
        ({"url": "https://s.example/?q={query}&key={key}", "key_setting": "site_search"}, True),
        ({"url": "http://search.uni.example/?q={query}"}, False),
        ({"links": "items..link"}, False),
        ({"links": "$.items"}, False),
        ({"timeout_seconds": 20}, True),
        ({"timeout_seconds": 20.1}, False),
    ],
)
def test_the_bounds_of_a_search_endpoint(given: dict[str, Any], fits: bool) -> None:
    assert accepted(SearchEndpointConfig, {**ENDPOINT, **given}) is fits


def test_a_wrong_value_is_refused_with_the_path_of_its_key(tmp_path: Path) -> None:
    campus = {"subagents": [{**SUBAGENT, "timeout_seconds": 61}]}
    file = tmp_path / "uni.json"
    file.write_text(json.dumps({"tenant": "uni", "name": "Uni", "chatbot": {"campus": campus}}))
    with pytest.raises(InvalidConfiguration) as refused:
        load_tenant(file)
    assert "chatbot.campus.subagents.0.timeout_seconds" in refused.value.field


def test_the_advisor_belongs_to_a_tenant_with_a_campus() -> None:
    agents = {"campus_advisor": {}, "career_chat": {}}
    assert tenant_of(campus={}, agents=agents).enabled_specialists() == (
        "career_chat",
        "campus_advisor",
    )
    assert tenant_of(agents=agents).enabled_specialists() == ("career_chat",)
    assert "campus_advisor" not in tenant_of().enabled_specialists()


def test_the_runbooks_example_is_a_tenant_file() -> None:
    runbook = Path(__file__).resolve().parents[3] / "docs" / "runbook.md"
    section = runbook.read_text(encoding="utf-8").split("## A university")[1]
    example = section.split("```json\n")[1].split("```")[0]
    tenant = TenantConfig.model_validate_json(example)
    assert tenant.enabled_specialists() == ("campus_advisor",)
    assert tenant.chatbot.campus is not None and tenant.chatbot.campus.search_endpoint
