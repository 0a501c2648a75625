"""Vectors of texts that were embedded before: a question is ranked against the same pages often.

Bounded and in memory only; it lives with the process and holds vectors, keyed by the hash of a
text, never the text itself.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from providers.embedding import Embedder

Matrix = NDArray[np.float32]

CAPACITY = 12_000
"""Vectors that are kept, the most recently used: 24 MB at 512 numbers each."""


class RememberedVectors:
    """An embedder's vectors, each computed once while it stays among the recent ones."""

    def __init__(self, embedder: Embedder, capacity: int = CAPACITY) -> None:
        self._embedder = embedder
        self._capacity = capacity
        self._kept: OrderedDict[bytes, Matrix] = OrderedDict()

    async def of(self, texts: Sequence[str]) -> Matrix:
        """One row a text, in the order of ``texts``."""
        keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        rows = {key: self._kept[key] for key in keys if key in self._kept}
        if wanted:
            fresh = np.asarray(await self._embedder.embed(list(wanted.values())), dtype=np.float32)
            rows.update(zip(wanted, fresh, strict=True))
        for key, row in rows.items():
            self._kept[key] = row
            self._kept.move_to_end(key)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
        if not texts:
            return np.zeros((0, self._embedder.dimensions), dtype=np.float32)
        return np.stack([rows[key] for key in keys])
