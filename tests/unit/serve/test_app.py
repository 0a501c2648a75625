"""Errors, probes, figures, and the page of the application."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_gateway import REPLY, FakeGateway, client_of
from fastapi import FastAPI

from config.settings import Settings
from domain.budgets import Spent
from domain.errors import (
    AllowanceExhausted,
    DeadlineExceeded,
    InvalidConfiguration,
    InvalidInput,
    MantaError,
    NotFound,
    StoreUnavailable,
)
from serve.app import build_app
from serve.errors import BODY_TOO_LARGE, error_response
from serve.metrics import TurnMetrics
from serve.page_routes import load_examples

TOO_LARGE = InvalidInput("body", "is larger", "send less")
TOO_LARGE.code = BODY_TOO_LARGE


@pytest.mark.parametrize(
    ("error", "status", "kind", "param"),
    [
        (InvalidInput("n", "is 2", "use 1"), 400, "invalid_request_error", "n"),
        (InvalidConfiguration("k", "r", "m"), 400, "invalid_request_error", "k"),
        (TOO_LARGE, 413, "invalid_request_error", "body"),
        (NotFound("the model"), 404, "invalid_request_error", None),
        (StoreUnavailable("Redis", "gone"), 503, "server_error", None),
        (AllowanceExhausted("reads", 4, "x"), 503, "server_error", None),
        (DeadlineExceeded("x", 1.0), 503, "server_error", None),
    ],
)
def test_an_error_is_openais_object_with_the_right_status(
    error: MantaError, status: int, kind: str, param: str | None
) -> None:
    reply = error_response(error)
    assert reply.status_code == status
    body = json.loads(bytes(reply.body))
    assert set(body) == {"error"}
    assert body["error"] == {
        "message": error.message,
        "type": kind,
        "param": param,
        "code": error.code,
    }


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/chat/completions", 405),
        ("GET", "/docs", 404),
        ("GET", "/page/nothing.js", 404),
        ("POST", "/", 405),
    ],
)
async def test_an_unknown_path_or_method_is_an_error_object(
    method: str, path: str, status: int
) -> None:
    async with client_of(FakeGateway()) as client:
        reply = await client.request(method, path)
    assert reply.status_code == status
    assert reply.json()["error"]["type"] == "invalid_request_error"


async def test_a_body_over_the_limit_is_413() -> None:
    async with client_of(FakeGateway()) as client:
        body = b'{"a":"' + b"x" * (1024 * 1024) + b'"}'
        headers = {"content-type": "application/json"}
        for path in ("/v1/chat/completions", "/v1/runs"):
            reply = await client.post(path, content=body, headers=headers)
            assert (reply.status_code, reply.json()["error"]["code"]) == (413, "body_too_large")


async def test_a_form_of_a_foreign_page_is_refused() -> None:
    gateway = FakeGateway()
    async with client_of(gateway) as client:
        for path in ("/v1/chat/completions", "/v1/runs"):
            reply = await client.post(path, data={"model": "manta"})
            assert (reply.status_code, reply.json()["error"]["param"]) == (400, "Content-Type")
    assert gateway.turns == []


class BrokenGateway(FakeGateway):
    """Fails in a way that nobody expects."""

    async def check(self) -> dict[str, str]:
        raise RuntimeError("SECRET")


async def test_an_unexpected_failure_is_an_error_object_too() -> None:
    async with client_of(BrokenGateway()) as client:
        reply = await client.get("/readyz")
    assert reply.status_code == 500
    assert "SECRET" not in reply.text
    assert reply.json()["error"]["type"] == "server_error"


async def test_the_probes_look_at_the_dependencies() -> None:
    async with client_of(FakeGateway()) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ok")
    broken = FakeGateway(report={"redis": "store_unavailable", "guardrail": "ok"})
    async with client_of(broken) as client:
        reply = await client.get("/readyz")
        assert (await client.get("/healthz")).status_code == 200
    assert reply.status_code == 503
    assert reply.json() == {"status": "unavailable", "checks": broken.report}


async def test_the_gateway_closes_before_what_the_owner_opened() -> None:
    gateway = FakeGateway()
    order: list[bool] = []

    async def on_close() -> None:
        order.append(gateway.closed)

    app: FastAPI = build_app(gateway, on_close)  # type: ignore[arg-type]
    async with app.router.lifespan_context(app):
        assert order == []
    assert order == [True]


async def test_the_page_and_its_files_load_nothing_from_elsewhere() -> None:
    async with client_of(FakeGateway()) as client:
        for path in ("/", "/page/page.js", "/page/page.css", "/page/icon.svg"):
            reply = await client.get(path)
            assert reply.status_code == 200, path
            policy = reply.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert reply.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "name",
    [
        "nothing.js",
        "../app.py",
        "..%2fapp.py",
        "..%2F..%2Fpyproject.toml",
        "%2e%2e/app.py",
        "%2fetc%2fpasswd",
        "....//app.py",
        "page.js%00",
        "PAGE.JS",
        "",
        ".",
    ],
)
async def test_no_other_file_can_be_reached(name: str) -> None:
    async with client_of(FakeGateway()) as client:
        reply = await client.get(f"/page/{name}")
    assert reply.status_code == 404


async def test_the_page_learns_the_tenants_and_the_limit_and_nothing_else(tmp_path: Path) -> None:
    examples = tmp_path / "examples.json"
    examples.write_text('{"acme": {"en": ["How?"]}}')
    async with client_of(FakeGateway(examples=examples)) as client:
        found: dict[str, Any] = (await client.get("/page-config")).json()
    assert set(found) == {"tenants", "default_tenant", "message_chars"}
    assert found["message_chars"] == 16_000
    assert found["default_tenant"] == "acme"
    assert found["tenants"][0]["examples"] == {"en": ["How?"]}
    assert found["tenants"][1] == {"id": "quiet", "name": "Quiet", "locale": "en", "examples": {}}


@pytest.mark.parametrize("content", ["{", "[]", "1", b"\xff"])
def test_wrong_examples_are_refused(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "examples.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    for wrong in (path, tmp_path, tmp_path / "gone.json"):
        with pytest.raises(InvalidConfiguration) as caught:
            load_examples(Settings.load(examples=wrong))
        assert caught.value.field == "MANTA_EXAMPLES"


def test_figures_count_turns_tokens_and_cost() -> None:
    metrics = TurnMetrics()
    spent = REPLY.spent.model_copy(update={"seconds": 3.0, "cost_usd": 0.25})
    with metrics.in_flight():
        assert b"manta_turns_in_flight 1.0" in metrics.text()
    metrics.finished("acme", REPLY.model_copy(update={"spent": spent}))
    metrics.stopped("acme", "gate", Spent(seconds=3.0, model_calls=1))
    lines = set(metrics.text().decode().splitlines())
    assert {
        'manta_turns_total{agent="knowledge",status="answered",tenant="acme"} 1.0',
        'manta_turns_total{agent="gate",status="failed",tenant="acme"} 1.0',
        'manta_model_tokens_total{kind="input",tenant="acme"} 100.0',
        'manta_model_tokens_total{kind="output",tenant="acme"} 20.0',
        'manta_model_calls_total{tenant="acme"} 4.0',
        'manta_model_cost_usd_total{tenant="acme"} 0.25',
        'manta_turn_seconds_bucket{le="2.0"} 0.0',
        'manta_turn_seconds_bucket{le="4.0"} 2.0',
        "manta_turns_in_flight 0.0",
    } <= lines


def test_a_turn_that_raises_is_no_longer_in_flight() -> None:
    metrics = TurnMetrics()
    with pytest.raises(RuntimeError), metrics.in_flight():
        raise RuntimeError
    assert b"manta_turns_in_flight 0.0" in metrics.text()


async def test_figures_are_served_as_text_of_prometheus() -> None:
    async with client_of(FakeGateway()) as client:
        reply = await client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "# TYPE manta_turns_total counter" in reply.text
