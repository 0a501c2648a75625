"""Turns of one conversation, run at the same time, on a real Valkey."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from acme import CAREER, ask
from model_server import ModelServer
from scripted_replies import Text, call
from served import Served

from config.policy import LeaseLimits
from domain.errors import ConversationBusy
from graph.leases import conversation_lease
from retrieval.redis_client import open_redis

pytestmark = pytest.mark.integration
QUICK = LeaseLimits(seconds=0.6, wait_seconds=0.3)


async def test_a_second_turn_waits_and_is_then_refused(redis_url: str) -> None:
    client = open_redis(redis_url)
    async with conversation_lease(client, "a", QUICK):
        with pytest.raises(ConversationBusy):
            async with conversation_lease(client, "a", QUICK):
                pytest.fail("two turns held one conversation")
        async with conversation_lease(client, "b", QUICK):
            pass
    async with conversation_lease(client, "a", QUICK):
        pass
    await client.aclose()


async def test_a_lease_outlives_its_seconds_while_its_turn_runs(redis_url: str) -> None:
    client = open_redis(redis_url)
    async with conversation_lease(client, "long", QUICK):
        await asyncio.sleep(3 * QUICK.seconds)
        with pytest.raises(ConversationBusy):
            async with conversation_lease(client, "long", QUICK):
                pytest.fail("the lease was lost")
    await client.aclose()


async def test_a_lease_of_a_dead_process_expires(redis_url: str) -> None:
    client = open_redis(redis_url)
    assert await client.lock("manta:lease:dead", timeout=QUICK.seconds).acquire()
    patient = LeaseLimits(seconds=0.6, wait_seconds=3.0)
    async with conversation_lease(client, "dead", patient):
        pass
    await client.aclose()


def test_simultaneous_turns_are_all_in_the_conversation(
    app: Served, models: ModelServer, client: openai.OpenAI
) -> None:
    with ThreadPoolExecutor(6) as pool:
        asked = [
            pool.submit(ask, client, f"Question {n}", metadata={"conversation": "busy"})
            for n in range(6)
        ]
        assert all(one.result(60).choices[0].message.content for one in asked)
    models.reset()
    models.script(CAREER, call("reply_to_user"), Text("Seen."))
    ask(client, "Which ones?", metadata={"conversation": "busy"})
    seen = json.dumps(models.asked(CAREER)[-1])
    assert all(f"Question {n}" in seen for n in range(6))
