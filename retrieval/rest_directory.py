"""The directory behind a service of the tenant, asked with the user's own token.

The contract is in the operator's runbook. The token goes into one header of one request and nowhere
else; what fails is told without address, token or body.
"""

from __future__ import annotations

import asyncio
import logging
import re
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from config.policy import POLICY, DirectoryLimits
from config.tenants import DirectoryConfig
from domain.errors import NotFound, Unavailable
from retrieval.directory import Caller, LearningPlan, Objective, Profile, Task, by_due_date

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("manta.directory")

WHAT = "the directory"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SAVED = (200, 201)
_OBJECTIVES = TypeAdapter(list[Objective])
_TASKS = TypeAdapter(list[Task])

Model = TypeVar("Model", bound=BaseModel)


def directory_client(limits: DirectoryLimits = POLICY.directory) -> httpx.AsyncClient:
    """The process's client for all tenants and users; its owner closes it.

    It keeps no cookie, which would carry one user's session into another's request, and follows no
    redirect, which would carry the token to another host.
    """
    import httpx

    return httpx.AsyncClient(
        cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=False,
        timeout=httpx.Timeout(limits.seconds, connect=limits.connect_seconds),
    )


class RestDirectory:
    """One tenant's service.

    Args:
        client: lives with the process and is closed by its owner.
    """

    def __init__(
        self,
        config: DirectoryConfig,
        client: httpx.AsyncClient,
        limits: DirectoryLimits = POLICY.directory,
    ) -> None:
        self._url = config.url.rstrip("/")
        self._seconds = min(config.timeout_seconds or limits.seconds, limits.seconds)
        self._client = client
        self._limits = limits

    async def profile(self, who: Caller) -> Profile:
        body = await self._get(who, "/profile", missing="the profile")
        return self._read(who, body, Profile)

    async def objectives(self, who: Caller) -> list[Objective]:
        body = await self._get(who, "/objectives")
        return by_due_date(self._read_list(who, body, _OBJECTIVES))

    async def tasks(self, who: Caller) -> list[Task]:
        body = await self._get(who, "/tasks")
        return by_due_date(self._read_list(who, body, _TASKS))

    async def task(self, who: Caller, task_id: str) -> Task:
        # An id may be a model's invention: one that could change the path is nobody's task.
        if not _ID.fullmatch(task_id):
            raise NotFound("the task")
        body = await self._get(who, f"/tasks/{task_id}", missing="the task")
        return self._read(who, body, Task)

    async def save_learning_plan(self, who: Caller, plan: LearningPlan, key: str) -> LearningPlan:
        status, body = await self._ask(
            who,
            "POST",
            "/learning-plans",
            content=plan.model_dump_json().encode(),
            headers={"Content-Type": "application/json", "Idempotency-Key": key},
        )
        if status not in _SAVED:
            raise self._failed(who, f"http_{status}", f"it answered with status {status}")
        return self._read(who, body, LearningPlan)

    async def _get(self, who: Caller, path: str, missing: str | None = None) -> bytes:
        """Args: missing: what a 404 says is not there; a list is always there."""
        status, body = await self._ask(who, "GET", path)
        if status == 404 and missing is not None:
            raise NotFound(missing)
        if status != 200:
            raise self._failed(who, f"http_{status}", f"it answered with status {status}")
        return body

    async def _ask(
        self,
        who: Caller,
        method: str,
        path: str,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """The status and the body, which is empty where the status says enough."""
        import httpx

        sent = {
            "Accept": "application/json",
            # Sizes are bounded as they travel, so nothing may unpack into more.
            "Accept-Encoding": "identity",
            **(headers or {}),
            "Authorization": f"Bearer {self._token(who)}",
        }
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._client.stream(
                    method, f"{self._url}{path}", content=content, headers=sent
                ) as reply,
            ):
                if reply.status_code in (401, 403):
                    code = f"http_{reply.status_code}"
                    raise self._failed(who, code, "it refused the user's token")
                body = await self._body(who, reply) if reply.status_code in _SAVED else b""
                return reply.status_code, body
        except (TimeoutError, httpx.TimeoutException):
            reason = f"it did not answer within {self._seconds:g} s"
            raise self._failed(who, "timeout", reason) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError):
            raise self._failed(who, "network_error", "it could not be reached") from None

    async def _body(self, who: Caller, reply: httpx.Response) -> bytes:
        if reply.headers.get("content-encoding", "identity").lower() != "identity":
            raise self._failed(who, "unsupported_content_encoding", "its reply is compressed")
        body = bytearray()
        async for part in reply.aiter_raw():
            body += part
            if len(body) > self._limits.response_bytes:
                raise self._failed(who, "oversized", "its reply is too large")
        return bytes(body)

    def _token(self, who: Caller) -> str:
        token = who.token.get_secret_value() if who.token is not None else ""
        if not token:
            raise self._failed(who, "no_token", "it wants the user's token and there is none")
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise self._failed(who, "malformed_token", "the user's token is malformed")
        return token

    def _read(self, who: Caller, body: bytes, model: type[Model]) -> Model:
        try:
            # A service may say more than is asked of it.
            return model.model_validate_json(body, extra="ignore")
        except ValidationError:
            raise self._failed(who, "malformed", "its reply is malformed") from None

    def _read_list(self, who: Caller, body: bytes, kind: TypeAdapter[list[Model]]) -> list[Model]:
        try:
            return kind.validate_json(body, extra="ignore")
        except ValidationError:
            raise self._failed(who, "malformed", "its reply is malformed") from None

    def _failed(self, who: Caller, code: str, reason: str) -> Unavailable:
        log.warning("directory_failed", extra={"tenant": who.tenant, "code": code})
        return Unavailable(WHAT, reason)
