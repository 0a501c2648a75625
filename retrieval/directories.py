"""Which directory a tenant has: its own service where one is configured, the files otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.settings import Settings
from config.tenants import TenantConfig
from retrieval.directory import Directory
from retrieval.file_directory import FileDirectory
from retrieval.rest_directory import RestDirectory, directory_client

if TYPE_CHECKING:
    import httpx


class TenantDirectories:
    """Lives with the process, which closes it; the files are read when it is built.

    Raises:
        InvalidConfiguration: names the file, the line and the field.
    """

    def __init__(self, settings: Settings) -> None:
        self._files = FileDirectory(settings.directory, settings.data)
        self._client: httpx.AsyncClient | None = None

    def __call__(self, tenant: TenantConfig) -> Directory:
        service = tenant.chatbot.directory
        if service is None:
            return self._files
        if self._client is None:
            self._client = directory_client()
        return RestDirectory(service, self._client)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
