"""The connection itself: one resolution, only checked addresses, the peer checked.

The check belongs here and nowhere earlier: a name that is looked up before the client connects is
looked up again by the client, and the second answer may be another one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import Any

import httpcore

from config.policy import PageLimits
from crawler.addresses import is_public
from domain.errors import PageFailed, PageRejected

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives all addresses of a host, as text; raises ``OSError`` (``socket.gaierror``)."""

Connector = Callable[[str, int, float | None], Awaitable[httpcore.AsyncNetworkStream]]
"""Dials one address and port within the given seconds; raises ``httpcore`` errors."""


class SystemResolver:
    """The operating system's resolver, in threads of its own.

    A lookup cannot be interrupted; a slow name server must not use up the threads that the rest
    of the process shares.
    """

    def __init__(self, threads: int = 8) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="crawler-dns")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        answers = await loop.run_in_executor(self._threads, _lookup, host, port)
        return list(dict.fromkeys(answers))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lookup(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in found]


async def dial(address: str, port: int, timeout: float | None) -> httpcore.AsyncNetworkStream:
    """Connect to one address, and make sure that this address is who answered."""
    stream = await httpcore.AnyIOBackend().connect_tcp(address, port, timeout=timeout)
    peer = stream.get_extra_info("server_addr")
    if peer is None or ip_address(str(peer[0])) != ip_address(address):
        await stream.aclose()
        raise PageRejected("non_public_address")
    return stream


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Dials public addresses only.

    Args:
        limits: ``dial_attempts`` addresses are tried at most, sharing the connection's seconds.
        connect_to: the operator's own map from "host:port" to "address:port"; such a target is
            dialled as given and exempt from the rule.
        resolver: looks names up; called once per connection.
        connector: dials one address.

    Raises:
        PageRejected: ``non_public_address``, ``invalid_url``.
        PageFailed: ``dns_error``, ``tls_error``.
    """

    def __init__(
        self,
        limits: PageLimits,
        connect_to: Mapping[str, str],
        resolver: Resolver,
        connector: Connector,
    ) -> None:
        self._limits = limits
        self._connect_to = dict(connect_to)
        self._resolver = resolver
        self._connector = connector

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        mapped = self._connect_to.get(f"{host}:{port}")
        if mapped is not None:
            address, _, mapped_port = mapped.rpartition(":")
            target = (address.strip("[]"), int(mapped_port))
            return _TlsStream(await self._connector(*target, timeout))
        addresses = await self._checked_addresses(host, port)
        return _TlsStream(await self._first_answering(addresses, port, timeout))

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise PageRejected("invalid_url")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _checked_addresses(self, host: str, port: int) -> list[str]:
        answers = await self._answers(host, port)
        if not answers:
            raise PageFailed("dns_error")
        # One closed address among public ones refuses the name: picking is what rebinding wants.
        if not all(is_public(answer) for answer in answers):
            raise PageRejected("non_public_address")
        families: dict[bool, list[str]] = {
            ":" in answers[0]: [],
            ":" not in answers[0]: [],
        }
        for answer in answers:
            families[":" in answer].append(answer)
        # Families alternate, so that a black-holed one cannot use up all attempts.
        mixed = chain.from_iterable(zip_longest(*families.values()))
        return [answer for answer in mixed if answer is not None][: self._limits.dial_attempts]

    async def _answers(self, host: str, port: int) -> list[str]:
        try:
            return [str(ip_address(host))]
        except ValueError:
            pass
        try:
            return list(await self._resolver(host, port))
        except UnicodeError:
            raise PageRejected("invalid_url") from None
        except OSError as error:
            raise PageFailed("dns_error", error_type=type(error).__name__) from None

    async def _first_answering(
        self, addresses: Sequence[str], port: int, timeout: float | None
    ) -> httpcore.AsyncNetworkStream:
        share = None if timeout is None else timeout / len(addresses)
        failure: Exception = httpcore.ConnectError()
        for address in addresses:
            try:
                return await self._connector(address, port, share)
            except (OSError, httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


class _TlsStream(httpcore.AsyncNetworkStream):
    """A stream whose failed handshake says whether TLS or the network failed."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            secured = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        except httpcore.ConnectError as error:
            await self._inner.aclose()
            cause = error.__cause__ or error.__context__
            if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
                raise PageFailed("tls_error", error_type=type(cause).__name__) from None
            raise
        return _TlsStream(secured)
