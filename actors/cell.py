"""The cell: the role actors of one chat replica, or the same roles in this process.

Placement is data: ``per_role`` gives every role an actor of its own, ``compact`` puts the light
roles into one. Retriever, researcher and crawlers keep processes of their own in both, because
they do the CPU work of documents and pages.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from actors.handles import ActorPort, LocalPort, Port
from actors.resources import ProcessResources
from actors.role_handles import CellHandles
from actors.roles import (
    PAGE_CACHE,
    build_role,
    close_role,
    needs,
    role_names,
)
from config.settings import Settings
from config.tenants import SPECIALISTS

NAMESPACE = "manta"
MAX_CONCURRENCY = 1_000
CLOSE_SECONDS = 5.0


def placement_groups(settings: Settings) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The actors of a cell, callees before callers: their names and the roles each hosts."""
    names = role_names(settings)
    if settings.placement == "per_role":
        return tuple((name, (name,)) for name in names)
    light = ("guardrail", "memory", "supervisor", *SPECIALISTS)
    heavy = tuple((name, (name,)) for name in names if name not in light)
    return (*heavy, ("conversation", light))


class ActorCell:
    """Role actors on this replica's node; they end with it."""

    def __init__(self, handles: CellHandles, actors: dict[str, Any]) -> None:
        self.handles = handles
        self._actors = actors

    @classmethod
    def create(cls, settings: Settings) -> ActorCell:
        """Start the actors; returns before they are ready (see ``handles.check``)."""
        import ray

        from actors.role_host import RoleHost

        host = ray.remote(RoleHost)
        common = {"num_cpus": 0, "max_restarts": -1, "max_concurrency": MAX_CONCURRENCY}
        # One cache for all cells: it outlives the cell that happened to create it, and so must not
        # be placed in that cell's placement group, without which it could never restart.
        cache = host.options(
            name=PAGE_CACHE,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            scheduling_strategy="DEFAULT",
            **common,
        ).remote(settings, (PAGE_CACHE,), {})
        cell = uuid.uuid4().hex[:8]
        by_role: dict[str, Any] = {PAGE_CACHE: cache}
        actors: dict[str, Any] = {}
        for group, roles in placement_groups(settings):
            wanted = {need for role in roles for need in needs(role, settings)}
            peers = {name: by_role[name] for name in wanted if name in by_role}
            actor = host.options(name=f"{group}-{cell}", namespace=NAMESPACE, **common).remote(
                settings, roles, peers
            )
            actors[group] = actor
            by_role.update(dict.fromkeys(roles, actor))
        ports: dict[str, Port] = {role: ActorPort(role, actor) for role, actor in by_role.items()}
        return cls(CellHandles.over(ports, SPECIALISTS), actors)

    async def close(self) -> None:
        """Let every role close its clients, then end the actors (the shared cache stays)."""
        import ray

        closing = [actor.close.remote() for actor in self._actors.values()]
        await asyncio.wait([asyncio.ensure_future(ref) for ref in closing], timeout=CLOSE_SECONDS)
        for actor in self._actors.values():
            ray.kill(actor)


class LocalCell:
    """The same roles in this process, for ``manta ask`` and for tests."""

    def __init__(self, settings: Settings) -> None:
        self._resources = ProcessResources(settings)
        self._roles: dict[str, Any] = {}
        ports: dict[str, Port] = {}
        for name in (PAGE_CACHE, *role_names(settings)):
            self._roles[name] = build_role(name, self._resources, ports)
            ports[name] = LocalPort(name, self._roles[name])
        self.handles = CellHandles.over(ports, SPECIALISTS)

    async def close(self) -> None:
        for role in self._roles.values():
            await close_role(role)
        await self._resources.close()
