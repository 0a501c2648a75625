"""The real stores, embedded, one of each for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded import start_milvus, start_valkey
from serve.local_ray import local_ray


@pytest.fixture(scope="session")
def stores_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="session")
def milvus_uri(stores_folder: Path) -> Iterator[str]:
    store = start_milvus(stores_folder)
    yield store.url
    store.stop()


@pytest.fixture(scope="session")
def redis_url(stores_folder: Path) -> Iterator[str]:
    store = start_valkey(stores_folder)
    yield store.url
    store.stop()


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """One small Ray for the whole session: two CPUs, on loopback."""
    with local_ray(dashboard=True, cpus=2):
        yield
