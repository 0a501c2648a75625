"""Pauses from end to end: asked over AG-UI, kept in the store, answered in a later run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from acme import CAREER, GUARD, SUPERVISOR
from model_server import ModelServer
from scripted_replies import Chosen, Text, call
from served import Served, served

pytestmark = pytest.mark.integration
ASK = call("request_clarification", questions=["Which team?", "Since when?"])
REPLY = call("reply_to_user")


def run(app: Served, thread: str, text: str | None = None, **more: Any) -> list[dict[str, Any]]:
    """All AG-UI events of one run of a client that can show pauses."""
    messages = [] if text is None else [{"id": "1", "role": "user", "content": text}]
    body = {
        "threadId": thread,
        "runId": f"run-{time.monotonic_ns()}",
        "protocolVersion": "1.0",
        "messages": messages,
        **more,
    }
    with httpx.stream("POST", f"{app.url}/v1/runs", json=body, timeout=60) as got:
        assert got.status_code == 200, got.read()
        return [json.loads(line[6:]) for line in got.iter_lines() if line.startswith("data: ")]


def asked(models: ModelServer, app: Served, thread: str) -> dict[str, Any]:
    """A turn that pauses; gives its interrupt."""
    models.script(SUPERVISOR, Chosen("career_chat"))
    models.script(CAREER, ASK)
    events = run(app, thread, "Help me with my next step")
    outcome = events[-1]["outcome"]
    assert outcome["type"] == "interrupt", events[-1]
    (interrupt,) = outcome["interrupts"]
    return interrupt


def resolved(interrupt: dict[str, Any], payload: Any) -> list[dict[str, Any]]:
    return [{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]


def test_a_pause_is_answered_in_a_later_run(models: ModelServer, app: Served) -> None:
    interrupt = asked(models, app, "p1")
    assert [q["text"] for q in interrupt["metadata"]["questions"]] == ["Which team?", "Since when?"]
    models.script(CAREER, REPLY, Text("Then talk to your team lead."))
    answers = {"q1": "Logistics", "q2": "May"}
    events = run(app, "p1", resume=resolved(interrupt, answers))
    assert events[-1]["outcome"]["type"] == "success", events
    assert events[-1]["result"]["text"] == "Then talk to your team lead."
    body = models.asked(CAREER)[1]
    result = next(i for i in body["input"] if i.get("type") == "function_call_output")
    assert json.loads(result["output"])["answers"][0] == {
        "question": "Which team?",
        "answer": "Logistics",
    }
    assert len(models.asked(SUPERVISOR)) == 1, "a resumed turn is not routed again"
    assert len(models.asked(GUARD)) == 3, "every answer passes the gate"


@pytest.fixture(scope="module")
def replica(app: Served) -> Iterator[Served]:
    """A second replica over the same stores."""
    with served(app.settings) as running:
        yield running


def test_another_replica_goes_on(models: ModelServer, app: Served, replica: Served) -> None:
    interrupt = asked(models, app, "p2")
    models.script(CAREER, REPLY, Text("From the other replica."))
    events = run(replica, "p2", resume=resolved(interrupt, {"q1": "a", "q2": "b"}))
    assert events[-1]["result"]["text"] == "From the other replica."


def test_a_restarted_server_goes_on(models: ModelServer, app: Served) -> None:
    with served(app.settings) as before:
        interrupt = asked(models, before, "p3")
    models.script(CAREER, REPLY, Text("After the restart."))
    with served(app.settings) as after:
        events = run(after, "p3", resume=resolved(interrupt, {"q1": "a", "q2": "b"}))
    assert events[-1]["result"]["text"] == "After the restart."


def test_of_two_answers_at_once_exactly_one_runs(
    models: ModelServer, app: Served, replica: Served
) -> None:
    for attempt in range(5):
        thread = f"twice-{attempt}"
        models.reset()
        interrupt = asked(models, app, thread)
        models.script(CAREER, *[REPLY, Text("Once.")] * 2)
        resume = resolved(interrupt, {"q1": "a", "q2": "b"})

        def answer(where: Served, thread: str = thread, resume: Any = resume) -> str:
            try:
                return str(run(where, thread, resume=resume)[-1]["type"])
            except AssertionError:
                return "refused"

        with ThreadPoolExecutor(4) as pool:
            ends = list(pool.map(answer, [app, replica, app, replica]))
        assert ends.count("RUN_FINISHED") == 1, ends
        history = httpx.get(f"{app.url}/v1/conversations/{thread}").json()
        assert history["pause"] is None
        assert [m["text"] for m in history["messages"]].count("Once.") == 1


@pytest.mark.parametrize(
    ("resume", "status"),
    [
        ({"interruptId": "unknown", "status": "resolved", "payload": {"q1": "a", "q2": "b"}}, 404),
        ({"status": "resolved", "payload": {"q1": "a"}}, 400),
        ({"status": "resolved", "payload": {"q1": "a", "q2": "b", "q3": "c"}}, 400),
        ({"status": "resolved", "payload": ""}, 400),
        ({"status": "resolved"}, 400),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_before_anything_runs(
    models: ModelServer, app: Served, resume: dict[str, Any], status: int
) -> None:
    thread = f"refused-{time.monotonic_ns()}"
    interrupt = asked(models, app, thread)
    before = len(models.requests)
    body = {
        "threadId": thread,
        "runId": f"run-{time.monotonic_ns()}",
        "protocolVersion": "1.0",
        "messages": [],
        "resume": [{"interruptId": interrupt["id"], **resume}],
    }
    got = httpx.post(f"{app.url}/v1/runs", json=body, timeout=30)
    assert got.status_code == status, got.text
    assert got.json()["error"]["message"]
    assert len(models.requests) == before


def test_another_user_gets_404(models: ModelServer, app: Served) -> None:
    interrupt = asked(models, app, "mine")
    body = {
        "threadId": "mine",
        "runId": f"run-{time.monotonic_ns()}",
        "protocolVersion": "1.0",
        "messages": [],
        "resume": resolved(interrupt, {"q1": "a", "q2": "b"}),
    }
    got = httpx.post(f"{app.url}/v1/runs", json=body, headers={"X-Manta-User": "mallory"})
    assert got.status_code == 404


def test_a_pause_is_shown_with_the_conversation_and_closed_by_new_input(
    models: ModelServer, app: Served
) -> None:
    interrupt = asked(models, app, "shown")
    kept = httpx.get(f"{app.url}/v1/conversations/shown").json()
    assert kept["pause"]["id"] == interrupt["id"]
    assert "prepared" not in json.dumps(kept) and "call_id" not in json.dumps(kept)
    models.script(SUPERVISOR, Chosen("career_chat"))
    models.script(CAREER, REPLY, Text("Something else."))
    events = run(app, "shown", "Never mind")
    abandoned = [e for e in events if e.get("name") == "manta.pause_abandoned"]
    assert abandoned[0]["value"]["interactionId"] == interrupt["id"], abandoned
    kept = httpx.get(f"{app.url}/v1/conversations/shown").json()
    assert kept["pause"] is None
    texts = [m["text"] for m in kept["messages"]]
    assert texts[:2] == ["Help me with my next step", "Which team?\nSince when?"]
    assert texts[2:] == ["Never mind", "Something else."]


def test_a_client_without_the_capability_is_asked_in_the_text(
    models: ModelServer, app: Served
) -> None:
    models.script(SUPERVISOR, Chosen("career_chat"))
    models.script(CAREER, REPLY, Text("Which team are you in?"))
    events = run(app, "plain", "Help me", protocolVersion=None)
    assert events[-1]["outcome"]["type"] == "success"
    offered = [tool["name"] for body in models.asked(CAREER) for tool in body.get("tools", ())]
    assert "reply_to_user" in offered and "request_clarification" not in offered
