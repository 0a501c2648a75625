"""Conversation ids in paths: any printable characters, slashes included.

An id stands percent-encoded in one segment of the path. Routing sees paths decoded, where a slash
of an id looks like one of the path; under the conversations it is therefore shown them encoded.
"""

from __future__ import annotations

from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from domain.errors import InvalidInput
from serve.bounded_body import check_conversation

PREFIX = "/v1/conversations/"


class EncodedPaths:
    """ASGI middleware: routes under the prefix match, and get, segments as they were sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path")
        begin = f"{scope.get('root_path', '')}{PREFIX}"
        if scope["type"] == "http" and raw and scope["path"].startswith(begin):
            scope = {**scope, "path": raw.decode("ascii")}
        await self._app(scope, receive, send)


def conversation_of(segment: str) -> str:
    """The conversation's id that a segment of the path stands for.

    Raises:
        InvalidInput: it is no id.
    """
    try:
        value = unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidInput("conversation", "is not UTF-8", "encode it as UTF-8") from error
    return check_conversation(value, "conversation")
