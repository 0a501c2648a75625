"""Conversations in a real store without a turn: their state as a turn leaves it, and all keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis.asyncio as redis

from domain.messages import Message, assistant, user
from domain.pauses import Option, Pause, PauseQuestion, PauseRequest
from domain.requests import thread_id
from graph.checkpoints import open_saver
from graph.conversations import ConversationStore
from graph.state import OpenPause, TurnState, plain
from graph.turn import build_turn

PAUSE = Pause(
    interaction_id="i-1",
    specialist="career_chat",
    tool="request_clarification",
    call_id="call-1",
    request=PauseRequest(
        reason="clarification",
        questions=(
            PauseQuestion(id="q1", text="Which site?", options=(Option(value="b", label="Brest"),)),
        ),
        prepared={"secret": "prepared"},
    ),
)


def open_pause(incoming: Sequence[Message] = (), draft: Sequence[Message] = ()) -> dict[str, Any]:
    return OpenPause(PAUSE, tuple(plain(incoming)), tuple(plain(draft)), "en").plain()


async def store_turn(
    client: redis.Redis,
    owner: tuple[str, str],
    conversation: str,
    text: str = "How?",
    messages: Sequence[Message] | None = None,
    pause: dict[str, Any] | None = None,
) -> str:
    """Store what a turn stores, record included; the thread."""
    said = messages if messages is not None else [user(text), assistant(f"Re: {text}")]
    thread = thread_id(*owner, conversation)
    await build_turn(open_saver(client)).aupdate_state(
        {"configurable": {"thread_id": thread}},
        TurnState(history=plain(said), pause=pause),
        as_node="deliver",
    )
    await ConversationStore(client).touch(*owner, conversation, text)
    return thread


async def everything(client: Any) -> dict[str, str]:
    """Every key of the store with all that it holds, members included, as text."""
    found: dict[str, str] = {}
    async for key in client.scan_iter(count=1_000):
        match (await client.type(key)).decode():
            case "string":
                held = await client.get(key)
            case "hash":
                held = await client.hgetall(key)
            case "set":
                held = sorted(await client.smembers(key))
            case "zset":
                held = await client.zrange(key, 0, -1)
            case "list":
                held = await client.lrange(key, 0, -1)
            case "stream":
                held = await client.xrange(key)
            case other:
                raise AssertionError(other)
        found[key.decode()] = repr(held)
    return found
