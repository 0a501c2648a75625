"""Every specialist from AG-UI to its real records and back, with a scripted model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from acme import GUARD, SUPERVISOR
from demo_served import demo_served
from model_server import ModelServer
from scripted_replies import Chosen, Reply, Text, call
from served import Served

pytestmark = pytest.mark.integration
REPLY = call("reply_to_user")


@pytest.fixture(scope="module")
def demo(
    model_server: ModelServer,
    redis_url: str,
    milvus_uri: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("data")
    with demo_served(model_server, redis_url, milvus_uri, data) as running:
        yield running


def run(app: Served, thread: str, text: str | None, **more: Any) -> list[dict[str, Any]]:
    body = {
        "threadId": thread,
        "runId": f"run-{time.monotonic_ns()}",
        "protocolVersion": "1.0",
        "messages": [] if text is None else [{"id": "1", "role": "user", "content": text}],
        **more,
    }
    with httpx.stream("POST", f"{app.url}/v1/runs", json=body, timeout=60) as got:
        assert got.status_code == 200, got.read()
        return [json.loads(line[6:]) for line in got.iter_lines() if line.startswith("data: ")]


def outputs(models: ModelServer, name: str) -> list[dict[str, Any]]:
    """What the tools gave to the model, as the latest request, which writes the reply, holds it."""
    body = models.asked(f"manta.{name}")[-1]
    return [json.loads(m["content"]) for m in body["messages"] if m["role"] == "tool"]


def answered(events: list[dict[str, Any]]) -> str:
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert events[-1]["outcome"]["type"] == "success", events[-1]
    text = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert text == events[-1]["result"]["text"]
    return text


CASES: dict[str, tuple[Reply, str, str]] = {
    "opportunity_search": (
        call("search_opportunities", query="quay maintenance", place="Falmouth"),
        "searching_opportunities",
        "O-101",
    ),
    "training_search": (
        call("search_trainings", query="leading a team"),
        "searching_trainings",
        "TR-501",
    ),
    "talent_search": (call("search_people", query="payroll"), "searching_people", "P-803"),
    "person_disambiguation": (
        call("find_person", name="Marie Le Gall"),
        "searching_people",
        "P-809",
    ),
    "profile_analysis": (call("get_my_profile"), "reading_profile", "quay inspection"),
    "task_guidance": (call("list_my_tasks"), "reading_tasks", "T-101"),
    "career_chat": (call("get_my_profile"), "reading_profile", "Ana Penrose"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("direct", [False, True], ids=["routed", "direct"])
def test_a_specialist_answers_from_its_records(
    models: ModelServer, demo: Served, name: str, direct: bool
) -> None:
    tool, activity, found = CASES[name]
    models.script(GUARD, Chosen("allow"))
    models.script(SUPERVISOR, Chosen(name))
    models.script(f"manta.{name}", tool, REPLY, Text("This is what I found."))
    forwarded = {"agent": name} if direct else {}
    events = run(demo, f"{name}-{direct}", "Please help", forwardedProps=forwarded)
    assert answered(events) == "This is what I found."
    assert len(models.asked(SUPERVISOR)) == (0 if direct else 1)
    assert found in json.dumps(outputs(models, name))
    codes = [e["content"].get("code") for e in events if e["type"] == "ACTIVITY_SNAPSHOT"]
    assert activity in codes
    steps = [e["stepName"] for e in events if e["type"] == "STEP_STARTED"]
    assert steps == ["gate", name] if direct else ["gate", "supervisor", name]


def test_show_more_shows_others(models: ModelServer, demo: Served) -> None:
    models.script(SUPERVISOR, *[Chosen("training_search")] * 2)
    search = "search_trainings"
    done = (REPLY, Text("Here."))
    models.script("manta.training_search", call(search, query="welding"), *done)
    run(demo, "more", "Which welding courses are there?")
    first = {r["id"] for r in outputs(models, "training_search")[0]["results"]}
    models.script("manta.training_search", call(search, query="welding", show_more=True), *done)
    run(demo, "more", "Show me more")
    second = {r["id"] for r in outputs(models, "training_search")[-1]["results"]}
    assert first and second and not first & second


def test_a_person_is_chosen_and_a_plan_is_saved_once(models: ModelServer, demo: Served) -> None:
    models.script(SUPERVISOR, Chosen("person_disambiguation"))
    people = "manta.person_disambiguation"
    models.script(people, call("choose_person", person_ids=["P-809", "P-824"]))
    asked = run(demo, "who", "Who is Marie Le Gall?")[-1]["outcome"]["interrupts"][0]
    schema = asked["responseSchema"]
    assert schema["properties"]["person"]["enum"] == ["P-809", "P-824", "nobody"]
    models.script(people, REPLY, Text("Marie from Brest."))
    resume = [{"interruptId": asked["id"], "status": "resolved", "payload": {"person": "P-824"}}]
    assert answered(run(demo, "who", None, resume=resume)) == "Marie from Brest."
    assert outputs(models, "person_disambiguation")[0]["chosen"]["id"] == "P-824"

    plan = "manta.profile_analysis"
    models.script(SUPERVISOR, Chosen("profile_analysis"))
    models.script(plan, call("build_learning_plan"))
    asked = run(demo, "plan", "Make me a learning plan")[-1]["outcome"]["interrupts"][0]
    resume = [{"interruptId": asked["id"], "status": "resolved", "payload": "B-1"}]
    asked = run(demo, "plan", None, resume=resume)[-1]["outcome"]["interrupts"][0]
    resume = [{"interruptId": asked["id"], "status": "resolved", "payload": "save"}]
    models.script(plan, REPLY, Text("Saved."))
    assert answered(run(demo, "plan", None, resume=resume)) == "Saved."
    saved = [json.loads(line) for line in plans(demo.settings.data).splitlines()]
    assert len(saved) == 1 and saved[0]["user"] == "ana"


def plans(data: Path) -> str:
    return next(data.rglob("learning_plans.jsonl")).read_text(encoding="utf-8")
