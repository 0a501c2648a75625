"""Fetching one page: its connection, its redirects and its body, within one deadline.

httpcore is used without httpx's client around it: that client parses ``Location`` before we judge
it, keeps cookies, decodes what a server likes and logs whole URLs. The only text that is dialled
is the canonical URL that :mod:`crawler.scope` admitted.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeVar, cast

import httpcore

from config.policy import POLICY, PageLimits
from crawler.bodies import (
    BodyReader,
    RawHeaders,
    check_announced_length,
    check_signature,
    content_type,
    header_values,
    is_gzip,
)
from crawler.connections import HostConnections
from crawler.limits import PARSE, ParseLimits
from crawler.network import CheckedNetwork, Connector, Resolver, SystemResolver, dial
from crawler.pages import FetchedPage, PageRequest, PageValidators
from crawler.parsers import PageParsers, PageReader
from crawler.pool import connections_share
from crawler.quiet import silence_foreign_loggers, url_hash
from crawler.scope import Scope
from domain.errors import MantaError, PageFailed, PageRejected

logger = logging.getLogger("crawler")

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_PAGES: Final = frozenset({200, 203})
_TECHNICAL_HEADERS: Final = (
    (b"User-Agent", b"manta-reader/1.0"),
    (b"Accept", b"text/html, application/xhtml+xml, text/plain;q=0.8"),
    (b"Accept-Encoding", b"gzip"),
)
_VALIDATOR_CHARS: Final = 512
_Failure = TypeVar("_Failure", bound=MantaError)


class PageFetcher:
    """Fetches and reads pages; lives with the process.

    Args:
        limits: seconds, redirects and bytes of one page; connections to one host.
        pool_size: how many fetchers share the connections to one host, see :mod:`crawler.pool`.
        parse_limits: what reading a body may cost.
        connect_to: the operator's own map from "host:port" to "address:port"; such a target is
            dialled as given and exempt from the public-address rule.
        resolver: looks names up; the system's by default.
        connector: dials one address; TCP by default.
        parsers: where bodies are read; killable processes by default.
        ssl_context: verifies certificates; certifi's roots by default. The environment's
            certificate variables are ignored.
    """

    def __init__(
        self,
        *,
        limits: PageLimits = POLICY.page,
        pool_size: int = 1,
        parse_limits: ParseLimits = PARSE,
        connect_to: Mapping[str, str] | None = None,
        resolver: Resolver | None = None,
        connector: Connector | None = None,
        parsers: PageReader | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        silence_foreign_loggers()
        self._limits = limits
        self._own_resolver = SystemResolver() if resolver is None else None
        network = CheckedNetwork(
            limits,
            connect_to or {},
            resolver or cast(Resolver, self._own_resolver),
            connector or dial,
        )
        share = connections_share(pool_size, limits.connections_per_host)
        self._connections = HostConnections(network, share, ssl_context)
        self._parsers: PageReader = parsers or PageParsers(parse_limits)

    async def fetch(self, request: PageRequest) -> FetchedPage:
        """Fetch ``request.url``, following redirects within its source's scope.

        Raises:
            PageRejected: ``invalid_url``, ``non_public_address``, ``redirect_out_of_scope``,
                ``redirect_missing_location``.
            PageFailed: ``redirect_limit``, ``http_error``, ``timeout``, ``dns_error``,
                ``tls_error``, ``network_error``, ``unsupported_content_type``,
                ``unsupported_content_encoding``, ``oversized``, ``unexpected``.

        Both carry a field ``trail``: hashes of the URLs that led to the failure.
        """
        trail: list[str] = [url_hash(request.url)]
        try:
            return await self._fetch(request, trail)
        except (PageRejected, PageFailed) as failure:
            raise _with_trail(failure, trail) from None
        except (TimeoutError, httpcore.TimeoutException) as error:
            failed = PageFailed("timeout", error_type=type(error).__name__)
        except ssl.SSLError as error:
            failed = PageFailed("tls_error", error_type=type(error).__name__)
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            failed = PageFailed("network_error", error_type=type(error).__name__)
        except Exception as error:  # noqa: BLE001 - the last resort that keeps foreign text out of logs
            failed = PageFailed("unexpected", error_type=type(error).__name__)
        raise _with_trail(failed, trail) from None

    async def close(self) -> None:
        """Close connections, resolver threads and parser processes."""
        try:
            await self._connections.close()
        finally:
            if self._own_resolver is not None:
                self._own_resolver.close()
            await self._parsers.close()

    async def _fetch(self, request: PageRequest, trail: list[str]) -> FetchedPage:
        scope = Scope(request.source, secure=request.secure)
        url = scope.admit_link(request.url, request.url)
        self._parsers.warm()
        # Every redirect stays on the host, and the wait for a connection is the page's own time.
        host = url.split("/", 3)[2]
        async with asyncio.timeout(self._limits.seconds), self._connections.to(host) as pool:
            for _ in range(self._limits.redirects + 1):
                async with self._exchange(pool, url, request) as response:
                    headers: RawHeaders = response.headers
                    if response.status not in _REDIRECTS:
                        answer = await self._answer(response, request, url)
                        break
                url = scope.admit_redirect(url, _location(headers))
                trail.append(url_hash(url))
            else:
                raise PageFailed("redirect_limit")
        secure = url.startswith("https:")
        if isinstance(answer, PageValidators):
            return FetchedPage(
                requested_url=request.url,
                url=url,
                secure=secure,
                not_modified=True,
                validators=answer,
            )
        body, media_type = answer
        page = await self._parsers.parse(
            body, media_type, url, request.source, secure or request.secure
        )
        return FetchedPage(
            requested_url=request.url,
            url=url,
            secure=secure,
            page=page,
            validators=_validators(headers, url),
        )

    async def _answer(
        self, response: httpcore.Response, request: PageRequest, url: str
    ) -> tuple[bytes, str] | PageValidators:
        """The body and its type, or the validators of a page that did not change."""
        headers: RawHeaders = response.headers
        asked = request.validators
        if response.status == 304 and asked and url == (asked.url or request.url):
            given = _validators(headers, url)
            return given if given else asked
        if response.status < 200:
            raise PageFailed("network_error", status=response.status)
        if response.status not in _PAGES:
            raise PageFailed("http_error", status=response.status)
        media_type = content_type(headers)
        reader = BodyReader(self._limits.body_bytes, gzip=is_gzip(headers))
        check_announced_length(headers, self._limits.body_bytes)
        async for chunk in cast("AsyncIterator[bytes]", response.stream):
            reader.feed(chunk)
        body = reader.finish()
        check_signature(body, media_type)
        return body, media_type

    @asynccontextmanager
    async def _exchange(
        self, pool: httpcore.AsyncConnectionPool, url: str, request: PageRequest
    ) -> AsyncIterator[httpcore.Response]:
        target = dialled(url)
        host = url.split("/", 3)[2]
        headers = [(b"Host", host.encode("ascii")), *_TECHNICAL_HEADERS]
        asked = request.validators
        if asked and url == (asked.url or request.url):
            headers += _conditions(asked)
        seconds = self._limits.seconds
        outgoing = httpcore.Request(
            "GET",
            target,
            headers=headers,
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)},
        )
        response = await pool.handle_async_request(outgoing)
        try:
            yield response
        finally:
            await response.aclose()


def dialled(url: str) -> httpcore.URL:
    """A canonical URL for the client, by its parts: nothing parses its text again."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return httpcore.URL(
        scheme=scheme.encode("ascii"),
        host=host.strip("[]").encode("ascii"),
        port=None,
        target=(slash + path).encode("ascii"),
    )


