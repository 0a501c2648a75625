"""Chat models: which path they take, what they are told, and what never crosses providers."""

from __future__ import annotations

from typing import Any

import pytest
from fake_requests import tenant_of
from langchain_core.tools import tool
from model_server import ModelServer
from scripted_replies import Status, Text, call

from config.settings import Settings
from domain.errors import InvalidConfiguration, ModelUnavailable
from providers.build import build_models, model_name
from providers.failures import model_failures
from providers.interface import PRIVATE_TAG, PUBLIC_TAG
from providers.openai_protocol import OpenAIModels

pytestmark = pytest.mark.asyncio(loop_scope="session")
TASK = "manta.career_chat"


@tool
def lookup(query: str) -> str:
    """Look something up."""
    return query


def provider(server: ModelServer, kind: str, **more: Any) -> OpenAIModels:
    given = {"openai_base_url": server.url, "openai_api_key": "k", **more}
    return OpenAIModels(Settings.load(provider=kind, **given))


@pytest.mark.parametrize(
    ("kind", "model", "path"),
    [
        ("openai", "gpt-6-luna", "/v1/responses"),
        ("openai", "gpt-6-astra", "/v1/responses"),
        ("compatible", "gpt-6-luna", "/v1/chat/completions"),
        ("compatible", "gpt-6-astra", "/v1/chat/completions"),
        ("compatible", "llama-4", "/v1/chat/completions"),
    ],
)
@pytest.mark.parametrize("public", [True, False])
async def test_tools_go_to_responses_for_openai_only(
    models: ModelServer, kind: str, model: str, path: str, public: bool
) -> None:
    models.script(TASK, call("lookup", query="x"))
    chat = provider(models, kind).chat(model, "manta.career_chat", public=public)
    reply = await chat.bind_tools([lookup]).ainvoke("hello")
    assert models.requests[0]["path"] == path
    assert [c["name"] for c in reply.tool_calls] == ["lookup"]


@pytest.mark.parametrize("kind", ["openai", "compatible"])
async def test_every_call_carries_its_task(models: ModelServer, kind: str) -> None:
    built = provider(models, kind)
    await built.chat("gpt-6-luna", "manta.research").ainvoke("hello")
    await built.chat("gpt-6-luna", "manta.guardrail.reply").ainvoke("hello")
    assert [seen["task"] for seen in models.requests] == [
        "manta.research",
        "manta.guardrail.reply",
    ]


@pytest.mark.parametrize(("asked", "sent"), [(512, 512), (None, 4096)])
async def test_a_reply_is_bounded(models: ModelServer, asked: int | None, sent: int) -> None:
    chat = provider(models, "compatible").chat("m", "manta.career_chat", max_tokens=asked)
    await chat.ainvoke("hello")
    body = models.requests[0]["body"]
    assert body.get("max_completion_tokens", body.get("max_tokens")) == sent


async def test_only_public_calls_are_marked_for_streaming(models: ModelServer) -> None:
    built = provider(models, "compatible")
    public = built.chat("m", "manta.career_chat", public=True)
    private = built.chat("m", "manta.career_chat")
    assert (public.tags, private.tags) == ([PUBLIC_TAG], [PRIVATE_TAG])
    assert public is not private
    assert built.chat("m", "manta.career_chat") is private, "built once"
    await public.ainvoke("hello")
    await private.ainvoke("hello")
    assert [bool(seen["body"].get("stream")) for seen in models.requests] == [True, False]
    assert models.requests[0]["body"]["stream_options"]["include_usage"] is True


async def test_each_provider_speaks_to_its_own_address_with_its_own_key(
    models: ModelServer,
) -> None:
    other = ModelServer().start()
    try:
        first = provider(models, "openai", openai_api_key="first-key")
        second = OpenAIModels(Settings.load(provider="compatible", openai_base_url=other.url))
        await first.chat("gpt-6-luna", "manta.career_chat").ainvoke("for the first")
        await second.chat("gpt-6-luna", "manta.career_chat").ainvoke("for the second")
        assert "for the first" in repr(models.requests)
        assert "for the second" not in repr(models.requests)
        assert "for the second" in repr(other.requests)
        assert "for the first" not in repr(other.requests)
        assert first._client.api_key == "first-key"
        assert second._client.api_key == "none"
    finally:
        other.stop()


async def test_a_failing_server_is_not_replaced_by_another(models: ModelServer) -> None:
    models.script(TASK, Status(400))
    chat = provider(models, "compatible").chat("m", "manta.career_chat")
    with pytest.raises(ModelUnavailable, match="status 400"), model_failures():
        await chat.ainvoke("hello")
    assert len(models.requests) == 1


async def test_nobody_there_is_a_connection_failure() -> None:
    settings = Settings.load(provider="compatible", openai_base_url="http://127.0.0.1:1/v1")
    chat = OpenAIModels(settings).chat("m", "manta.career_chat")
    with pytest.raises(ModelUnavailable, match="connection"), model_failures():
        await chat.ainvoke("hello")


async def test_closing_closes_the_decision_client(models: ModelServer) -> None:
    built = provider(models, "openai")
    await built.close()
    assert built._client.is_closed()


async def test_closing_closes_the_embedders_client(models: ModelServer) -> None:
    built = provider(models, "openai", embedding_model="text-embedding-9")
    await built.embedder.embed(["a"])
    await built.close()
    assert built.embedder._client.is_closed()  # type: ignore[attr-defined]


async def test_the_build_follows_the_setting(models: ModelServer) -> None:
    assert build_models(Settings.load()).name == "offline"
    compatible = Settings.load(provider="compatible", openai_base_url=models.url)
    assert build_models(compatible).name == "compatible"
    with pytest.raises(InvalidConfiguration):
        build_models(Settings.load(provider="azure"))


async def test_a_tenants_model_wins_over_the_processs() -> None:
    settings = Settings.load(mini_model="mini", large_model="large")
    plain = tenant_of()
    own = tenant_of(models={"mini": "own"})
    assert model_name(settings, plain, "mini") == "mini"
    assert model_name(settings, plain, "large") == "large"
    assert model_name(settings, own, "mini") == "own"
    assert model_name(settings, own, "large") == "large"


async def test_a_streamed_reply_reports_its_tokens(models: ModelServer) -> None:
    models.script(TASK, Text("one two three"))
    chat = provider(models, "compatible").chat("m", "manta.career_chat", public=True)
    pieces = [piece async for piece in chat.astream("hello")]
    assert "".join(piece.text for piece in pieces) == "one two three"
    usage = [piece.usage_metadata for piece in pieces if piece.usage_metadata]  # type: ignore[attr-defined]
    assert usage[-1]["output_tokens"] == 3
