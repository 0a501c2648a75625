"""Tokens: only what the identity provider signed for us, now, is believed."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import jwt
import pytest
from fake_clock import FakeClock
from fake_gateway import FakeGateway, client_of
from identity_provider import AUDIENCE, ISSUER, Provider, Signer, claims_of, provider
from pydantic import SecretStr

from config.auth import JwtAuth
from domain.errors import Unauthenticated, Unavailable
from serve.signing_keys import KeyLimits, SigningKeys
from serve.tokens import Claims, TokenReader

SECRET = "0123456789abcdef0123456789abcdef"
RSA = Signer("rsa-1")
EC = Signer("ec-1", "ES256")
OTHER = Signer("rsa-1")
"""Somebody else's key under the same name."""


@pytest.fixture
def published() -> Iterator[Provider]:
    with provider(RSA, EC) as running:
        yield running


def settings(published: Provider, **more: Any) -> JwtAuth:
    return JwtAuth(
        mode="jwt",
        issuer=ISSUER,
        audience=AUDIENCE,
        algorithms=("RS256", "ES256"),
        jwks_url=published.url,
        **more,
    )


@pytest.fixture
async def reader(published: Provider) -> AsyncIterator[TokenReader]:
    reader = TokenReader(settings(published))
    yield reader
    await reader.close()


async def read(reader: TokenReader, token: str) -> Claims:
    return await reader.read(SecretStr(token))


@pytest.mark.parametrize("signer", [RSA, EC], ids=["rsa", "ec"])
async def test_a_valid_token_names_tenant_and_user(reader: TokenReader, signer: Signer) -> None:
    claims = await read(reader, signer.sign(aud=["other", AUDIENCE]))
    assert claims == Claims("acme", "ana", frozenset({"chat", "history"}))


