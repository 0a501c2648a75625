"""What is asked of a university's services before anything starts."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_service import McpService, closed_port, mcp_service
from served import settings_for

from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import DeadlineExceeded, InvalidConfiguration, Unavailable
from serve.start_checks import check_start, check_subagents

ENDPOINT = {
    "url": "https://search.uni.example/?q={query}&key={key}",
    "links": "items.*.link",
    "key_setting": "site_search",
}


@pytest.fixture(scope="module")
def service() -> Iterator[McpService]:
    with mcp_service() as running:
        yield running


@pytest.fixture(autouse=True)
def fresh(service: McpService) -> None:
    service.reset()


def configured(
    folder: Path,
    url: str,
    *,
    campus: dict[str, Any] | None = None,
    keys: Any = None,
    **subagent: Any,
) -> tuple[Settings, TenantDirectory]:
    one = {
        "name": "rules",
        "description": "Rules.",
        "url": url,
        "prompt": "Search.",
        "check_at_start": True,
        "timeout_seconds": 2.0,
        **subagent,
    }
    chatbot = {"campus": {"subagents": [one], **(campus or {})}}
    tenant = {"tenant": "uni", "name": "Uni", "chatbot": chatbot}
    (folder / "uni.json").write_text(json.dumps(tenant))
    settings = settings_for(
        tenants=folder,
        default_tenant="uni",
        directory=None,
        examples=None,
        service_keys=keys or {},
    )
    return settings, TenantDirectory.load(folder)


def test_a_subagent_that_answers_and_has_a_tool_lets_the_start_go_on(
    tmp_path: Path, service: McpService
) -> None:
    check_subagents(*configured(tmp_path, service.url))
    assert service.tokens == {None}


def test_it_is_asked_with_its_token(
    tmp_path: Path, service: McpService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    keys = {"rules_token": "SEKRET"}
    check_subagents(*configured(tmp_path, service.url, keys=keys, token_setting="rules_token"))
    assert service.tokens == {"Bearer SEKRET"}
    lines = [str(record.__dict__) + record.getMessage() for record in caplog.records]
    assert not [line for line in lines if "SEKRET" in line]


@pytest.mark.parametrize("without", ["listener", "welcome", "tools"])
def test_one_that_cannot_serve_stops_the_start_by_name(
    tmp_path: Path, service: McpService, without: str
) -> None:
    url = service.url
    if without == "listener":
        url = f"http://{closed_port()}/mcp"
    elif without == "welcome":
        service.status = 401
    else:
        service.tools = []
    with pytest.raises(Unavailable, match="the subagent rules") as stopped:
        check_subagents(*configured(tmp_path, url))
    assert "127.0.0.1" not in str(stopped.value)


def test_one_that_is_silent_stops_the_start_in_time(tmp_path: Path) -> None:
    import socket

    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/mcp"
        with pytest.raises(DeadlineExceeded, match="the subagent rules"):
            check_subagents(*configured(tmp_path, url, timeout_seconds=0.3))


@pytest.mark.parametrize("fields", [{"check_at_start": False}, {"enabled": False}])
def test_one_that_need_not_answer_is_not_asked(
    tmp_path: Path, service: McpService, fields: dict[str, bool]
) -> None:
    service.status = 500
    check_subagents(*configured(tmp_path, service.url, **fields))
    assert service.tokens == set()


def test_a_key_that_a_tenant_names_must_be_there(tmp_path: Path, service: McpService) -> None:
    settings, tenants = configured(tmp_path, service.url, token_setting="rules_token")
    with pytest.raises(InvalidConfiguration, match=r"uni: chatbot\.campus\.subagents\.rules"):
        check_start(settings, tenants)
    keys = {"rules_token": "x"}
    fields = {"keys": keys, "token_setting": "rules_token"}
    check_start(*configured(tmp_path, service.url, **fields))
    endpoint = {"search_endpoint": ENDPOINT}
    with pytest.raises(InvalidConfiguration, match="search_endpoint"):
        check_start(*configured(tmp_path, service.url, campus=endpoint, **fields))
    keys["site_search"] = "y"
    check_start(*configured(tmp_path, service.url, campus=endpoint, **fields))
