"""The organisation of the scripted turns: one small site, three tenants, and how they are asked."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import openai
from model_server import ModelServer
from scripted_replies import Chosen, call
from served import Served

GUARD = "manta.guardrail.decision"
SUPERVISOR = "manta.supervisor"
CAREER = "manta.career_chat"
RESEARCH = "manta.research"
PAGE = (
    "<html><head><title>Leave</title></head><body><main><h1>Leave</h1>"
    "<p>Full-time staff receive 27 days of annual leave in every calendar year.</p>"
    '<p>More: <a href="carry.html">Carrying over unused days</a></p></main></body></html>'
)
LINKED = (
    "<html><head><title>Carry over</title></head><body><main><h1>Carry over</h1>"
    "<p>Up to five unused days may be carried over until the end of March.</p></main></body></html>"
)

SEARCH = call("search_knowledge", query="days of leave", comment="Looking for leave")
ANSWER = call(
    "StructuredAnswer",
    status="answered",
    answer="You receive 27 days.",
    citations=[{"source_id": "w1", "quote": "Full-time staff receive 27 days of annual leave"}],
)


def ask(client: openai.OpenAI, text: str, tenant: str = "acme", **more: Any) -> Any:
    return client.chat.completions.create(
        model="manta",
        messages=[{"role": "user", "content": text}],
        extra_headers={"X-Manta-Tenant": tenant},
        **more,
    )


def run(app: Served, text: str, thread: str = "t", tenant: str = "acme") -> list[dict[str, Any]]:
    """All AG-UI events of one run."""
    body = {
        "threadId": thread,
        "runId": f"run-{time.monotonic_ns()}",
        "messages": [{"id": "1", "role": "user", "content": text}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
    headers = {"X-Manta-Tenant": tenant}
    with httpx.stream("POST", f"{app.url}/v1/runs", json=body, headers=headers, timeout=60) as got:
        assert got.status_code == 200, got.read()
        return [json.loads(line[6:]) for line in got.iter_lines() if line.startswith("data: ")]


def searched(models: ModelServer) -> dict[str, Any]:
    """The result of the search in the latest research request."""
    body = models.asked(RESEARCH)[-1]
    outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
    return json.loads(outputs[0]["output"])


def hand_over(models: ModelServer) -> None:
    models.script(GUARD, Chosen("allow"))
    models.script(SUPERVISOR, Chosen("career_chat"))
    models.script(CAREER, call("transfer_to_knowledge_base", question="How many days of leave?"))


def eventually(holds: Any, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it did not become true in time")
