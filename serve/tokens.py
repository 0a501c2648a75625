"""Reading a token: its signature and its standard claims are checked before anything reads it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import jwt
from pydantic import SecretStr

from config.auth import PERMISSIONS, JwtAuth, Permission
from domain.errors import Unauthenticated
from serve.signing_keys import SigningKeys

log = logging.getLogger("manta.serve")
INVALID_TOKEN = "invalid_token"
WITHOUT_CLAIM: frozenset[Permission] = frozenset({"chat", "history"})
USER_CHARS = 128


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says about its bearer."""

    tenant: str
    user: str
    permissions: frozenset[Permission]


class TokenReader:
    """Lives with the process. ``keys`` are the identity provider's, unless there is a secret."""

    def __init__(self, auth: JwtAuth, keys: SigningKeys | None = None) -> None:
        self._auth = auth
        self._keys = keys or (SigningKeys(auth.jwks_url) if auth.jwks_url else None)

    async def read(self, token: SecretStr) -> Claims:
        """The claims of a valid token.

        Raises:
            Unauthenticated: malformed, not signed by a pinned algorithm with a known key, expired,
                of another issuer or audience, or without a claim that is needed.
            Unavailable: the identity provider's keys cannot be read just now.
        """
        raw = token.get_secret_value()
        try:
            # The key's name and the algorithm stand in the header; nothing in it is believed but
            # by what follows: the algorithm must be a pinned one, and the signature must fit.
            header = jwt.get_unverified_header(raw)
            algorithm = header.get("alg")
            if algorithm not in self._auth.algorithms:
                raise jwt.InvalidAlgorithmError
            content: dict[str, Any] = jwt.decode(
                raw,
                await self._key(header.get("kid"), str(algorithm)),
                algorithms=[str(algorithm)],
                audience=self._auth.audience,
                issuer=self._auth.issuer,
                leeway=self._auth.leeway_seconds,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            # The library's texts may quote the token: only the kind of error goes on.
            log.info("token_refused", extra={"error_type": type(error).__name__})
            raise Unauthenticated("the token is not valid", code=INVALID_TOKEN) from None
        return self._claims(content)

    async def close(self) -> None:
        if self._keys is not None:
            await self._keys.close()

    async def _key(self, name: object, algorithm: str) -> Any:
        if self._keys is None:
            assert self._auth.secret is not None
            return self._auth.secret.get_secret_value()
        return await self._keys.find(name if isinstance(name, str) else None, algorithm)

    def _claims(self, content: dict[str, Any]) -> Claims:
        auth = self._auth
        return Claims(
            tenant=_name(content, auth.tenant_claim),
            user=_name(content, auth.user_claim),
            permissions=self._permissions(content),
        )

    def _permissions(self, content: dict[str, Any]) -> frozenset[Permission]:
        claim, prefix = self._auth.permissions_claim, self._auth.permissions_prefix
        if claim is None:
            return WITHOUT_CLAIM
        listed = content.get(claim)
        words = listed.split() if isinstance(listed, str) else listed
        if not isinstance(words, list):
            return frozenset()
        return frozenset(known for known in PERMISSIONS if prefix + known in words)


def _name(content: dict[str, Any], claim: str) -> str:
    """A name of printable characters without spaces; keys of the store escape all others."""
    value = content.get(claim)
    plain = (
        isinstance(value, str)
        and 0 < len(value) <= USER_CHARS
        and value.isprintable()
        and not any(char.isspace() for char in value)
        and value.strip(".") != ""
    )
    if not plain:
        log.info("token_refused", extra={"error_type": "MissingName"})
        raise Unauthenticated("the token lacks a claim that is needed", code=INVALID_TOKEN)
    return str(value)
