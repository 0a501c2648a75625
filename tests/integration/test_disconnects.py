"""Clients that leave and runs that are stopped, over the real graph: what is kept of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from acme import CAREER, GUARD, SUPERVISOR, eventually
from model_server import ModelServer
from scripted_replies import Chosen, Text, call
from served import Served, served, settings_for

pytestmark = pytest.mark.integration
SLOW = "scripted-ttft500-itl1-len5"
"""Half a second until each model's first word."""


@contextmanager
def serving(
    model_server: ModelServer, tenants: Path, redis_url: str, milvus_uri: str, **settings: Any
) -> Iterator[Served]:
    given = settings_for(
        tenants=tenants,
        default_tenant="quiet",
        provider="compatible",
        openai_api_key="test",
        openai_base_url=model_server.url,
        mini_model=SLOW,
        redis_url=redis_url,
        milvus_uri=milvus_uri,
        directory=None,
        **settings,
    )
    with served(given) as app:
        yield app


@pytest.fixture
def patient(
    model_server: ModelServer, tenants: Path, redis_url: str, milvus_uri: str
) -> Iterator[Served]:
    """A deployment that lets an OpenAI client's turn go on for a while."""
    grace = {"disconnect_grace_openai_seconds": 30.0}
    with serving(model_server, tenants, redis_url, milvus_uri, **grace) as app:
        yield app


@pytest.fixture
def strict(
    model_server: ModelServer, tenants: Path, redis_url: str, milvus_uri: str
) -> Iterator[Served]:
    """A deployment whose graces are short."""
    grace = {"disconnect_grace_openai_seconds": 0.3, "disconnect_grace_seconds": 0.3}
    with serving(model_server, tenants, redis_url, milvus_uri, **grace) as app:
        yield app


def leave(app: Served, conversation: str, *, stream: bool, seconds: float = 0.3) -> None:
    """Ask as an OpenAI client, and go away before there is an answer."""
    body = {
        "model": "manta",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": stream,
        "metadata": {"conversation": conversation},
    }
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{app.url}/v1/chat/completions", json=body, timeout=seconds)


def kept(app: Served, conversation: str) -> list[str]:
    """The texts of a conversation's acknowledged turns."""
    reply = httpx.get(f"{app.url}/v1/conversations/{conversation}")
    if reply.status_code == 404:
        return []
    return [message["text"] for message in reply.json()["messages"]]


def name() -> str:
    return f"c-{time.monotonic_ns()}"


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_turn_that_is_left_goes_on_within_its_grace(
    patient: Served, models: ModelServer, stream: bool
) -> None:
    models.script(CAREER, call("reply_to_user"), Text("Hello to you."))
    conversation = name()
    leave(patient, conversation, stream=stream)
    eventually(lambda: kept(patient, conversation) == ["Hello", "Hello to you."], 15)


def test_without_a_conversation_there_is_nothing_to_go_on_for(
    patient: Served, models: ModelServer
) -> None:
    body = {"model": "manta", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{patient.url}/v1/chat/completions", json=body, timeout=0.3)
    eventually(lambda: models.open_requests == 0, 0.4)
    time.sleep(0.3)
    assert [seen["task"] for seen in models.requests] == [GUARD]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_turn_that_exceeds_its_grace_is_cancelled(
    strict: Served, models: ModelServer, stream: bool
) -> None:
    conversation = name()
    leave(strict, conversation, stream=stream, seconds=0.1)
    eventually(lambda: models.open_requests == 0 and len(models.requests) > 0)
    time.sleep(0.6)
    assert CAREER not in {seen["task"] for seen in models.requests}
    assert kept(strict, conversation) == []


def started(app: Served, conversation: str) -> tuple[str, httpx.Client, Any]:
    """An AG-UI run of which one event was read; its client stays connected."""
    run_id = name()
    body = {
        "threadId": conversation,
        "runId": run_id,
        "messages": [{"id": "1", "role": "user", "content": "Hello"}],
    }
    client = httpx.Client(timeout=20)
    request = client.build_request("POST", f"{app.url}/v1/runs", json=body)
    reply = client.send(request, stream=True)
    lines = reply.iter_lines()
    assert next(lines) == "id: 1"
    return run_id, client, lines


def test_a_stopped_run_leaves_the_conversation_as_it_was(
    patient: Served, models: ModelServer
) -> None:
    conversation = name()
    run_id, client, lines = started(patient, conversation)
    assert client.post(f"{patient.url}/v1/runs/{run_id}/stop").status_code == 202
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert events[-1]["outcome"] == {"type": "cancelled"}
    client.close()
    eventually(lambda: models.open_requests == 0)
    assert kept(patient, conversation) == []
    # The conversation goes on: its lease was given back.
    models.script(SUPERVISOR, Chosen("career_chat"))
    models.script(CAREER, call("reply_to_user"), Text("Here I am."))
    _, client, lines = started(patient, conversation)
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    client.close()
    assert events[-1]["outcome"] == {"type": "success"}
    assert kept(patient, conversation) == ["Hello", "Here I am."]


def test_another_reader_keeps_a_run_alive_whose_client_left(
    strict: Served, models: ModelServer
) -> None:
    conversation = name()
    run_id, client, _ = started(strict, conversation)
    client.close()
    # This reader waits for an event that never comes, until the run has ended.
    text = httpx.get(f"{strict.url}/v1/runs/{run_id}", params={"after": "1000000"}, timeout=20).text
    assert text == ""
    assert kept(strict, conversation) != []


def test_a_run_that_nobody_reads_any_more_is_cancelled(strict: Served, models: ModelServer) -> None:
    conversation = name()
    run_id, client, _ = started(strict, conversation)
    client.close()
    # Longer than the run would take.
    time.sleep(3)
    whole = httpx.get(f"{strict.url}/v1/runs/{run_id}", timeout=20).text
    last = json.loads(whole.strip().splitlines()[-1][6:])
    assert last["outcome"] == {"type": "cancelled"}
    assert kept(strict, conversation) == []
