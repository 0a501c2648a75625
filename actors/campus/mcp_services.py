"""MCP servers that tenants name: a connection for one request, and a check at the start."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from pydantic import SecretStr

from actors.campus.dialled import dialled
from config.campus import SubagentConfig
from crawler.quiet import silence_foreign_loggers
from domain.deadlines import within
from domain.errors import MantaError, Unavailable

log = logging.getLogger("manta.campus")

# The protocol's client and the HTTP client below it log addresses and messages.
silence_foreign_loggers()


class McpServices:
    """Lives with the process. A token comes from the process settings and goes nowhere else."""

    def __init__(self, keys: Mapping[str, SecretStr], connect_to: Mapping[str, str]) -> None:
        self._keys = keys
        self._connect_to = connect_to

    @asynccontextmanager
    async def connection(self, subagent: SubagentConfig) -> AsyncGenerator[Any, None]:
        """A client of the subagent's server. Redirects are not followed."""
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        headers = {}
        key = self._keys.get(subagent.token_setting or "")
        if key is not None:
            headers["Authorization"] = f"Bearer {key.get_secret_value()}"
        url = dialled(subagent.url, self._connect_to)
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, follow_redirects=False) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            yield client

    async def check(self, subagent: SubagentConfig) -> None:
        """Raises Unavailable or DeadlineExceeded unless the server answers and has a tool."""
        with translated(subagent):
            async with (
                within(subagent.timeout_seconds, f"the subagent {subagent.name}"),
                self.connection(subagent) as client,
            ):
                if not (await client.list_tools()).tools:
                    raise Unavailable(f"the subagent {subagent.name}", "its server has no tools")


@contextmanager
def translated(subagent: SubagentConfig) -> Iterator[None]:
    """Whatever the protocol's client raises is an unavailable subagent. It wraps errors of ours in
    groups; those are taken out again."""
    try:
        yield
    except MantaError:
        raise
    except Exception as error:  # noqa: BLE001 - a foreign client's errors have no common class
        ours = _ours(error)
        if ours is not None:
            raise ours from None
        log.warning(
            "subagent_failed",
            extra={"subagent": subagent.name, "error_type": type(error).__name__},
        )
        raise Unavailable(f"the subagent {subagent.name}", "it cannot be reached") from None


def _ours(error: BaseException) -> MantaError | None:
    if isinstance(error, MantaError):
        return error
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for part in parts if (found := _ours(part)) is not None), None)
