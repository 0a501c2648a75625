"""The one actor class: it hosts the roles of one placement group of names."""

from __future__ import annotations

import asyncio
import logging
import os
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from actors.handles import ActorPort, LocalPort, Port
from actors.resources import ProcessResources
from actors.roles import build_role, close_role, prepare_role
from config.logs import configure_logging
from config.settings import Settings
from domain.errors import MantaError

log = logging.getLogger("manta.actors")


class RoleHost:
    """Roles in one process.

    Replies are tagged values (``ok`` or ``error``): Ray rewraps exceptions, and an error of ours
    is an ordinary outcome that deserves no traceback in the worker's log.
    """

    def __init__(
        self, settings: Settings, names: tuple[str, ...], peers: Mapping[str, Any]
    ) -> None:
        configure_logging()
        self._resources = ProcessResources(settings)
        self._roles: dict[str, Any] = {}
        self._prepared: asyncio.Future[None] | None = None
        ports: dict[str, Port] = {
            name: ActorPort(name, actor) for name, actor in peers.items() if name not in names
        }
        for name in names:
            self._roles[name] = build_role(name, self._resources, ports)
            ports[name] = LocalPort(name, self._roles[name])

    async def call(self, role: str, method: str, args: tuple[Any, ...]) -> tuple[str, Any]:
        if method == "health":
            return await self._health()
        try:
            return "ok", await getattr(self._roles[role], method)(*args)
        except MantaError as error:
            return "error", error
        except Exception as error:
            _log_defect(role, method, error)
            raise

    async def stream(
        self, role: str, method: str, args: tuple[Any, ...]
    ) -> AsyncIterator[tuple[str, Any]]:
        async with aclosing(getattr(self._roles[role], method)(*args)) as items:
            try:
                async for item in items:
                    yield "ok", item
            except MantaError as error:
                yield "error", error
            except Exception as error:
                _log_defect(role, method, error)
                raise

    async def _health(self) -> tuple[str, Any]:
        """Healthy means prepared: the first probe prepares the roles, the others wait for it."""
        if self._prepared is None:
            self._prepared = asyncio.ensure_future(self._prepare())
        try:
            await asyncio.shield(self._prepared)
        except MantaError as error:
            self._prepared = None
            return "error", error
        return "ok", {"pid": os.getpid()}

    async def _prepare(self) -> None:
        for role in self._roles.values():
            await prepare_role(role)

    async def close(self) -> None:
        """Close what the roles and the process own; the host is killed afterwards."""
        await asyncio.gather(*(close_role(role) for role in self._roles.values()))
        await self._resources.close()


def _log_defect(role: str, method: str, error: Exception) -> None:
    """Where a defect of ours is, without the text of its error, which may quote a request."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    log.error(
        "defect",
        extra={
            "role": role,
            "method": method,
            "error_type": type(error).__name__,
            "where": where,
        },
    )