def part(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def unsigned(algorithm: str) -> str:
    return f"{part({'alg': algorithm, 'typ': 'JWT', 'kid': 'rsa-1'})}.{part(claims_of())}."


def confused() -> str:
    """Signed with the public key as if it were a shared secret."""
    head = f"{part({'alg': 'HS256', 'kid': 'rsa-1'})}.{part(claims_of())}"
    mac = hmac.new(RSA.public_pem, head.encode(), hashlib.sha256).digest()
    return f"{head}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def tampered() -> str:
    head, _, mac = RSA.sign().split(".")
    return f"{head}.{part(claims_of(sub='ben'))}.{mac}"


def now() -> int:
    return int(time.time())


REFUSED = {
    "expired": lambda: RSA.sign(exp=now() - 31),
    "not yet valid": lambda: RSA.sign(nbf=now() + 60),
    "without an end": lambda: RSA.sign(exp=None),
    "an endless end": lambda: RSA.sign(exp=float("inf")),
    "of another audience": lambda: RSA.sign(aud="shop"),
    "without an audience": lambda: RSA.sign(aud=None),
    "of another issuer": lambda: RSA.sign(iss="https://evil.example/"),
    "without an issuer": lambda: RSA.sign(iss=None),
    "without a user": lambda: RSA.sign(sub=None),
    "of an empty user": lambda: RSA.sign(sub=""),
    "of a user with a space": lambda: RSA.sign(sub="a b"),
    "of a user with a line end": lambda: RSA.sign(sub="a\nb"),
    "of a user of dots": lambda: RSA.sign(sub=".."),
    "of a long user": lambda: RSA.sign(sub="a" * 129),
    "without a tenant": lambda: RSA.sign(tenant=None),
    "of a tenant that is no text": lambda: RSA.sign(tenant=["acme"]),
    "unsigned": lambda: unsigned("none"),
    "unsigned in capitals": lambda: unsigned("None"),
    "a signature left out": lambda: unsigned("RS256"),
    "a public key as a secret": confused,
    "an algorithm that is not pinned": lambda: jwt.encode(
        claims_of(), RSA.private, algorithm="RS512", headers={"kid": "rsa-1"}
    ),
    "an unknown key": lambda: Signer("rsa-9").sign(),
    "somebody else's key under a known name": OTHER.sign,
    "an RSA token under the name of an EC key": lambda: RSA.sign({"kid": "ec-1"}),
    "a key that came along": lambda: OTHER.sign({"jwk": OTHER.public_jwk, "kid": "x"}),
    "tampered": tampered,
    "cut": lambda: RSA.sign()[:-10],
    "no token": lambda: "manta_key",
    "dots": lambda: "..",
    "deeply nested": lambda: f"{part({'alg': 'RS256'})}.{'W' * 12_000}.x",
    "a nested header": lambda: base64.urlsafe_b64encode(b"[" * 9_000).decode() + ".e30.x",
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
async def test_any_other_token_is_refused(reader: TokenReader, make: Any) -> None:
    token = make()
    with pytest.raises(Unauthenticated) as caught:
        await read(reader, token)
    assert caught.value.code == "invalid_token"
    assert token not in str(caught.value)


async def test_the_leeway_is_small_and_forgives_slow_clocks(reader: TokenReader) -> None:
    assert (await read(reader, RSA.sign(exp=now() - 20))).user == "ana"


async def test_a_user_may_have_any_printable_name(reader: TokenReader) -> None:
    for name in ("auth0|5f7c", "a" * 128, "élodie@acme.example", "a/b"):
        assert (await read(reader, RSA.sign(sub=name))).user == name


async def test_claims_have_the_names_that_the_settings_say(published: Provider) -> None:
    auth = settings(
        published,
        tenant_claim="https://acme.example/org",
        user_claim="email",
        permissions_claim="scope",
        permissions_prefix="manta:",
    )
    reader = TokenReader(auth)
    claims = {"https://acme.example/org": "acme", "email": "ana@acme.example"}
    listed = await read(reader, RSA.sign(**claims, scope="openid manta:administration chat"))
    assert listed == Claims("acme", "ana@acme.example", frozenset({"administration"}))
    words = await read(reader, RSA.sign(**claims, scope=["manta:chat", 3]))
    assert words.permissions == {"chat"}
    for nothing in (None, 7, {"manta:chat": True}):
        assert (await read(reader, RSA.sign(**claims, scope=nothing))).permissions == frozenset()
    await reader.close()


async def test_a_shared_secret_reads_only_its_own_kind() -> None:
    auth = JwtAuth(
        mode="jwt", issuer=ISSUER, audience=AUDIENCE, algorithms=("HS256",), secret=SECRET
    )
    reader = TokenReader(auth)
    token = jwt.encode(claims_of(), SECRET, algorithm="HS256")
    assert (await read(reader, token)).user == "ana"
    for wrong in (jwt.encode(claims_of(), SECRET[::-1], algorithm="HS256"), RSA.sign()):
        with pytest.raises(Unauthenticated):
            await read(reader, wrong)


LIMITS = KeyLimits(
    seconds=1.0, body_bytes=10_000, fresh_seconds=300, kept_seconds=3_600, again_seconds=10
)


@pytest.fixture
async def keys(published: Provider) -> AsyncIterator[tuple[SigningKeys, FakeClock]]:
    clock = FakeClock(1_000.0)
    keys = SigningKeys(published.url, LIMITS, clock)
    yield keys, clock
    await keys.close()


async def test_keys_are_fetched_once_for_many_requests(
    published: Provider, keys: tuple[SigningKeys, FakeClock]
) -> None:
    published.delay = 0.1
    await asyncio.gather(*(keys[0].find("rsa-1", "RS256") for _ in range(20)))
    await keys[0].find("ec-1", "ES256")
    assert published.asked == 1


async def test_a_rotated_key_is_found_and_unknown_names_ask_seldom(
    published: Provider, keys: tuple[SigningKeys, FakeClock]
) -> None:
    found, clock = keys
    await found.find("rsa-1", "RS256")
    published.signers = [Signer("rsa-2")]
    for _ in range(50):
        with pytest.raises(jwt.PyJWTError):
            await found.find("rsa-2", "RS256")
    assert published.asked == 1, "it was asked a moment ago"
    clock.now += 10
    assert (await found.find("rsa-2", "RS256")).key_id == "rsa-2"
    assert published.asked == 2
    with pytest.raises(jwt.PyJWTError):
        await found.find("rsa-1", "RS256")
    assert published.asked == 2


async def test_without_a_name_the_only_fitting_key_is_taken(
    published: Provider, keys: tuple[SigningKeys, FakeClock]
) -> None:
    found, clock = keys
    assert (await found.find(None, "RS256")).key_id == "rsa-1"
    published.signers.append(Signer("rsa-2"))
    clock.now += 301
    with pytest.raises(jwt.PyJWTError):
        await found.find(None, "RS256")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, None),
        (404, None),
        (302, None),
        (200, b"not json"),
        (200, b"[]"),
        (200, b'{"keys": 1}'),
        (200, b'{"keys": [' + b" " * 10_000 + b"]}"),
    ],
)
async def test_a_provider_without_keys_is_an_unavailability(
    published: Provider, keys: tuple[SigningKeys, FakeClock], status: int, body: bytes | None
) -> None:
    published.status, published.body = status, body
    for _ in range(5):
        with pytest.raises(Unavailable):
            await keys[0].find("rsa-1", "RS256")
    assert published.asked == 1, "a provider in trouble is not asked by every request"
    published.status, published.body = 200, None
    keys[1].now += 10
    assert (await keys[0].find("rsa-1", "RS256")).key_id == "rsa-1"


