"""A model server of this folder's own.

LangChain keeps one HTTP client an address for the whole process, bound to the event loop that used
it first; with an address of their own and one loop, these tests share it with no others.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from model_server import ModelServer


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
