"""The local encoder, and the served one against a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import openai
import pytest

from config.settings import Settings
from domain.errors import ModelUnavailable
from providers.embedding import BATCH_TEXTS, LocalEmbedder, OpenAIEmbedder, build_embedder


class EmbeddingServer(ThreadingHTTPServer):
    """Answers ``POST /v1/embeddings`` with the length of each text, shuffled."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.status = 200
        self.dimensions = 3


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(length))
        self.server.requests.append(request)
        vectors = [
            [float(len(text)), 0.0, 1.0][: self.server.dimensions] for text in request["input"]
        ]
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        reply = {"object": "list", "data": data[::-1], "model": "m", "usage": usage}
        body = json.dumps(reply if self.server.status == 200 else {"error": {}}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Requests are kept, not printed."""


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        thread = Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


async def embedded(server: EmbeddingServer, texts: list[str], **more: Any) -> list[list[float]]:
    url = f"http://127.0.0.1:{server.server_port}/v1"
    async with openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0) as client:
        return await OpenAIEmbedder(client, "m", 3, **more).embed(texts)


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_local_vectors_are_normalised_and_multilingual() -> None:
    texts = ["How many days off do I get?", "Wie viele Urlaubstage habe ich?", "The pump is red."]
    english, german, other = asyncio.run(LocalEmbedder().embed(texts))
    assert len(english) == LocalEmbedder.dimensions
    assert math.isclose(math.hypot(*english), 1.0, abs_tol=1e-9)
    assert cosine(english, german) > cosine(english, other) + 0.2
    assert asyncio.run(LocalEmbedder().embed([])) == []


def test_many_tasks_share_one_local_encoder() -> None:
    async def together() -> list[list[list[float]]]:
        return await asyncio.gather(*(LocalEmbedder().embed(["same text"]) for _ in range(8)))

    assert len({tuple(vectors[0]) for vectors in asyncio.run(together())}) == 1


def test_served_vectors_come_in_order_and_in_batches(server: EmbeddingServer) -> None:
    texts = ["x" * (number + 1) for number in range(BATCH_TEXTS + 1)]
    vectors = asyncio.run(embedded(server, texts))
    assert [round(vector[0] / vector[2]) for vector in vectors] == [len(text) for text in texts]
    assert all(math.isclose(math.hypot(*vector), 1.0) for vector in vectors)
    assert [len(request["input"]) for request in server.requests] == [BATCH_TEXTS, 1]
    assert server.requests[0]["dimensions"] == 3


def test_other_servers_are_not_asked_to_shorten(server: EmbeddingServer) -> None:
    asyncio.run(embedded(server, ["a"], shorten=False))
    assert "dimensions" not in server.requests[0]


def test_failures_are_translated(server: EmbeddingServer) -> None:
    server.status = 500
    with pytest.raises(ModelUnavailable, match="status 500"):
        asyncio.run(embedded(server, ["a"]))


def test_a_wrong_number_of_dimensions_is_refused(server: EmbeddingServer) -> None:
    server.dimensions = 2
    with pytest.raises(ModelUnavailable, match="gives 2 dimensions and 3 are configured"):
        asyncio.run(embedded(server, ["a"]))


def test_settings_choose_the_embedder() -> None:
    assert isinstance(build_embedder(Settings()), LocalEmbedder)
    served = build_embedder(Settings(embedding_model="m", embedding_dimensions=64))
    assert isinstance(served, OpenAIEmbedder)
    assert (served.name, served.dimensions) == ("m", 64)
