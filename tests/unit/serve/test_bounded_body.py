"""A request's body at each limit: the limit is allowed, one more is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request

from config.policy import POLICY
from domain.errors import InvalidInput
from domain.messages import Message, assistant, user
from serve.bounded_body import check_conversation, check_messages, read_json, validated
from serve.errors import BODY_TOO_LARGE

LIMITS = POLICY.input


def request(body: bytes, content_type: str = "application/json", chunk: int = 65_536) -> Request:
    pieces = [body[at : at + chunk] for at in range(0, len(body), chunk)] or [b""]

    async def receive() -> dict[str, Any]:
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    headers = [(b"content-type", content_type.encode())] if content_type else []
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


async def refusal(body: bytes, content_type: str = "application/json") -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        await read_json(request(body, content_type))
    return caught.value


def sized(size: int) -> bytes:
    return b'{"a":"' + b"x" * (size - 8) + b'"}'


async def test_a_body_of_the_limit_is_read() -> None:
    assert LIMITS.body_bytes == 1024 * 1024
    assert len(await read_json(request(sized(LIMITS.body_bytes)))) == 1


async def test_a_body_one_byte_longer_is_refused_with_the_limit() -> None:
    error = await refusal(sized(LIMITS.body_bytes + 1))
    assert (error.field, error.code) == ("body", BODY_TOO_LARGE)
    assert "1048576 bytes" in error.reason


async def test_a_body_that_never_ends_is_not_read_to_its_end() -> None:
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b" " * 65_536, "more_body": True}

    headers = [(b"content-type", b"application/json")]
    endless = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    with pytest.raises(InvalidInput, match="larger"):
        await read_json(endless)
    assert read == 17


def nested(levels: int, opening: str = "[", closing: str = "]") -> bytes:
    return ('{"a":' + opening * (levels - 1) + closing * (levels - 1) + "}").encode()


async def test_twelve_levels_are_read_and_thirteen_are_refused() -> None:
    assert LIMITS.nesting == 12
    await read_json(request(nested(12)))
    error = await refusal(nested(13))
    assert (error.field, error.reason) == ("body", "is nested deeper than 12 levels")


async def test_objects_count_as_levels() -> None:
    await refusal(b'{"a":' * 13 + b"1" + b"}" * 13)
    await read_json(request(b'{"a":' * 12 + b"1" + b"}" * 12))


async def test_brackets_in_texts_and_beside_each_other_are_no_levels() -> None:
    body = json.dumps({"a": '[[[[[[[[[[[[[[[["\\[{', "b": [[1]] * 100}).encode()
    assert len(await read_json(request(body))) == 2


async def test_a_hundred_thousand_levels_are_refused_without_recursion() -> None:
    assert "nested" in (await refusal(b"[" * 100_000)).reason


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"]
)
async def test_json_is_accepted_by_its_type(kind: str) -> None:
    assert await read_json(request(b'{"a": 1}', kind)) == {"a": 1}


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/json",
        "application/jsonp",
        "text/plain; application/json",
    ],
)
async def test_a_form_that_a_foreign_page_could_send_is_refused(kind: str) -> None:
    assert (await refusal(b'{"a": 1}', kind)).field == "Content-Type"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "is not valid JSON"),
        (b"{", "is not valid JSON"),
        (b'{"a": \xff}', "is not valid JSON"),
        (b'{"a": "\xff"}', "is not valid JSON"),
        (b'{"a": 1} x', "is not valid JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not valid JSON"),
        (b"[]", "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b'"text"', "is not a JSON object"),
    ],
)
async def test_what_is_no_json_object_is_refused(body: bytes, reason: str) -> None:
    error = await refusal(body)
    assert (error.field, error.reason) == ("body", reason)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
async def test_json_is_utf_8_only(encoding: str) -> None:
    assert "JSON" in (await refusal('{"a": 1}'.encode(encoding))).reason


class _Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[_Inner]


@pytest.mark.parametrize(
    ("document", "field", "mend"),
    [
        ({}, "items", "add this field"),
        ({"items": [], "x": 1}, "x", "remove this field"),
        ({"items": [{"text": "a"}, {"text": 1}]}, "items.1.text", "correct the value"),
        ({"items": [{"text": "a", "y": 1}]}, "items.0.y", "remove this field"),
    ],
)
def test_a_refused_field_is_named_with_its_path(
    document: dict[str, Any], field: str, mend: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        validated(_Form, document)
    assert (caught.value.field, caught.value.mend) == (field, mend)


def complaint(messages: list[Message]) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        check_messages(messages)
    return caught.value


def test_two_hundred_messages_are_accepted_and_one_more_is_not() -> None:
    assert LIMITS.messages == 200
    check_messages([user("x")] * 200)
    error = complaint([user("x")] * 201)
    assert (error.field, error.reason) == ("messages", "has more than 200 items")


def test_sixteen_thousand_characters_are_accepted_and_one_more_is_not() -> None:
    assert LIMITS.message_chars == 16_000
    check_messages([user("é" * 16_000)])
    error = complaint([user("a"), assistant("x" * 16_001), user("b")])
    assert error.field == "messages.1.content"
    assert "16000 characters" in error.reason


def test_four_hundred_thousand_characters_in_all_are_accepted_and_one_more_is_not() -> None:
    assert LIMITS.total_chars == 400_000
    full = [user("x" * 16_000)] * 25
    check_messages(full)
    error = complaint([user("y"), *full])
    assert (error.field, error.reason) == ("messages", "is longer than 400000 characters in all")


@pytest.mark.parametrize("messages", [[], [user("q"), assistant("a")]])
def test_messages_end_with_the_users(messages: list[Message]) -> None:
    assert complaint(messages).reason == "does not end with a user message"


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0"])
def test_the_last_message_says_something(text: str) -> None:
    error = complaint([user("q"), user(text)])
    assert (error.field, error.reason) == ("messages.1.content", "is empty")


@pytest.mark.parametrize("name", ["c", "x" * 128, "conversation 1|é%"])
def test_a_conversation_has_1_to_128_printable_characters(name: str) -> None:
    assert check_conversation(name, "threadId") == name


@pytest.mark.parametrize("name", ["", "x" * 129, "a\nb", "a\x00b", "\u202e", "\ud800"])
def test_any_other_name_of_a_conversation_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="1 to 128 printable") as caught:
        check_conversation(name, "threadId")
    assert caught.value.field == "threadId"


def test_a_text_that_cannot_be_encoded_is_refused() -> None:
    complaint([user(json.loads('"a \\ud800"'))])