def _with_trail(error: _Failure, trail: list[str]) -> _Failure:
    # A field travels with the error between processes; hashes may be logged, URLs may not.
    error.fields["trail"] = tuple(trail)
    return error


def _location(headers: RawHeaders) -> str | None:
    values = header_values(headers, b"location")
    if len(values) > 1:
        raise PageRejected("invalid_url")
    if not values:
        return None
    try:
        return values[0].decode("utf-8")
    except UnicodeDecodeError:
        # Guessing another encoding would ask for another resource.
        raise PageRejected("invalid_url") from None


def _validators(headers: RawHeaders, url: str) -> PageValidators:
    found: dict[str, str] = {}
    for field, name in (("etag", b"etag"), ("last_modified", b"last-modified")):
        values = header_values(headers, name)
        if len(values) == 1 and len(values[0]) <= _VALIDATOR_CHARS and values[0].isascii():
            found[field] = values[0].decode("ascii")
    return PageValidators(**found, url=url)


def _conditions(asked: PageValidators) -> list[tuple[bytes, bytes]]:
    conditions = []
    if asked.etag is not None:
        conditions.append((b"If-None-Match", asked.etag.encode("ascii")))
    if asked.last_modified is not None:
        conditions.append((b"If-Modified-Since", asked.last_modified.encode("ascii")))
    return conditions
