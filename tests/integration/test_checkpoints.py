"""Our saver on a real Valkey: the published conformance suite, load, and whole conversations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from domain.errors import StoreUnavailable
from graph.checkpoints import check_redis, open_saver
from retrieval.redis_client import open_redis

pytestmark = pytest.mark.integration


async def test_the_saver_passes_the_conformance_suite(redis_url: str) -> None:
    @checkpointer_test(name="manta")
    async def saver() -> AsyncIterator[BaseCheckpointSaver[str]]:
        client = open_redis(redis_url)
        yield open_saver(client)
        await client.flushdb()
        await client.aclose()

    report = await validate(saver)
    assert report.passed_all_base(), report.to_dict()


async def test_more_callers_than_connections_wait_for_one(redis_url: str) -> None:
    client = open_redis(redis_url)
    answers = await asyncio.gather(*(client.ping() for _ in range(500)))
    assert all(answers)
    await client.aclose()


async def test_a_store_that_does_not_answer_is_an_error_of_ours() -> None:
    client = open_redis("redis://127.0.0.1:1/0")
    with pytest.raises(StoreUnavailable):
        await check_redis(client)
    await client.aclose()
