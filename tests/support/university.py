"""A university whose only specialist is the campus advisor, and how its people ask over HTTP."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
from model_server import ModelServer
from served import Served

AGENT = "manta.campus_advisor"
ANA, BEN = "manta_ana", "manta_ben"
HOME = "http://www.uni.example/en/"


def university(rules_url: str) -> dict[str, Any]:
    subagent = {
        "name": "rules",
        "description": "Examination rules.",
        "url": rules_url,
        "prompt": "Search the rules.",
    }
    web = {"enabled": True, "sources": [{"url": HOME}], "refresh_interval_seconds": 0}
    # Real embeddings are near enough for anything: what the grader says is tested elsewhere.
    campus = {"grading": {"high": 0.01, "low": 0.0}, "subagents": [subagent]}
    return {
        "tenant": "uni",
        "name": "University",
        "chatbot": {
            "rag": {"enabled": True},
            "knowledge_base": {"web": web},
            "campus": campus,
            "agents": {"campus_advisor": {"active": True}},
        },
    }


def run(app: Served, text: str, thread: str, key: str = ANA) -> list[dict[str, Any]]:
    body = {
        "threadId": thread,
        "runId": f"run-{time.monotonic_ns()}",
        "messages": [{"id": "1", "role": "user", "content": text}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.stream("POST", f"{app.url}/v1/runs", json=body, headers=headers, timeout=60) as got:
        assert got.status_code == 200, got.read()
        return [json.loads(line[6:]) for line in got.iter_lines() if line.startswith("data: ")]


def prompt_of(models: ModelServer) -> list[dict[str, Any]]:
    """What the agent's first call was shown, over the Responses API."""
    messages: list[dict[str, Any]] = models.asked(AGENT)[0]["input"]
    return messages


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


def result_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    result: dict[str, Any] = events[-1]["result"]
    return result


def conversation(app: Served, thread: str, key: str, method: str = "GET") -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.request(method, f"{app.url}/v1/conversations/{thread}", headers=headers)
