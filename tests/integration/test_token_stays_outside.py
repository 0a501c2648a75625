"""A user's token reaches the tools of its turn, and nothing that is kept or logged."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from fake_gateway import BOTH, CHAT_ONLY, client_of, directory
from fake_turn import Stage, said
from identity_provider import AUDIENCE, ISSUER, Signer, provider
from kept_conversations import everything
from served import settings_for

from retrieval.redis_client import open_redis
from serve.gateway import Gateway

pytestmark = pytest.mark.integration
SIGNER = Signer("rsa-1")


async def test_the_token_reaches_the_specialist_and_nothing_else(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_redis(redis_url)
    await store.flushdb()
    stage = Stage(career=[[said("Hello.")]])
    token = SIGNER.sign()
    with provider(SIGNER) as published:
        auth: dict[str, Any] = {
            "mode": "jwt",
            "issuer": ISSUER,
            "audience": AUDIENCE,
            "algorithms": ["RS256"],
            "jwks_url": published.url,
        }
        settings = settings_for(redis_url=redis_url, auth=auth, examples=None, directory=None)
        gateway = Gateway(settings, directory(BOTH, CHAT_ONLY), stage.roles)
        headers = {"Authorization": f"Bearer {token}"}
        body = {
            "model": "manta",
            "messages": [{"role": "user", "content": "Hello"}],
            "metadata": {"conversation": "c"},
        }
        fact = {"text": "I live in Brest", "language": "en", "since": "2026-01-01"}
        rating = {"conversation": "c", "rating": "up"}
        with caplog.at_level(logging.DEBUG):
            async with client_of(gateway) as client:  # type: ignore[arg-type]
                client.headers.update(headers)
                replied = await client.post("/v1/chat/completions", json=body)
                assert replied.json()["choices"][0]["message"]["content"] == "Hello."
                rating["run_id"] = replied.json()["id"].removeprefix("chatcmpl-")
                await client.put("/v1/preferences", json={"facts": [fact]})
                files = {"file": ("a.txt", b"text")}
                await client.post("/v1/conversations/c/documents", files=files)
                assert (await client.post("/v1/feedback", json=rating)).status_code == 201
                read = await client.get("/v1/conversations/c")
                exported = await client.get("/v1/conversations/c/export")
        await gateway.close()
    (_, _, asked) = stage.career.calls[0]
    assert asked.token is not None and asked.token.get_secret_value() == token
    kept = await everything(store)
    assert len(kept) > 8
    for part in (token, token.split(".")[1], token.split(".")[2]):
        assert part not in repr(kept)
        assert part not in repr(asked) + read.text + exported.text + replied.text
        for record in caplog.records:
            assert part not in f"{record.getMessage()} {record.__dict__}"
    await store.flushdb()
    await store.aclose()
