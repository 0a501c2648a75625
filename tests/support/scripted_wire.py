"""The wire formats of chat completions, responses, decisions and embeddings."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from scripted_replies import Calls, Refused, Text

Spoken = Text | Calls | Refused


def tokens(text: str) -> int:
    """A count that a test can compute: words."""
    return len(text.split())


def pieces(text: str) -> list[str]:
    """The words of ``text`` with their spaces, as a stream sends them."""
    found = text.split(" ")
    return [word + (" " if index < len(found) - 1 else "") for index, word in enumerate(found)]


def prompt_tokens(body: dict[str, Any]) -> int:
    return tokens(json.dumps(body.get("messages") or body.get("input") or ""))


def written_tokens(reply: Spoken) -> int:
    if isinstance(reply, Refused):
        return 1
    called = " ".join(json.dumps(arguments) for _, arguments in getattr(reply, "calls", ()))
    return tokens(reply.text) + tokens(called)


def chat_usage(body: dict[str, Any], reply: Spoken) -> dict[str, Any]:
    read, written = prompt_tokens(body), written_tokens(reply)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": read // 2},
    }


def chat_message(reply: Spoken) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if isinstance(reply, Refused):
        message["refusal"] = "I cannot do that."
        return message
    message["content"] = reply.text or None
    if isinstance(reply, Calls):
        message["tool_calls"] = [_call(name, arguments) for name, arguments in reply.calls]
    return message


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"call_{uuid4().hex[:8]}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def finish_reason(reply: Spoken) -> str:
    if isinstance(reply, Calls):
        return "tool_calls"
    return reply.finish if isinstance(reply, Text) else "stop"


def chat_completion(body: dict[str, Any], reply: Spoken) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{uuid4().hex[:8]}",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [
            {"index": 0, "message": chat_message(reply), "finish_reason": finish_reason(reply)}
        ],
        "usage": chat_usage(body, reply),
    }


def chat_chunk(body: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> str:
    chunk = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return sse(chunk)


def chat_usage_chunk(body: dict[str, Any], reply: Spoken) -> str:
    return sse(
        {
            "id": "chatcmpl-scripted",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": body["model"],
            "choices": [],
            "usage": chat_usage(body, reply),
        }
    )


def response_object(body: dict[str, Any], reply: Spoken) -> dict[str, Any]:
    """The Responses API's whole answer."""
    output: list[dict[str, Any]] = []
    if isinstance(reply, Refused):
        parts = [{"type": "refusal", "refusal": "I cannot do that."}]
        output.append(_output_message(parts))
    elif reply.text:
        output.append(_output_message([_output_text(reply.text)]))
    for name, arguments in getattr(reply, "calls", ()):
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{uuid4().hex[:8]}",
                "call_id": f"call_{uuid4().hex[:8]}",
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
        )
    read, written = prompt_tokens(body), written_tokens(reply)
    cut = isinstance(reply, Text) and reply.finish == "length"
    return {
        "id": f"resp_{uuid4().hex[:8]}",
        "object": "response",
        "created_at": 1,
        "model": body["model"],
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": read // 2},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        },
    }


def _output_message(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "type": "message",
        "id": f"msg_{uuid4().hex[:8]}",
        "role": "assistant",
        "status": "completed",
        "content": parts,
    }


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def response_events(body: dict[str, Any], reply: Spoken) -> list[str]:
    """The Responses API's stream, one event an item; text comes word by word."""
    whole = response_object(body, reply)
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": started}]
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message" and item["content"][0]["type"] == "output_text":
            text = item["content"][0]["text"]
            opened = {**item, "status": "in_progress", "content": []}
            events.append(
                {"type": "response.output_item.added", "output_index": index, "item": opened}
            )
            empty = _output_text("")
            events.append(
                {"type": "response.content_part.added", "content_index": 0, "part": empty, **at}
            )
            for piece in pieces(text):
                events.append(
                    {
                        "type": "response.output_text.delta",
                        "content_index": 0,
                        "delta": piece,
                        "logprobs": [],
                        **at,
                    }
                )
            events.append(
                {
                    "type": "response.output_text.done",
                    "content_index": 0,
                    "text": text,
                    "logprobs": [],
                    **at,
                }
            )
        elif item["type"] == "function_call":
            opened = {**item, "status": "in_progress", "arguments": ""}
            events.append(
                {"type": "response.output_item.added", "output_index": index, "item": opened}
            )
            events.append(
                {
                    "type": "response.function_call_arguments.delta",
                    "delta": item["arguments"],
                    **at,
                }
            )
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    kind = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
    events.append({"type": kind, "response": whole})
    return [sse({**event, "sequence_number": n}) for n, event in enumerate(events)]


def sse(document: dict[str, Any]) -> str:
    name = f"event: {document['type']}\n" if "type" in document else ""
    return f"{name}data: {json.dumps(document)}\n\n"
