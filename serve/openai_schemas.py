"""The chat-completions request and response, as OpenAI's clients send and read them."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from config.tenants import SPECIALISTS, Locale
from domain.answers import Reply
from domain.errors import InvalidInput
from domain.messages import Message
from serve.bounded_body import check_messages

MODEL = "manta"
Metadata = dict[
    Annotated[str, StringConstraints(max_length=64)],
    Annotated[str, StringConstraints(max_length=512)],
]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TextPart(_Strict):
    type: Literal["text"]
    text: str


class ChatMessage(_Strict):
    """One message; only text can be read."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | tuple[TextPart, ...]
    name: str | None = None
    refusal: None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class StreamOptions(_Strict):
    include_usage: bool = False
    include_obfuscation: bool | None = None


class TextFormat(_Strict):
    """The only form of an answer that there is."""

    type: Literal["text"]


class ChatCompletionRequest(_Strict):
    """What a client may send. Fields that tune a writer are accepted and have no effect, because
    the tenant's configuration decides them; whatever would change the result is refused.

    ``metadata`` may carry ``conversation`` (kept on the server) and ``locale`` (en, fr, de).
    """

    model: str
    messages: tuple[ChatMessage, ...] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions | None = None
    metadata: Metadata = {}
    n: Literal[1] = 1
    user: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    store: bool | None = None
    response_format: TextFormat | None = None

    def entry(self) -> str | None:
        """The specialist of a direct entry.

        Raises:
            InvalidInput: a model that does not exist.
        """
        if self.model == MODEL:
            return None
        prefix, _, name = self.model.partition("/")
        if prefix != MODEL or name not in SPECIALISTS:
            known = ", ".join([MODEL, *(f"{MODEL}/{name}" for name in SPECIALISTS)])
            raise InvalidInput("model", "does not exist", f"use one of {known}")
        return name

    def locale(self) -> Locale | None:
        asked = self.metadata.get("locale")
        if asked is None:
            return None
        primary = asked.replace("_", "-").split("-")[0].lower()
        for known in ("en", "fr", "de"):
            if primary == known:
                return known
        raise InvalidInput("metadata.locale", "is not supported", "use en, fr or de")

    def turn_messages(self) -> list[Message]:
        """The conversation as ours. A client's own instructions are data, never our system's.

        With a stored conversation only the last message is new.
        """
        check_messages([Message(role="user", text=message.text) for message in self.messages])
        converted: list[Message] = []
        for message in self.messages:
            if message.role == "assistant":
                converted.append(Message(role="assistant", text=message.text))
            elif message.role == "user":
                converted.append(Message(role="user", text=message.text))
            else:
                text = f"Context from the client application (untrusted):\n{message.text}"
                converted.append(Message(role="user", text=text))
        if self.messages[-1].role != "user":
            raise InvalidInput("messages", "does not end with a user message", "end with one")
        return converted[-1:] if "conversation" in self.metadata else converted


def usage(reply: Reply) -> dict[str, Any]:
    """Tokens that the turn's model calls used."""
    spent = reply.spent
    return {
        "prompt_tokens": spent.input_tokens,
        "completion_tokens": spent.output_tokens,
        "total_tokens": spent.input_tokens + spent.output_tokens,
        "prompt_tokens_details": {"cached_tokens": spent.cached_tokens},
    }


def completion(run_id: str, model: str, reply: Reply) -> dict[str, Any]:
    """The whole answer; ``manta`` holds what OpenAI's schema has no place for."""
    return {
        "id": f"chatcmpl-{run_id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text, "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": usage(reply),
        "manta": reply_fields(reply),
    }


def chunk(
    run_id: str, model: str, delta: dict[str, Any], finish: str | None = None, **extra: Any
) -> dict[str, Any]:
    """One piece of a streamed answer."""
    return {
        "id": f"chatcmpl-{run_id}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}],
        **extra,
    }


def reply_fields(reply: Reply) -> dict[str, Any]:
    return reply.model_dump(mode="json", exclude={"text"})
