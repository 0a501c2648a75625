"""Who is asking, in each of the three modes: headers on loopback, API keys, tokens.

A request says who it is with a bearer key or token only. There are no cookies, so that no foreign
page can make a browser ask in its user's name.
"""

from __future__ import annotations

import hmac
import logging
from abc import ABC, abstractmethod

from pydantic import SecretStr
from starlette.requests import Request

from config.auth import ApiKey, ApiKeyAuth, JwtAuth, NoAuth, Permission, hash_of, load_keys
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import Forbidden, InvalidConfiguration, InvalidInput, NotFound, Unauthenticated
from serve.identity import TENANT_HEADER, USER_HEADER, Identity, not_the_callers, plain_name
from serve.tokens import TokenReader

log = logging.getLogger("manta.serve")
BEARER_CHARS = 16_384


class Authenticator(ABC):
    """Lives with the process; one of the three modes."""

    async def identify(self, request: Request, permission: Permission) -> Identity:
        """The caller, who may do what ``permission`` names.

        Raises:
            Unauthenticated: no valid key or token.
            Forbidden: a valid one without the permission.
            NotFound: an unknown tenant, or headers that name another owner.
            InvalidInput: a malformed name, or none where one is needed.
            Unavailable: the identity provider's keys cannot be read.
        """
        try:
            identity = await self._caller(request)
        except Unauthenticated as error:
            log.info("request_not_authenticated", extra={"code": error.code})
            raise
        if permission not in identity.permissions:
            log.info(
                "permission_missing",
                extra={"tenant": identity.tenant, "user": identity.user, "permission": permission},
            )
            raise Forbidden(permission)
        return identity

    @abstractmethod
    async def _caller(self, request: Request) -> Identity: ...

    async def close(self) -> None:  # noqa: B027 - most modes open nothing
        """Close what was opened."""


class HeaderAuthenticator(Authenticator):
    """Mode ``none``: the headers are believed, because only this machine can send them."""

    def __init__(self, settings: Settings, tenants: TenantDirectory) -> None:
        self._settings = settings
        self._tenants = tenants

    async def _caller(self, request: Request) -> Identity:
        tenant = request.headers.get(TENANT_HEADER) or self._settings.default_tenant
        if tenant is None:
            known = [config.tenant for config in self._tenants]
            if len(known) != 1:
                raise InvalidInput("X-Manta-Tenant", "is missing", "name the organisation")
            tenant = known[0]
        user = request.headers.get(USER_HEADER) or self._settings.default_user
        plain_name(tenant, "X-Manta-Tenant")
        plain_name(user, "X-Manta-User")
        return Identity(tenant=self._tenants.get(tenant).tenant, user=user)


class KeyAuthenticator(Authenticator):
    """Mode ``api_keys``: the hash of the bearer key is one of the file's."""

    def __init__(self, auth: ApiKeyAuth, tenants: TenantDirectory) -> None:
        self._keys = load_keys(auth.keys)
        check_tenants(auth, self._keys, tenants)

    async def _caller(self, request: Request) -> Identity:
        presented = hash_of(bearer(request).get_secret_value()).encode()
        found: ApiKey | None = None
        # Every entry is compared, and each in constant time: how long it takes says nothing.
        for key in self._keys:
            if hmac.compare_digest(key.hash.encode(), presented):
                found = key
        if found is None:
            raise Unauthenticated("the API key is not valid")
        user = found.user
        if user is None:
            named = request.headers.get(USER_HEADER)
            if not named:
                raise InvalidInput("X-Manta-User", "is missing", "name the person who asks")
            user = plain_name(named, "X-Manta-User")
        identity = Identity(found.tenant, user, found.permissions)
        check_headers(request, identity)
        return identity


class TokenAuthenticator(Authenticator):
    """Mode ``jwt``: a valid token of the identity provider names tenant and user."""

    def __init__(self, auth: JwtAuth, tenants: TenantDirectory) -> None:
        self._tenants = tenants
        self._reader = TokenReader(auth)

    async def _caller(self, request: Request) -> Identity:
        token = bearer(request)
        claims = await self._reader.read(token)
        tenant = self._tenants.get(claims.tenant).tenant
        identity = Identity(tenant, claims.user, claims.permissions, token)
        check_headers(request, identity)
        return identity

    async def close(self) -> None:
        await self._reader.close()


def authenticator(settings: Settings, tenants: TenantDirectory) -> Authenticator:
    """The settings' mode.

    Raises:
        InvalidConfiguration: the file of keys is wrong, or names a tenant that does not exist.
    """
    auth = settings.auth
    if isinstance(auth, ApiKeyAuth):
        return KeyAuthenticator(auth, tenants)
    if isinstance(auth, JwtAuth):
        return TokenAuthenticator(auth, tenants)
    return HeaderAuthenticator(settings, tenants)


def bearer(request: Request) -> SecretStr:
    """The key or token of the ``Authorization`` header.

    Raises:
        Unauthenticated: there is none, or it cannot be one.
    """
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    value = value.strip()
    if kind.lower() != "bearer" or not value:
        raise Unauthenticated("send the header Authorization: Bearer with your key or token")
    if len(value) > BEARER_CHARS or not value.isascii():
        raise Unauthenticated("this is no key or token")
    return SecretStr(value)


def check_metrics(request: Request, settings: Settings) -> None:
    """Figures name every tenant: where requests are authenticated, they have a token of their own.

    Raises:
        NotFound: the deployment sets no ``metrics_token``.
        Unauthenticated: the request does not carry it.
    """
    if isinstance(settings.auth, NoAuth):
        return
    if settings.metrics_token is None:
        raise NotFound("the page")
    expected = settings.metrics_token.get_secret_value().encode()
    if not hmac.compare_digest(bearer(request).get_secret_value().encode(), expected):
        raise Unauthenticated("this is not the token of the figures")


def check_headers(request: Request, identity: Identity) -> None:
    """Names in headers may repeat who the bearer is, and never change it.

    Raises:
        NotFound: they name somebody else.
    """
    for header, own in ((TENANT_HEADER, identity.tenant), (USER_HEADER, identity.user)):
        if request.headers.get(header, own) != own:
            raise not_the_callers(identity, "tenant" if header == TENANT_HEADER else "user")


def check_tenants(auth: ApiKeyAuth, keys: tuple[ApiKey, ...], tenants: TenantDirectory) -> None:
    """Raises InvalidConfiguration for a key of a tenant that does not exist."""
    for number, key in enumerate(keys):
        try:
            tenants.get(key.tenant)
        except NotFound as error:
            raise InvalidConfiguration(
                f"{auth.keys}: keys.{number} ({key.id}).tenant",
                f"{key.tenant} is no tenant",
                "use the id of a tenant file",
            ) from error
