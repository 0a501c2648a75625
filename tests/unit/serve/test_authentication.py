"""API keys over the whole application: who a key stands for, and what it may do."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from fake_gateway import FakeGateway, client_of

from config.auth import ApiKey, hash_of
from domain.errors import InvalidConfiguration
from serve.key_command import make_key
from serve.start_checks import check_auth, check_loopback

PERSON, SERVICE, READER = "manta_person", "manta_service", "manta_reader"


def entry(key: str, tenant: str = "acme", **more: Any) -> dict[str, Any]:
    permissions = ["chat", "history"]
    return {
        "id": key,
        "hash": hash_of(key),
        "tenant": tenant,
        "permissions": permissions,
        **more,
    }


def keys_file(folder: Path, *entries: dict[str, Any]) -> dict[str, Any]:
    path = folder / "keys.json"
    path.write_text(json.dumps({"keys": entries}))
    return {"mode": "api_keys", "keys": path}


@pytest.fixture
def auth(tmp_path: Path) -> dict[str, Any]:
    return keys_file(
        tmp_path,
        entry(PERSON, user="ana"),
        entry(SERVICE, scope="tenant"),
        entry(READER, user="ben", permissions=["history"]),
    )


def bearing(key: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", **headers}


BODY = {"model": "manta", "messages": [{"role": "user", "content": "Hello"}]}


async def ask(gateway: FakeGateway, headers: dict[str, str]) -> Any:
    async with client_of(gateway) as client:
        return await client.post("/v1/chat/completions", json=BODY, headers=headers)


async def test_a_key_of_a_person_is_that_person(auth: dict[str, Any]) -> None:
    gateway = FakeGateway(auth=auth)
    assert (await ask(gateway, bearing(PERSON))).status_code == 200
    identity = gateway.turns[0].identity
    assert (identity.tenant, identity.user, identity.token) == ("acme", "ana", None)
    assert identity.permissions == {"chat", "history"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer   "},
        {"Authorization": PERSON},
        {"Authorization": f"Basic {PERSON}"},
        bearing(PERSON + "x"),
        bearing(PERSON[:-1]),
        bearing(hash_of(PERSON)),
        bearing("x" * 16_385),
        {"Cookie": f"Authorization={PERSON}"},
        {"X-Manta-Tenant": "acme", "X-Manta-User": "ana"},
    ],
)
async def test_without_a_valid_key_nothing_is_answered(
    auth: dict[str, Any], headers: dict[str, str]
) -> None:
    gateway = FakeGateway(auth=auth)
    reply = await ask(gateway, headers)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.json()["error"]["code"] == "invalid_api_key"
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert gateway.turns == []


async def test_a_key_does_only_what_it_may(
    auth: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    gateway = FakeGateway(auth=auth)
    with caplog.at_level(logging.INFO, logger="manta"):
        reply = await ask(gateway, bearing(READER))
    assert reply.status_code == 403
    assert reply.json()["error"]["message"] == "this needs the permission chat"
    assert gateway.turns == []
    (line,) = [record for record in caplog.records if record.message == "permission_missing"]
    assert (line.__dict__["tenant"], line.__dict__["user"]) == ("acme", "ben")


async def test_a_service_names_the_person_in_each_request(auth: dict[str, Any]) -> None:
    gateway = FakeGateway(auth=auth)
    assert (await ask(gateway, bearing(SERVICE, **{"X-Manta-User": "cleo"}))).status_code == 200
    assert gateway.turns[0].identity.user == "cleo"
    missing = await ask(gateway, bearing(SERVICE))
    assert (missing.status_code, missing.json()["error"]["param"]) == (400, "X-Manta-User")
    wrong = await ask(gateway, bearing(SERVICE, **{"X-Manta-User": "a|b"}))
    assert wrong.status_code == 400
    assert len(gateway.turns) == 1


@pytest.mark.parametrize(
    ("key", "headers"),
    [
        (PERSON, {"X-Manta-User": "ben"}),
        (PERSON, {"X-Manta-Tenant": "quiet"}),
        (SERVICE, {"X-Manta-User": "ana", "X-Manta-Tenant": "quiet"}),
    ],
)
async def test_headers_never_change_whom_a_key_stands_for(
    auth: dict[str, Any], key: str, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    gateway = FakeGateway(auth=auth)
    with caplog.at_level(logging.INFO, logger="manta"):
        reply = await ask(gateway, bearing(key, **headers))
    assert reply.status_code == 404
    assert gateway.turns == []
    assert [record.message for record in caplog.records] == ["foreign_access"]
    same = await ask(gateway, bearing(PERSON, **{"X-Manta-User": "ana", "X-Manta-Tenant": "acme"}))
    assert same.status_code == 200


async def test_a_key_is_in_no_log(auth: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await ask(FakeGateway(auth=auth), bearing(PERSON))
        await ask(FakeGateway(auth=auth), bearing("manta_unknown"))
        await ask(FakeGateway(auth=auth), bearing(READER))
    said = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "request_not_authenticated" in said
    assert all(key not in said for key in (PERSON, "manta_unknown", hash_of(PERSON)))


async def test_a_stranger_learns_the_mode_and_a_caller_its_own_tenant(
    auth: dict[str, Any],
) -> None:
    async with client_of(FakeGateway(auth=auth)) as client:
        stranger = (await client.get("/page-config")).json()
        known = (await client.get("/page-config", headers=bearing(PERSON))).json()
        wrong = await client.get("/page-config", headers=bearing("manta_unknown"))
    assert stranger == {"auth": "api_keys", "message_chars": 16_000}
    assert [tenant["id"] for tenant in known["tenants"]] == ["acme"]
    assert (known["default_tenant"], known["user"], known["auth"]) == ("acme", "ana", "api_keys")
    assert wrong.status_code == 401


async def test_with_authentication_any_host_is_served(auth: dict[str, Any]) -> None:
    async with client_of(FakeGateway(auth=auth)) as client:
        found = await client.get("/healthz", headers={"host": "chat.acme.example"})
    assert found.status_code == 200


async def test_figures_have_a_token_of_their_own(auth: dict[str, Any]) -> None:
    async with client_of(FakeGateway(auth=auth)) as client:
        assert (await client.get("/metrics", headers=bearing(PERSON))).status_code == 404
    async with client_of(FakeGateway(auth=auth, metrics_token="figures")) as client:
        assert (await client.get("/metrics")).status_code == 401
        assert (await client.get("/metrics", headers=bearing(PERSON))).status_code == 401
        assert (await client.get("/metrics", headers=bearing("figures"))).status_code == 200


def test_without_authentication_only_loopback_is_listened_on(auth: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration, match="not authenticated"):
        check_loopback(FakeGateway(host="0.0.0.0").settings)
    check_loopback(FakeGateway(host="0.0.0.0", auth=auth).settings)


def test_a_key_of_a_tenant_that_does_not_exist_stops_the_start(tmp_path: Path) -> None:
    gateway = FakeGateway()
    settings = gateway.settings.load(auth=keys_file(tmp_path, entry("k", "zoo", user="ana")))
    with pytest.raises(InvalidConfiguration, match=r"keys\.0 \(k\)\.tenant: zoo is no tenant"):
        check_auth(settings, gateway.tenants)


def test_a_made_key_fits_its_entry() -> None:
    said = list(make_key("acme", "ana", ["administration", "chat", "chat"], "mine"))
    key = said[0].removeprefix("key: ")
    made = ApiKey.model_validate_json(said[-1])
    assert made.hash == hash_of(key)
    assert key not in said[-1]
    assert (made.id, made.tenant, made.user, made.scope) == ("mine", "acme", "ana", None)
    assert made.permissions == {"administration", "chat"}
    service = ApiKey.model_validate_json(list(make_key("acme", None, None, None))[-1])
    assert (service.scope, service.permissions) == ("tenant", {"chat", "history"})


@pytest.mark.parametrize(
    ("given", "option"),
    [
        (("Acme!", None, None, None), "--tenant"),
        (("acme", "a b", None, None), "--user"),
        (("acme", None, ["root"], None), "--permission"),
        (("acme", None, None, "a b"), "--id"),
    ],
)
def test_a_wrong_option_of_a_key_is_named(given: tuple[Any, ...], option: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        list(make_key(*given))
    assert caught.value.field == option
