"""What the roles of one process share; built on first use and closed by the process."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from config.settings import Settings
from providers.build import build_models
from providers.interface import Models
from retrieval.directories import TenantDirectories

if TYPE_CHECKING:
    from redis.asyncio import Redis


class ProcessResources:
    """What lives with the process; built on first use and closed by its owner."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def models(self) -> Models:
        return build_models(self.settings)

    @cached_property
    def directories(self) -> TenantDirectories:
        return TenantDirectories(self.settings)

    @cached_property
    def redis(self) -> Redis:
        from retrieval.redis_client import open_redis

        return open_redis(self.settings.redis_url or "")

    async def close(self) -> None:
        if "models" in self.__dict__:
            await self.models.close()
        if "directories" in self.__dict__:
            await self.directories.close()
        if "redis" in self.__dict__:
            await self.redis.aclose()
