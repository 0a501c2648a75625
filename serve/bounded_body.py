"""Reading a request's body within the input limits, before anything else looks at it.

Every refusal names the field, the limit and the mend.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from config.policy import POLICY
from domain.errors import InvalidInput
from domain.messages import Message
from serve.errors import BODY_TOO_LARGE

Body = TypeVar("Body", bound=BaseModel)


async def read_json(request: Request) -> dict[str, Any]:
    """The body as a JSON object of bounded size and nesting."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise InvalidInput("Content-Type", "is not application/json", "send a JSON body")
    limit = POLICY.input.body_bytes
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limit:
            error = InvalidInput("body", f"is larger than {limit} bytes", "send less")
            error.code = BODY_TOO_LARGE
            raise error
    _check_nesting(bytes(raw))
    try:
        document = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput("body", "is not valid JSON", "correct it") from error
    if not isinstance(document, dict):
        raise InvalidInput("body", "is not a JSON object", "send an object")
    return document


def _check_nesting(raw: bytes) -> None:
    """Count brackets outside strings before the parser recurses into them."""
    depth, quoted, escaped = 0, False, False
    for byte in raw:
        if quoted:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                quoted = False
        elif byte == 0x22:
            quoted = True
        elif byte in b"[{":
            depth += 1
            if depth > POLICY.input.nesting:
                raise InvalidInput(
                    "body", f"is nested deeper than {POLICY.input.nesting} levels", "flatten it"
                )
        elif byte in b"]}":
            depth -= 1


def validated(model: type[Body], document: dict[str, Any]) -> Body:
    """The schema's instance; the first complaint becomes an InvalidInput."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "body"
        mends = {"extra_forbidden": "remove this field", "missing": "add this field"}
        raise InvalidInput(
            field, first["msg"], mends.get(first["type"], "correct the value")
        ) from error


def check_messages(messages: Sequence[Message], field: str = "messages") -> None:
    """Number and size of messages; there must be a user's message at the end."""
    limits = POLICY.input
    if len(messages) > limits.messages:
        raise InvalidInput(field, f"has more than {limits.messages} items", "send fewer")
    total = 0
    for index, message in enumerate(messages):
        total += len(message.text)
        check_text(message.text, f"{field}.{index}.content")
    if total > limits.total_chars:
        raise InvalidInput(
            field, f"is longer than {limits.total_chars} characters in all", "send less"
        )
    if not messages or messages[-1].role != "user":
        raise InvalidInput(field, "does not end with a user message", "end with one")
    if not messages[-1].text.strip():
        raise InvalidInput(f"{field}.{len(messages) - 1}.content", "is empty", "write something")


def check_text(text: str, field: str) -> None:
    """One text: bounded, and made of whole characters."""
    limit = POLICY.input.message_chars
    if len(text) > limit:
        raise InvalidInput(field, f"is longer than {limit} characters", "shorten it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(field, "holds half a surrogate pair", "send whole characters") from error


def check_conversation(value: str, field: str) -> str:
    """A conversation's name: bounded, without control characters, and not one that every client
    takes out of an address."""
    limit = POLICY.input.conversation_id_chars
    if value in {".", ".."}:
        raise InvalidInput(field, "means a folder in an address", "choose another name")
    if not value or len(value) > limit or not value.isprintable():
        raise InvalidInput(field, f"is not 1 to {limit} printable characters", "shorten it")
    return value
