"""Who is asking, and from where: headers, defaults, and the loopback rule."""

from __future__ import annotations

from typing import Any

import pytest
from fake_gateway import BOTH, CHAT_ONLY, FakeGateway, client_of, directory
from starlette.requests import Request

from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import InvalidInput, NotFound
from serve.authentication import HeaderAuthenticator
from serve.identity import Identity, names_loopback

TENANTS = directory(BOTH, CHAT_ONLY)


async def who(
    headers: dict[str, str] | None = None,
    tenants: TenantDirectory = TENANTS,
    **settings: Any,
) -> Identity:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in (headers or {}).items()]
    request = Request({"type": "http", "headers": raw})
    return await HeaderAuthenticator(Settings.load(**settings), tenants).identify(request, "chat")


async def test_headers_name_the_tenant_and_the_user() -> None:
    found = await who({"x-manta-tenant": "quiet", "x-manta-user": "ana.b@acme-1_x"})
    assert found == Identity(tenant="quiet", user="ana.b@acme-1_x")


async def test_without_headers_the_processs_defaults_hold() -> None:
    assert await who(default_tenant="quiet", default_user="ben") == Identity("quiet", "ben")
    assert (await who(default_tenant="acme")).user == "local"


async def test_the_only_tenant_needs_no_name() -> None:
    assert (await who(tenants=directory(BOTH))).tenant == "acme"


async def test_with_two_tenants_and_no_default_the_name_is_asked_for() -> None:
    with pytest.raises(InvalidInput, match="is missing") as caught:
        await who()
    assert caught.value.field == "X-Manta-Tenant"


async def test_an_unknown_tenant_is_not_found() -> None:
    with pytest.raises(NotFound, match="the tenant"):
        await who({"x-manta-tenant": "zoo"})


@pytest.mark.parametrize("value", ["a" * 129, "a b", "a|b", "../x", "é", "a/b", "a\x00", "*", ".."])
@pytest.mark.parametrize("header", ["x-manta-tenant", "x-manta-user"])
async def test_a_malformed_name_is_refused(header: str, value: str) -> None:
    with pytest.raises(InvalidInput, match="plain name") as caught:
        await who({header: value}, default_tenant="acme")
    assert caught.value.field.lower() == header


async def test_a_user_of_128_characters_is_accepted() -> None:
    assert len((await who({"x-manta-user": "a" * 128}, default_tenant="acme")).user) == 128


async def test_a_name_does_not_end_with_a_newline() -> None:
    with pytest.raises(InvalidInput):
        await who({"x-manta-user": "ana\n"}, default_tenant="acme")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8080",
        "localhost",
        "localhost:80",
        "[::1]",
        "[::1]:8080",
    ],
)
def test_loopback_is_recognised_with_and_without_a_port(host: str) -> None:
    assert names_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        ":",
        ":8080",
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "localhost.evil.example:80",
        "127.0.0.1.evil.example",
        "evil-localhost",
        "user@localhost",
        "127.0.0.2",
        "0.0.0.0:8080",
        "192.168.1.2:8080",
        "[::2]:80",
        "[::ffff:127.0.0.1]:80",
        "[::1].evil.example",
        "[::1",
        "[evil.example]",
        "localhost:80:80",
        "evil.example:[::1]",
    ],
)
def test_any_other_host_is_not_loopback(host: str) -> None:
    assert not names_loopback(host)


def test_a_host_name_in_capitals_is_the_same_name() -> None:
    assert names_loopback("LocalHost:8080")


PATHS = ["/", "/healthz", "/readyz", "/metrics", "/page-config", "/v1/models", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
async def test_a_foreign_host_finds_nothing(path: str) -> None:
    async with client_of(FakeGateway()) as client:
        reply = await client.get(path, headers={"host": "evil.example:8080"})
    assert reply.status_code == 404
    assert reply.json()["error"]["message"] == "the host was not found"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/runs"])
async def test_a_foreign_host_starts_no_turn(path: str) -> None:
    gateway = FakeGateway()
    async with client_of(gateway) as client:
        reply = await client.post(path, headers={"host": "evil.example"}, json={})
    assert reply.status_code == 404
    assert gateway.turns == []


@pytest.mark.parametrize("host", ["localhost:8080", "[::1]:8080", "127.0.0.1"])
async def test_loopback_by_any_of_its_names_is_served(host: str) -> None:
    async with client_of(FakeGateway()) as client:
        assert (await client.get("/healthz", headers={"host": host})).status_code == 200
