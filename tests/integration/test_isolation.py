"""Ten thousand mixed reads by two tenants' and two users' identities: nobody sees anything foreign.

Every owner uses the same names for its conversations, so that only who asks tells them apart, and
every text says whose it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_gateway import client_of
from kept_conversations import everything, store_turn
from kept_gateway import gateway_over

from config.auth import hash_of
from domain.preferences import Fact
from domain.requests import thread_id
from retrieval.redis_client import open_redis
from serve.gateway import Gateway

pytestmark = pytest.mark.integration
READS = 10_000
OWNERS = [("acme", "ana"), ("acme", "ben"), ("quiet", "ana"), ("quiet", "ben")]
SHARED = ["first", "second"]


@dataclass(frozen=True)
class Own:
    """What one owner has, and what nobody else may see of it."""

    tenant: str
    user: str
    key: str
    mark: str
    private: str
    documents: dict[str, str]


def key_of(tenant: str, user: str) -> str:
    return f"manta_{tenant}_{user}"


@pytest.fixture
async def gateway(redis_url: str, tmp_path: Path) -> AsyncIterator[Gateway]:
    client = open_redis(redis_url)
    await client.flushdb()
    entries = [
        {
            "id": f"{tenant}.{user}",
            "hash": hash_of(key_of(tenant, user)),
            "tenant": tenant,
            "user": user,
            # One of each tenant looks after the ratings.
            "permissions": ["chat", "history", *(["administration"] if user == "ana" else [])],
        }
        for tenant, user in OWNERS
    ]
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": entries}))
    gateway = gateway_over(redis_url, auth={"mode": "api_keys", "keys": keys})
    yield gateway
    await gateway.close()
    await client.flushdb()
    await client.aclose()


async def fill(gateway: Gateway, redis_url: str) -> list[Own]:
    client = open_redis(redis_url)
    owners = []
    for tenant, user in OWNERS:
        owner, mark = (tenant, user), f"MARK-{tenant}-{user}"
        private = f"only-{tenant}-{user}"
        documents = {}
        for conversation in (*SHARED, private):
            await store_turn(client, owner, conversation, f"{mark} {conversation}?")
            thread = thread_id(*owner, conversation)
            added = await gateway.uploads.add(thread, f"{mark}.txt", 5, f"{mark} text", "en")
            documents[conversation] = added.id
            await gateway.feedback.rate(*owner, conversation, f"{mark}-run", "up", f"{mark} says")
        fact = Fact(text=f"{mark} likes it", language="en", since=date(2026, 1, 1))
        await gateway.preferences.replace(*owner, [fact])
        owners.append(Own(tenant, user, key_of(*owner), mark, private, documents))
    await client.aclose()
    return owners


def own_reads(own: Own) -> list[tuple[str, str, dict[str, Any]]]:
    name = random.choice([*SHARED, own.private])
    return [
        ("GET", "/v1/conversations", {}),
        ("GET", f"/v1/conversations/{name}", {}),
        ("GET", f"/v1/conversations/{name}/export", {}),
        ("GET", f"/v1/conversations/{name}/documents", {}),
        ("GET", "/v1/preferences", {}),
        ("GET", "/page-config", {}),
    ]


def foreign_reads(own: Own, other: Own) -> list[tuple[str, str, dict[str, Any]]]:
    """Everything of another owner that a name or a header could lead to."""
    shared, private = random.choice(SHARED), other.private
    rating = {"conversation": private, "run_id": f"{other.mark}-run", "rating": "down"}
    as_user = {"headers": {"X-Manta-User": other.user}} if other.user != own.user else {}
    as_tenant = {"headers": {"X-Manta-Tenant": other.tenant}} if other.tenant != own.tenant else {}
    claim = as_user or as_tenant
    return [
        ("GET", f"/v1/conversations/{private}", {}),
        ("GET", f"/v1/conversations/{private}/export", {}),
        ("GET", f"/v1/conversations/{private}/documents", {}),
        ("PATCH", f"/v1/conversations/{private}", {"json": {"title": "mine"}}),
        ("DELETE", f"/v1/conversations/{private}", {}),
        ("DELETE", f"/v1/conversations/{shared}/documents/{other.documents[shared]}", {}),
        ("DELETE", f"/v1/conversations/{private}/documents/{other.documents[private]}", {}),
        ("POST", "/v1/feedback", {"json": rating}),
        ("GET", f"/v1/conversations/{shared}", claim),
        ("GET", "/v1/conversations", claim),
        ("GET", "/v1/preferences", claim),
        ("PUT", "/v1/preferences", {"json": {"facts": []}, **claim}),
        ("DELETE", "/v1/preferences", claim),
        ("GET", "/page-config", claim),
    ]


async def test_ten_thousand_mixed_reads_show_nothing_foreign(
    gateway: Gateway, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    random.seed(4)
    owners = await fill(gateway, redis_url)
    raw = open_redis(redis_url)
    before = await everything(raw)
    refused = 0

    async with client_of(gateway) as client:  # type: ignore[arg-type]

        async def one(number: int) -> bool:
            own = owners[number % 4]
            other = random.choice([each for each in owners if each is not own])
            foreign = number % 2 == 0
            choices = foreign_reads(own, other) if foreign else own_reads(own)
            method, path, given = random.choice(choices)
            headers = {"Authorization": f"Bearer {own.key}", **given.get("headers", {})}
            reply = await client.request(method, path, **{**given, "headers": headers})
            if foreign:
                assert reply.status_code == 404, (method, path, reply.text)
                assert all(each.mark not in reply.text for each in owners)
            else:
                assert reply.status_code == 200, (method, path, reply.text)
                assert_only_own(reply, own, owners)
            return foreign

        with caplog.at_level(logging.INFO, logger="manta"):
            for start in range(0, READS, 50):
                done = await asyncio.gather(*(one(start + number) for number in range(50)))
                refused += sum(done)
    lines = [record for record in caplog.records if record.message == "foreign_access"]
    assert refused == READS // 2
    assert len(lines) == refused, "every attempt is a 404 and a log line"
    for line in lines:
        said = f"{line.getMessage()} {line.__dict__}"
        assert (line.__dict__["tenant"], line.__dict__["user"]) in OWNERS
        assert "only-" not in said and "MARK" not in said
    assert await everything(raw) == before, "no attempt changed anything"
    await raw.aclose()


def assert_only_own(reply: httpx.Response, own: Own, owners: list[Own]) -> None:
    text = reply.text
    for other in owners:
        if other is own:
            continue
        assert other.mark not in text
        assert other.private not in text
        assert all(document not in text for document in other.documents.values())
    if "page-config" not in str(reply.request.url):
        assert own.mark in text


async def test_ratings_are_listed_for_their_tenant_only(gateway: Gateway, redis_url: str) -> None:
    owners = await fill(gateway, redis_url)
    async with client_of(gateway) as client:  # type: ignore[arg-type]
        for own in owners:
            reply = await client.get("/v1/feedback", headers={"Authorization": f"Bearer {own.key}"})
            if own.user != "ana":
                assert reply.status_code == 403
                continue
            listed = reply.json()["data"]
            assert len(listed) == 6
            assert all(f"MARK-{own.tenant}-" in one["comment"] for one in listed)


@pytest.mark.parametrize(
    ("tenant", "user", "conversation"),
    [
        ("acme", "ana|first", "x"),
        ("acme|ana", "first", "x"),
        ("acme", "ana", "first|x"),
        ("acme", "ana%7cfirst", "x"),
        ("acme", "ana:first", "x"),
    ],
)
def test_no_choice_of_names_makes_two_owners_keys_equal(
    tenant: str, user: str, conversation: str
) -> None:
    assert thread_id(tenant, user, conversation) != thread_id("acme", "ana", "first")
    parts = thread_id(tenant, user, conversation).split("|")
    assert len(parts) == 3 and ":" not in "".join(parts)
