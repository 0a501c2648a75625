"""The routes of history, preferences and feedback over a real store."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fake_gateway import client_of
from kept_conversations import everything, open_pause, store_turn
from kept_gateway import gateway_over

from domain.messages import Message, ToolCall, assistant, user
from graph.leases import conversation_lease
from retrieval.redis_client import open_redis

pytestmark = pytest.mark.integration
DEMO = Path(__file__).resolve().parents[2] / "demo" / "documents"
OWNER = ("acme", "ana")
CITED = {
    "run_id": "run-1",
    "status": "answered",
    "agent": "knowledge",
    "citations": [
        {
            "number": 1,
            "kind": "web",
            "title": "Leave",
            "quote": "27 days",
            "url": "http://hr.acme.example/leave.html",
        }
    ],
}
TURN = [
    user("How many days?"),
    Message(
        role="assistant",
        text="let me see SECRET",
        tool_calls=(ToolCall(id="1", name="search", arguments={"q": "SECRET"}),),
    ),
    Message(role="tool", text="SECRET", tool_call_id="1", tool_name="search"),
    Message(role="assistant", text="27 days.", artifact=CITED),
]


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Any]:
    client = open_redis(redis_url)
    await client.flushdb()
    yield client
    await client.flushdb()
    await client.aclose()


@pytest.fixture
async def client(redis_url: str, store: Any) -> AsyncIterator[httpx.AsyncClient]:
    shown = {"http://hr.acme.example/": "https://intranet.example/"}
    gateway = gateway_over(redis_url, shown_urls=shown)
    async with client_of(gateway) as client:  # type: ignore[arg-type]
        yield client
    await gateway.close()


def path(conversation: str, rest: str = "") -> str:
    return f"/v1/conversations/{quote(conversation, safe='')}{rest}"


def error(reply: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = reply.json()["error"]
    return found


STRANGE = ["a/b", "a/documents", "x/export", "é 漢字/?#&%2F", "...", "100%", "a+b", "%", "💬"]


@pytest.mark.parametrize("conversation", ["c-1", *STRANGE])
async def test_a_conversation_of_any_name_is_listed_read_renamed_and_deleted(
    client: httpx.AsyncClient, store: Any, conversation: str
) -> None:
    await store_turn(store, OWNER, conversation, "How many days?", TURN)
    listed = (await client.get("/v1/conversations")).json()
    assert listed["object"] == "list" and listed["next"] is None
    assert [(one["id"], one["title"], one["turns"]) for one in listed["data"]] == [
        (conversation, "How many days?", 1)
    ]
    read = (await client.get(path(conversation))).json()
    assert read["id"] == conversation
    renamed = await client.patch(path(conversation), json={"title": "Leave"})
    assert (renamed.status_code, renamed.json()["title"]) == (200, "Leave")
    assert (await client.get(path(conversation, "/documents"))).json()["data"] == []
    exported = await client.get(path(conversation, "/export"))
    assert exported.json()["title"] == "Leave"
    assert (await client.delete(path(conversation))).status_code == 204
    assert (await client.get(path(conversation))).status_code == 404
    left = await everything(store)
    left.pop("manta:checkpoint:seq")
    assert left == {}


async def test_a_name_that_no_address_can_hold_is_refused(client: httpx.AsyncClient) -> None:
    for name in (".", ".."):
        body = {"conversation": name, "run_id": "r", "rating": "up"}
        assert (await client.post("/v1/feedback", json=body)).status_code == 400


@pytest.mark.parametrize("segment", ["%00", "a%0Ab", "%FF", quote("a" * 129)])
async def test_what_is_no_name_is_refused(client: httpx.AsyncClient, segment: str) -> None:
    reply = await client.get(f"/v1/conversations/{segment}")
    assert (reply.status_code, error(reply)["param"]) == (400, "conversation")


async def test_a_slash_that_is_not_encoded_is_no_part_of_a_name(
    client: httpx.AsyncClient, store: Any
) -> None:
    await store_turn(store, OWNER, "a/b")
    assert (await client.get("/v1/conversations/a/b")).status_code == 404


async def test_only_what_people_said_and_were_told_is_shown(
    client: httpx.AsyncClient, store: Any
) -> None:
    await store_turn(store, OWNER, "c", "How many days?", TURN)
    reply = await client.get(path("c"))
    assert "SECRET" not in reply.text
    found = reply.json()
    assert set(found) == {"id", "title", "created", "updated", "messages", "pause", "documents"}
    assert [(one["role"], one["text"]) for one in found["messages"]] == [
        ("user", "How many days?"),
        ("assistant", "27 days."),
    ]
    told = found["messages"][1]
    assert (told["status"], told["agent"], told["run_id"]) == ("answered", "knowledge", "run-1")
    assert told["citations"][0]["url"] == "https://intranet.example/leave.html"
    assert set(found["messages"][0]) == {"role", "text"}
    assert found["pause"] is None


async def test_an_open_pause_is_shown_with_its_own_messages_and_without_its_inside(
    client: httpx.AsyncClient, store: Any
) -> None:
    draft = [
        assistant("Let us plan."),
        Message(
            role="assistant",
            text="",
            tool_calls=(ToolCall(id="call-1", name="request_clarification"),),
        ),
    ]
    pause = open_pause([user("Plan my year")], draft)
    await store_turn(store, OWNER, "c", "How many days?", TURN, pause=pause)
    reply = await client.get(path("c"))
    found = reply.json()
    assert [one["text"] for one in found["messages"]][2:] == ["Plan my year", "Let us plan."]
    assert found["pause"]["id"] == "i-1"
    assert found["pause"]["reason"] == "clarification"
    assert found["pause"]["message"] == "Which site?"
    assert found["pause"]["questions"] == [
        {"id": "q1", "text": "Which site?", "options": [{"value": "b", "label": "Brest"}]}
    ]
    assert "prepared" not in reply.text and "call-1" not in reply.text


async def test_pages_follow_each_other(client: httpx.AsyncClient, store: Any) -> None:
    for number in range(7):
        await store_turn(store, OWNER, f"c{number}")
    first = (await client.get("/v1/conversations?limit=5")).json()
    rest = await client.get("/v1/conversations", params={"limit": 5, "before": first["next"]})
    ids = [one["id"] for one in [*first["data"], *rest.json()["data"]]]
    assert ids == [f"c{number}" for number in reversed(range(7))]
    assert rest.json()["next"] is None
    for limit in ("0", "101", "-1", "x", "1e1", ""):
        wrong = await client.get("/v1/conversations", params={"limit": limit})
        assert (wrong.status_code, error(wrong)["param"]) == (400, "limit")
    assert (await client.get("/v1/conversations?limit=100")).status_code == 200
    wrong = await client.get("/v1/conversations?before=nonsense")
    assert (wrong.status_code, error(wrong)["param"]) == (400, "before")


async def test_a_conversation_with_a_running_turn_is_not_deleted(
    client: httpx.AsyncClient, store: Any
) -> None:
    thread = await store_turn(store, OWNER, "c")
    async with conversation_lease(store, thread):
        reply = await client.delete(path("c"))
    assert (reply.status_code, error(reply)["code"]) == (409, "conversation_busy")
    assert (await client.get(path("c"))).status_code == 200


@pytest.mark.parametrize(
    "body", [{}, {"title": ""}, {"title": "x" * 201}, {"title": 1}, {"title": "x", "id": "y"}]
)
async def test_a_wrong_title_is_refused(
    client: httpx.AsyncClient, store: Any, body: dict[str, Any]
) -> None:
    await store_turn(store, OWNER, "c")
    assert (await client.patch(path("c"), json=body)).status_code == 400


FACT = {"text": "Ich wohne in Köln", "language": "de", "since": "2026-01-02"}


async def test_preferences_are_read_edited_and_erased(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/preferences")).json() == {"facts": []}
    put = await client.put("/v1/preferences", json={"facts": [FACT]})
    assert (put.status_code, put.json()) == (200, {"facts": [FACT]})
    assert (await client.get("/v1/preferences")).json() == {"facts": [FACT]}
    other = await client.get("/v1/preferences", headers={"X-Manta-User": "ben"})
    assert other.json() == {"facts": []}
    assert (await client.delete("/v1/preferences")).status_code == 204
    assert (await client.get("/v1/preferences")).json() == {"facts": []}


@pytest.mark.parametrize(
    ("facts", "param"),
    [
        ([{**FACT, "text": ""}], "facts.0.text"),
        ([{**FACT, "text": "x" * 501}], "facts.0.text"),
        ([{**FACT, "since": "yesterday"}], "facts.0.since"),
        ([{**FACT, "more": 1}], "facts.0.more"),
        ([FACT] * 101, "facts"),
        ("x", "facts"),
    ],
)
async def test_wrong_preferences_are_refused(
    client: httpx.AsyncClient, facts: Any, param: str
) -> None:
    reply = await client.put("/v1/preferences", json={"facts": facts})
    assert (reply.status_code, error(reply)["param"]) == (400, param)


async def test_half_a_character_is_refused_everywhere(
    client: httpx.AsyncClient, store: Any
) -> None:
    await store_turn(store, OWNER, "c")
    headers = {"Content-Type": "application/json"}
    half = '"\\ud800"'
    rating = '{"conversation": "c", "run_id": "r", "rating": "up"'
    for method, where, body in (
        ("PUT", "/v1/preferences", f'{{"facts": [{{"text": {half}, "since": "2026-01-02"}}]}}'),
        ("PATCH", path("c"), f'{{"title": {half}}}'),
        ("POST", "/v1/feedback", f'{rating}, "comment": {half}}}'),
        ("POST", "/v1/feedback", rating.replace('"c"', half) + "}"),
    ):
        reply = await client.request(method, where, content=body, headers=headers)
        assert reply.status_code == 400, where


def replied(*runs: str) -> list[Message]:
    """A history whose replies were given by these runs."""
    how = {"status": "replied", "agent": "career_chat", "citations": []}
    return [
        message
        for run in runs
        for message in (
            user("How?"),
            assistant("So.").model_copy(update={"artifact": {**how, "run_id": run}}),
        )
    ]


async def test_feedback_is_kept_with_its_conversation_and_listed(
    client: httpx.AsyncClient, store: Any
) -> None:
    await store_turn(store, OWNER, "c", messages=replied("run-1"))
    body = {"conversation": "c", "run_id": "run-1", "rating": "down", "comment": "wrong"}
    kept = await client.post("/v1/feedback", json=body)
    assert kept.status_code == 201
    assert {**kept.json(), "created": 0} == {**body, "created": 0}
    listed = (await client.get("/v1/feedback")).json()
    assert [(one["user"], one["run_id"]) for one in listed["data"]] == [("ana", "run-1")]
    assert listed["next"] is None
    (_, reply) = (await client.get(path("c"))).json()["messages"]
    assert reply["rating"] == "down", "a reopened conversation shows what was rated"
    (rated,) = (await client.get(path("c", "/export"))).json()["feedback"]
    assert rated["comment"] == "wrong"
    assert (await client.delete(path("c"))).status_code == 204
    assert (await client.get("/v1/feedback")).json()["data"] == []


async def test_feedback_is_shown_in_pages(client: httpx.AsyncClient, store: Any) -> None:
    await store_turn(store, OWNER, "c", messages=replied("run-0", "run-1", "run-2"))
    for number in range(3):
        body = {"conversation": "c", "run_id": f"run-{number}", "rating": "up"}
        await client.post("/v1/feedback", json=body)
    first = (await client.get("/v1/feedback?limit=2")).json()
    rest = (await client.get(f"/v1/feedback?limit=2&skip={first['next']}")).json()
    runs = [one["run_id"] for one in [*first["data"], *rest["data"]]]
    assert (runs, rest["next"]) == (["run-2", "run-1", "run-0"], None)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"rating": "5"}, 400),
        ({"run_id": ""}, 400),
        ({"comment": "x" * 2_001}, 400),
        ({"user": "ben"}, 400),
        ({"run_id": "of-nobody"}, 404),
        ({"conversation": "other"}, 404),
    ],
)
async def test_wrong_feedback_is_refused(
    client: httpx.AsyncClient, store: Any, changed: dict[str, str], status: int
) -> None:
    await store_turn(store, OWNER, "c", messages=replied("r"))
    body = {"conversation": "c", "run_id": "r", "rating": "up", **changed}
    assert (await client.post("/v1/feedback", json=body)).status_code == status


async def test_no_text_of_a_user_is_in_a_log(
    client: httpx.AsyncClient, store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await store_turn(store, OWNER, "SECRET-id", "SECRET question")
        for name in ("SECRET.txt", "SECRET.pdf"):
            files = {"file": (name, b"SECRET")}
            await client.post(path("SECRET-id", "/documents"), files=files)
        await client.patch(path("SECRET-id"), json={"title": "SECRET"})
        await client.get(path("SECRET-gone"))
        await client.delete(path("SECRET-id"))
    ours = [record for record in caplog.records if record.name.startswith("manta")]
    assert "foreign_access" in [record.message for record in ours]
    assert all("SECRET" not in f"{record.getMessage()} {record.__dict__}" for record in ours)
