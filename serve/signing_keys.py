"""The identity provider's public keys: fetched within bounded time, cached, and rotated."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import jwt

from domain.errors import Unavailable

log = logging.getLogger("manta.serve")
KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC"}
"""Which type of key an algorithm needs, by the first letters of its name."""


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """Seconds, and bytes of the provider's answer.

    Keys are fetched again after ``fresh_seconds``; while that fails they are used until
    ``kept_seconds``. An unknown name of a key makes one fetch in ``again_seconds`` at most, however
    many tokens carry one, and so does a provider that does not answer.
    """

    seconds: float = 5.0
    body_bytes: int = 256 * 1024
    fresh_seconds: float = 300.0
    kept_seconds: float = 3_600.0
    again_seconds: float = 10.0


class SigningKeys:
    """Lives with the process. One fetch serves all requests that wait for it."""

    def __init__(
        self,
        url: str,
        limits: KeyLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._limits = limits or KeyLimits()
        self._clock = clock
        self._keys: list[dict[str, Any]] = []
        self._fetched: float | None = None
        self._tried: float | None = None
        self._fetching = asyncio.Lock()
        self._client = httpx.AsyncClient(
            timeout=self._limits.seconds, follow_redirects=False, trust_env=False
        )

    async def find(self, name: str | None, algorithm: str) -> jwt.PyJWK:
        """The key of that name for that algorithm; without a name, the only one that fits.

        Raises:
            jwt.PyJWTError: there is none.
            Unavailable: nobody can tell, because the provider does not answer.
        """
        age = self._age()
        if age is None or age > self._limits.fresh_seconds:
            await self._refresh(self._fetched)
        found = self._fitting(name, algorithm)
        if found is None:
            # A new key may be in use since a moment ago.
            await self._refresh(self._fetched)
            found = self._fitting(name, algorithm)
        age = self._age()
        if age is None or age > self._limits.kept_seconds:
            raise _unavailable()
        if found is None:
            if self._tried != self._fetched:
                raise _unavailable()
            raise jwt.InvalidKeyError
        return jwt.PyJWK(found, algorithm)

    async def close(self) -> None:
        await self._client.aclose()

    def _age(self) -> float | None:
        return None if self._fetched is None else self._clock() - self._fetched

    def _fitting(self, name: str | None, algorithm: str) -> dict[str, Any] | None:
        fitting = [
            key
            for key in self._keys
            if key.get("kty") == KINDS.get(algorithm[:2])
            and key.get("use") in (None, "sig")
            and key.get("alg") in (None, algorithm)
            and (name is None or key.get("kid") == name)
        ]
        return fitting[0] if len(fitting) == 1 else None

    async def _refresh(self, seen: float | None) -> None:
        """Fetch, unless another request just did or it was tried a moment ago."""
        async with self._fetching:
            if self._fetched != seen:
                return
            now, before = self._clock(), self._tried
            if self._tried is not None and now - self._tried < self._limits.again_seconds:
                return
            self._tried = now
            try:
                async with asyncio.timeout(self._limits.seconds):
                    self._keys = await self._fetch()
            except asyncio.CancelledError:
                # This request's client left; the next request tries at once.
                self._tried = before
                raise
            except (httpx.HTTPError, TimeoutError, ValueError, RecursionError) as error:
                log.warning("signing_keys_not_read", extra={"error_type": type(error).__name__})
                return
            self._fetched = now

    async def _fetch(self) -> list[dict[str, Any]]:
        """The provider's list of keys; raises ValueError when it is none."""
        body = bytearray()
        async with self._client.stream("GET", self._url) as reply:
            if reply.status_code != 200:
                raise ValueError(f"status {reply.status_code}")
            async for chunk in reply.aiter_bytes():
                body += chunk
                if len(body) > self._limits.body_bytes:
                    raise ValueError("too large")
        document = json.loads(bytes(body))
        keys = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(keys, list):
            raise ValueError("no list of keys")
        return [key for key in keys if isinstance(key, dict)]


def _unavailable() -> Unavailable:
    return Unavailable("the identity provider", "its keys cannot be read")
