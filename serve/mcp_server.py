"""``/mcp``: each specialist as a tool of an MCP server, over streamable HTTP.

Nothing is remembered between requests, so that any replica answers any of them. The endpoint
authenticates like every other route, before the protocol is spoken; the rule on the ``Host`` header
is the application's, and a browser's page of another origin is turned away here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from config.policy import POLICY
from config.prompt_files import table
from config.tenants import SPECIALISTS
from domain.errors import InvalidInput, MantaError, NotFound
from domain.events import Activity, Event, StepStarted, TurnStopped
from domain.messages import Message, user
from serve.bounded_body import check_conversation, check_messages
from serve.errors import error_response
from serve.gateway import Gateway, TurnRequest
from serve.identity import Identity
from serve.turn_stream import said, whole_turn

PATH = "/mcp"
IDENTITY = "manta.identity"
ARGUMENTS = {"message", "conversation", "locale"}
LOCALES = ("en", "fr", "de")
Context = ServerRequestContext[Any, Request]


class McpEndpoint:
    """Lives with the application; :meth:`run` holds while it serves."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        server: Server[Any] = Server(
            "manta",
            version=version("manta-assistant"),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._manager = StreamableHTTPSessionManager(
            server, stateless=True, max_request_body_size=POLICY.input.body_bytes
        )

    def route(self) -> Route:
        return Route(PATH, endpoint=_Authenticated(self._gateway, self._manager.asgi_app))

    def run(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def _list_tools(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        tenant = self._gateway.tenants.get(_identity(context).tenant)
        return ListToolsResult(tools=[_tool(name) for name in tenant.enabled_specialists()])

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in SPECIALISTS:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:64]!r}")
        try:
            turn = _turn(_identity(context), params.name, params.arguments or {})
            self._gateway.check_entry(turn)
        except NotFound:
            return _failed(f"The specialist {params.name} is not available here.")
        except InvalidInput as error:
            return _failed(error.message)
        async with self._gateway.turn(turn) as pump:
            last = await whole_turn(pump, _progress(context))
        if isinstance(last, TurnStopped):
            return _failed(last.message)
        reply = said(last)
        return CallToolResult(
            content=[TextContent(text=reply.text)],
            structured_content=reply.model_dump(mode="json", include=set(_OUTPUT["required"])),
        )


class _Authenticated:
    """ASGI: the identity of the request, or the refusal that every route gives."""

    def __init__(self, gateway: Gateway, app: ASGIApp) -> None:
        self._gateway = gateway
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            _check_origin(request)
            identity = await self._gateway.authenticator.identify(request, "chat")
        except MantaError as error:
            await error_response(error)(scope, receive, send)
            return
        await self._app({**scope, IDENTITY: identity}, receive, send)


def _check_origin(request: Request) -> None:
    """Raises NotFound for a page of another origin; programs send no origin."""
    origin = request.headers.get("origin")
    if origin and urlsplit(origin).netloc != request.headers.get("host"):
        raise NotFound("the origin")


def _identity(context: Context) -> Identity:
    if context.request is None:
        raise RuntimeError("an MCP message came without its HTTP request")
    identity: Identity = context.request.scope[IDENTITY]
    return identity


def _turn(identity: Identity, specialist: str, arguments: dict[str, Any]) -> TurnRequest:
    unknown = sorted(set(arguments) - ARGUMENTS)
    if unknown:
        raise InvalidInput(unknown[0], "is not an argument", "remove it")
    conversation, locale = arguments.get("conversation"), arguments.get("locale")
    if conversation is not None:
        conversation = check_conversation(_text(conversation, "conversation"), "conversation")
    if locale is not None and locale not in LOCALES:
        raise InvalidInput("locale", "is not supported", "use en, fr or de")
    return TurnRequest(
        identity=identity,
        messages=_messages(_text(arguments.get("message"), "message")),
        conversation=conversation,
        entry=specialist,
        locale=locale,
    )


def _messages(text: str) -> list[Message]:
    messages = [user(text)]
    check_messages(messages, "message")
    return messages


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(field, "is not text", "send text")
    return value


def _progress(context: Context) -> Callable[[Event], Awaitable[None]]:
    """Steps and activities as progress, for a client that asked for it."""
    count = 0

    async def heard(event: Event) -> None:
        nonlocal count
        if isinstance(event, StepStarted | Activity):
            count += 1
            now = event.step if isinstance(event, StepStarted) else event.code
            await context.session.report_progress(count, message=now)

    return heard


def _failed(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=message)], is_error=True)


def _tool(specialist: str) -> Tool:
    described = table("specialists").get(specialist, {})
    return Tool(
        name=specialist,
        description=described.get("description"),
        input_schema=_INPUT,
        output_schema=_OUTPUT,
    )


_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "description": "What the person asks or says.",
            "minLength": 1,
            "maxLength": POLICY.input.message_chars,
        },
        "conversation": {
            "type": "string",
            "description": "A name of a conversation to begin or to go on with; "
            "without it nothing is kept.",
            "minLength": 1,
            "maxLength": POLICY.input.conversation_id_chars,
        },
        "locale": {
            "type": "string",
            "description": "The language of the reply; without it the message's own.",
            "enum": list(LOCALES),
        },
    },
    "required": ["message"],
    "additionalProperties": False,
}
_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "description": "How the reply came about."},
        "agent": {"type": "string", "description": "Who replied."},
        "locale": {"type": "string", "description": "The language of the reply."},
        "citations": {
            "type": "array",
            "description": "Where the answer was found, with verbatim quotes.",
            "items": {"type": "object"},
        },
    },
    "required": ["status", "agent", "locale", "citations"],
}
