"""Links that a search endpoint of the tenant proposes; only those in its sources' scopes are read.

The endpoint is the operator's own choice. Its key stays in the process settings and never reaches
a log, a model or a user.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import SecretStr

from actors.campus.dialled import dialled
from config.campus import SearchEndpointConfig
from config.policy import POLICY
from config.tenants import TenantConfig
from crawler.quiet import silence_foreign_loggers
from domain.errors import Unavailable

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("manta.campus")
WHAT = "the search endpoint"

# httpx logs whole URLs, and the key stands in one.
silence_foreign_loggers()


class LinkProposals:
    """Lives with the process, which closes it.

    The client keeps no cookie, which would carry one search into another, and follows no redirect,
    which would carry the key to another host.
    """

    def __init__(self, keys: Mapping[str, SecretStr], connect_to: Mapping[str, str]) -> None:
        self._keys = keys
        self._connect_to = connect_to
        self._client: httpx.AsyncClient | None = None

    async def links(
        self, tenant: TenantConfig, query: str, request_id: str
    ) -> list[tuple[str, str]] | None:
        """URLs with a label, best first; ``None`` where the endpoint fails, which is logged."""
        endpoint = tenant.chatbot.campus.search_endpoint if tenant.chatbot.campus else None
        if endpoint is None:
            return []
        try:
            found = json.loads(await self._asked(endpoint, query))
            links = [one for one in at_path(found, endpoint.links.split(".")) if _absolute(one)]
            return [(link, query) for link in links[: POLICY.campus.endpoint_links]]
        except Unavailable as error:
            code = error.reason
        except (ValueError, RecursionError):
            code = "malformed"
        log.warning(
            "search_endpoint_failed",
            extra={"request_id": request_id, "tenant": tenant.tenant, "code": code},
        )
        return None

    async def _asked(self, endpoint: SearchEndpointConfig, query: str) -> bytes:
        """The endpoint's answer.

        Raises:
            Unavailable: its reason is a code.
        """
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(
                cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
                follow_redirects=False,
                trust_env=False,
                # Sizes are bounded as they travel, so nothing may unpack into more.
                headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            )
        url = dialled(self._url(endpoint, query), self._connect_to)
        body = bytearray()
        try:
            async with (
                asyncio.timeout(endpoint.timeout_seconds),
                self._client.stream("GET", url, timeout=endpoint.timeout_seconds) as reply,
            ):
                if reply.status_code != 200:
                    raise Unavailable(WHAT, f"http_{reply.status_code}")
                async for part in reply.aiter_raw():
                    body += part
                    if len(body) > POLICY.campus.endpoint_bytes:
                        raise Unavailable(WHAT, "oversized")
        except (TimeoutError, httpx.TimeoutException):
            raise Unavailable(WHAT, "timeout") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError):
            raise Unavailable(WHAT, "network_error") from None
        return bytes(body)

    def _url(self, endpoint: SearchEndpointConfig, query: str) -> str:
        key = self._keys.get(endpoint.key_setting or "")
        # The key comes last: a query may hold the letters of a placeholder.
        parts = [
            quote(query, safe="").join(p.split("{query}")) for p in endpoint.url.split("{key}")
        ]
        return (quote(key.get_secret_value(), safe="") if key else "").join(parts)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _absolute(link: Any) -> bool:
    return isinstance(link, str) and link.startswith(("http://", "https://"))


def at_path(value: Any, path: list[str]) -> Iterator[Any]:
    """What stands at a path of a JSON value; ``*`` is every entry of a list."""
    if not path:
        yield value
        return
    first, rest = path[0], path[1:]
    if first == "*":
        for entry in value if isinstance(value, list) else ():
            yield from at_path(entry, rest)
    elif isinstance(value, dict) and first in value:
        yield from at_path(value[first], rest)
    elif isinstance(value, list) and first.isdigit() and int(first) < len(value):
        yield from at_path(value[int(first)], rest)