async def test_a_slow_provider_keeps_nobody_waiting(published: Provider) -> None:
    published.delay = 1.0
    keys = SigningKeys(published.url, KeyLimits(seconds=0.2))
    started = time.monotonic()
    with pytest.raises(Unavailable):
        await keys.find("rsa-1", "RS256")
    assert time.monotonic() - started < 0.8
    await keys.close()


async def test_a_client_that_leaves_does_not_spoil_the_fetch_for_others(
    published: Provider, keys: tuple[SigningKeys, FakeClock]
) -> None:
    published.delay = 0.3
    leaving = asyncio.create_task(keys[0].find("rsa-1", "RS256"))
    await asyncio.sleep(0.1)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert (await keys[0].find("rsa-1", "RS256")).key_id == "rsa-1"


async def test_known_keys_are_used_for_a_while_when_the_provider_is_gone(
    published: Provider, keys: tuple[SigningKeys, FakeClock]
) -> None:
    found, clock = keys
    await found.find("rsa-1", "RS256")
    published.status = 503
    clock.now += 3_600
    assert (await found.find("rsa-1", "RS256")).key_id == "rsa-1"
    with pytest.raises(Unavailable):
        await found.find("rsa-2", "RS256")
    clock.now += 1
    with pytest.raises(Unavailable):
        await found.find("rsa-1", "RS256")


def gateway_of(published: Provider) -> FakeGateway:
    auth = settings(published, permissions_claim="scope")
    return FakeGateway(auth=auth.model_dump(exclude_defaults=False))


BODY = {"model": "manta", "messages": [{"role": "user", "content": "Hello"}]}


async def ask(gateway: FakeGateway, token: str) -> Any:
    async with client_of(gateway) as client:
        headers = {"Authorization": f"Bearer {token}"}
        return await client.post("/v1/chat/completions", json=BODY, headers=headers)


async def test_a_request_with_a_token_carries_it_where_nobody_sees_it(
    published: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = gateway_of(published)
    token = RSA.sign(scope="chat")
    with caplog.at_level(logging.DEBUG):
        assert (await ask(gateway, token)).status_code == 200
        assert (await ask(gateway, tampered())).status_code == 401
        assert (await ask(gateway, RSA.sign(scope="history"))).status_code == 403
        assert (await ask(gateway, RSA.sign(scope="chat", tenant="zoo"))).status_code == 404
    identity = gateway.turns[0].identity
    assert identity.token is not None
    assert identity.token.get_secret_value() == token
    said = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    for hidden in (token, token.split(".")[2], tampered().split(".")[1]):
        assert hidden not in repr(identity) + str(identity) + repr(gateway.turns[0]) + said
    assert len(gateway.turns) == 1
    assert "token_refused" in said


async def test_a_provider_that_is_gone_is_503_and_not_401(published: Provider) -> None:
    published.status = 500
    reply = await ask(gateway_of(published), RSA.sign(scope="chat"))
    assert reply.status_code == 503
    assert reply.json()["error"]["type"] == "server_error"


async def test_a_token_that_is_refused_asks_the_provider_nothing(published: Provider) -> None:
    gateway = gateway_of(published)
    for token in (unsigned("none"), confused(), "manta_key"):
        assert (await ask(gateway, token)).status_code == 401
    assert published.asked == 0


async def test_a_stranger_learns_that_tokens_are_needed(published: Provider) -> None:
    async with client_of(gateway_of(published)) as client:
        assert (await client.get("/page-config")).json() == {
            "auth": "jwt",
            "message_chars": 16_000,
        }
