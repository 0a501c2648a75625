"""How requests are authenticated: what the operator decides, and the file of API keys.

A key is 256 random bits. A guess is hopeless whatever the hash costs, so the file holds plain
SHA-256: a slow hash protects passwords that people choose, and would cost every request instead.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    model_validator,
)

from config.tenants import TenantId, describe_validation
from domain.errors import InvalidConfiguration

Permission = Literal["chat", "history", "administration"]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
"""``chat`` begins turns and adds documents, ``history`` reads and edits what is kept about the
caller, ``administration`` reads what the tenant's users rated."""

Algorithm = Literal[
    "HS256",
    "HS384",
    "HS512",
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
]
SYMMETRIC = frozenset({"HS256", "HS384", "HS512"})

UserName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.@-]{1,128}$")]
SECRET_BYTES = 32
KEY_BYTES = 32
KEY_PREFIX = "manta_"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NoAuth(_Strict):
    """Nobody proves who they are; only on loopback."""

    mode: Literal["none"] = "none"


class ApiKeyAuth(_Strict):
    """Keys of a file; ``keys`` is its path, the same on every node."""

    mode: Literal["api_keys"]
    keys: Path


class JwtAuth(_Strict):
    """Tokens of an identity provider.

    ``algorithms`` are pinned: with a ``jwks_url`` only asymmetric ones, with a ``secret`` only
    symmetric ones, so that no public key is ever taken for a secret. The claims are the names of
    members at the top of the token. Without a ``permissions_claim`` a token may chat and read its
    own history; with one it may do what the claim lists (words, or one string of words), each
    after ``permissions_prefix``.
    """

    mode: Literal["jwt"]
    issuer: str = Field(min_length=1)
    audience: str = Field(min_length=1)
    algorithms: tuple[Algorithm, ...] = Field(min_length=1)
    jwks_url: str | None = None
    secret: SecretStr | None = None
    tenant_claim: str = Field(default="tenant", min_length=1)
    user_claim: str = Field(default="sub", min_length=1)
    permissions_claim: str | None = Field(default=None, min_length=1)
    permissions_prefix: str = ""
    leeway_seconds: float = Field(default=30.0, ge=0, le=120)

    @model_validator(mode="after")
    def _one_kind_of_key(self) -> JwtAuth:
        if (self.jwks_url is None) == (self.secret is None):
            raise ValueError("give either jwks_url or secret")
        symmetric = [name for name in self.algorithms if name in SYMMETRIC]
        if self.secret is not None:
            if len(symmetric) < len(self.algorithms):
                raise ValueError("a secret goes with HS256, HS384 or HS512 only")
            if len(self.secret.get_secret_value().encode("utf-8")) < SECRET_BYTES:
                raise ValueError(f"the secret is shorter than {SECRET_BYTES} bytes")
            return self
        if symmetric:
            raise ValueError(f"{symmetric[0]} needs a secret, never the keys of a jwks_url")
        parts = urlsplit(self.jwks_url or "")
        loopback = parts.hostname in {"127.0.0.1", "::1", "localhost"}
        if not parts.hostname or not (
            parts.scheme == "https" or (parts.scheme == "http" and loopback)
        ):
            raise ValueError("jwks_url must begin with https:// (http:// on loopback only)")
        return self


AuthSettings = Annotated[NoAuth | ApiKeyAuth | JwtAuth, Field(discriminator="mode")]
MODES = ("none", "api_keys", "jwt")


class ApiKey(_Strict):
    """One entry of the file: whose the key with this ``hash`` is and what it may do.

    Either ``user`` names the one person it stands for, or ``scope`` is ``tenant``: its holder, a
    service of the tenant, then names the person in each request.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9_.@-]{1,64}$")
    hash: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    tenant: TenantId
    user: UserName | None = None
    scope: Literal["tenant"] | None = None
    permissions: frozenset[Permission] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_owner(self) -> ApiKey:
        if (self.user is None) == (self.scope is None):
            raise ValueError('give either user or "scope": "tenant"')
        return self


def new_key() -> tuple[str, str]:
    """A new key, which is shown once, and its hash, which is kept."""
    key = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    return key, hash_of(key)


def hash_of(key: str) -> str:
    return f"sha256:{hashlib.sha256(key.encode('utf-8')).hexdigest()}"


def load_keys(path: Path) -> tuple[ApiKey, ...]:
    """Read the file: an object whose ``keys`` is a list of entries.

    Raises:
        InvalidConfiguration: names the file, the entry and its field; never a hash.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidConfiguration(
            "MANTA_AUTH.keys", f"{path} cannot be read ({error.strerror})", "check the path"
        ) from error
    except ValueError as error:
        raise InvalidConfiguration(str(path), "is not valid JSON", "correct the file") from error
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list) or set(document) != {"keys"}:
        raise InvalidConfiguration(
            str(path), 'is not an object with one list "keys"', 'write {"keys": [...]}'
        )
    keys: list[ApiKey] = []
    for number, entry in enumerate(entries):
        where = _place(path, number, entry)
        try:
            key = ApiKey.model_validate_json(json.dumps(entry))
        except ValidationError as error:
            raise describe_validation(error, f"{where}.") from None
        for field in ("id", "hash"):
            if any(getattr(known, field) == getattr(key, field) for known in keys):
                raise InvalidConfiguration(
                    f"{where}.{field}", "stands for another entry too", "remove one of them"
                )
        keys.append(key)
    return tuple(keys)


def _place(path: Path, number: int, entry: object) -> str:
    name = entry.get("id") if isinstance(entry, dict) else None
    return f"{path}: keys.{number}" + (f" ({name})" if isinstance(name, str) else "")
