"""Fixtures that every kind of test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from model_server import ModelServer

from config.embedded import start_milvus, start_valkey
from serve.local_ray import local_ray, prepare_environment

for name in list(os.environ):
    # A developer's own settings must not change what is tested.
    if name.startswith("MANTA_") or name in {"REDIS_URL", "MILVUS_URI", "OPENAI_API_KEY"}:
        del os.environ[name]

os.environ.setdefault("OMP_NUM_THREADS", "1")

# Ray reads its environment when it is imported, which some tests do without starting it.
prepare_environment()


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    server = ModelServer().start()
    yield server
    server.stop()


@pytest.fixture
def models(model_server: ModelServer) -> ModelServer:
    """The scripted model server with a clean sheet."""
    model_server.reset()
    return model_server


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
