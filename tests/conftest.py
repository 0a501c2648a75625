"""Fixtures that every kind of test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from model_server import ModelServer

from serve.local_ray import prepare_environment

for name in list(os.environ):
    # A developer's own settings must not change what is tested.
    if name.startswith("MANTA_") or name in {"REDIS_URL", "MILVUS_URI", "OPENAI_API_KEY"}:
        del os.environ[name]

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
