"""A raw-socket web site on loopback, with a stub resolver and a stub connector.

No test dials anything but loopback: the resolver answers with public addresses and the connector,
which records what was dialled, maps them to this server.
"""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import httpcore
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from config.policy import POLICY
from config.tenants import WebConfig, WebSourceConfig
from crawler.fetch import PageFetcher
from crawler.session import BrowsingSession

HOST = "www.example.org"
ADDRESS = "93.184.216.34"
SEED = f"https://{HOST}/policies/index.html"
LIMITS = replace(POLICY.page, body_bytes=1024 * 1024, seconds=5.0)

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]
Answer = bytes | Handler


def answer(
    status: str = "200 OK",
    headers: Sequence[str] = ("Content-Type: text/html; charset=utf-8",),
    body: bytes = b"",
    length: bool = True,
) -> bytes:
    """A raw response."""
    lines = [f"HTTP/1.1 {status}", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def page(*links: str, title: str = "Policies", text: str = "") -> bytes:
    """A small page with prose and links, as a raw response."""
    anchors = "".join(f'<li><a href="{link}">Target {n}</a></li>' for n, link in enumerate(links))
    prose = text or "Everybody who works here may ask for leave two weeks ahead. " * 6
    html = f"<html lang=en><title>{title}</title><body><main><h1>{title}</h1><p>{prose}</p>"
    return answer(body=f"{html}<ul>{anchors}</ul></main></body></html>".encode())


def redirect(location: str | bytes, status: str = "302 Found") -> bytes:
    raw = location.encode() if isinstance(location, str) else location
    head = f"HTTP/1.1 {status}\r\nLocation: ".encode()
    return head + raw + b"\r\nContent-Length: 0\r\n\r\n"


class Authority:
    """A certificate authority of the tests' own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        self._own = self._sign(self._name, self._key, None, authority=True)
        self.trusting = ssl.create_default_context(cadata=self._pem(self._own))

    def server_context(self, *names: str, days: int = 30, trusted: bool = True) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        alternatives: list[x509.GeneralName] = []
        for name in names:
            try:
                alternatives.append(x509.IPAddress(ip_address(name)))
            except ValueError:
                alternatives.append(x509.DNSName(name))
        certificate = self._sign(
            subject, key, alternatives, days=days, own=None if trusted else key
        )
        path = self._folder / f"{abs(hash((names, days, trusted)))}.pem"
        path.write_text(
            self._pem(certificate)
            + key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ).decode()
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        alternatives: list[x509.GeneralName] | None,
        *,
        authority: bool = False,
        days: int = 30,
        own: ec.EllipticCurvePrivateKey | None = None,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        start = now - datetime.timedelta(days=60)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if own else self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if alternatives is not None:
            builder = builder.add_extension(
                x509.SubjectAlternativeName(alternatives), critical=False
            )
        return builder.sign(own or self._key, hashes.SHA256())

    @staticmethod
    def _pem(certificate: x509.Certificate) -> str:
        return certificate.public_bytes(serialization.Encoding.PEM).decode()


class Site:
    """The server, the resolver and the connector of one test."""

    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self.routes: dict[str, Answer] = {}
        self.requests: list[bytes] = []
        self.schemes: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.lookups: list[str] = []
        self.dns: dict[str, list[Sequence[str] | Exception]] = {}
        self.refusing: set[str] = set()
        self.black_holes = False
        self.handshake: ssl.SSLContext | None = authority.server_context(HOST)
        self._servers: list[asyncio.Server] = []
        self._ports: dict[int, int] = {}
        self._starting = asyncio.Lock()
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._listen(80, None)

    async def _listen(self, port: int, context: ssl.SSLContext | None) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._open.add(task)
            try:
                await self._serve(reader, writer, "https" if context else "http")
            except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                pass
            finally:
                self._open.discard(task)
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context, limit=2**22)
        self._servers.append(server)
        self._ports[port] = server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, scheme: str
    ) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(head)
            self.schemes.append(scheme)
            target = head.split(b" ", 2)[1].decode()
            reply = self.routes.get(f"{scheme}:{target}") or self.routes.get(target)
            if reply is None:
                reply = answer("404 Not Found", body=b"<p>nothing here</p>")
            if callable(reply):
                await reply(reader, writer, head)
                return
            writer.write(reply)
            await writer.drain()
            if b"Content-Length" not in reply.split(b"\r\n\r\n", 1)[0]:
                return

    async def resolver(self, host: str, port: int) -> Sequence[str]:
        self.lookups.append(host)
        answers = self.dns.get(host)
        if not answers:
            return [ADDRESS]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(found, Exception):
            raise found
        return found

    async def connector(
        self, address: str, port: int, timeout: float | None
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append((address, port))
        if self.black_holes:
            try:
                await asyncio.sleep(timeout if timeout is not None else 3600)
            finally:
                pass
            raise httpcore.ConnectTimeout
        if address in self.refusing:
            raise httpcore.ConnectError("refused")
        async with self._starting:
            if port == 443 and 443 not in self._ports:
                await self._listen(443, self.handshake)
        backend = httpcore.AnyIOBackend()
        return await backend.connect_tcp("127.0.0.1", self._ports[port], timeout=timeout)

    def paths(self) -> list[str]:
        return [head.split(b" ", 2)[1].decode() for head in self.requests]


def browsing(fetcher: PageFetcher, *seeds: str, **web: object) -> BrowsingSession:
    """A session over ``seeds`` with generous page budgets."""
    given = {"max_pages_per_source": 20, "max_pages": 40, "max_depth": 3, **web}
    config = WebConfig(
        enabled=True,
        sources=tuple(WebSourceConfig(url=seed) for seed in seeds or (SEED,)),
        **given,  # type: ignore[arg-type]
    )
    return BrowsingSession(config, fetcher.fetch, request_id="r1")
