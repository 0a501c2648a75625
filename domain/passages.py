"""Passages of documents, as retrieval finds them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Passage(BaseModel):
    """One chunk of a document. ``score`` is in [0, 1], higher is nearer; ``dense`` and ``lexical``
    are its parts before fusion (cosine similarity in [-1, 1], BM25 scaled to [0, 1])."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chunk_id: str
    title: str
    heading: str | None
    page: int | None
    text: str
    language: str
    score: float
    dense: float
    lexical: float


ReadinessStatus = Literal["ready", "empty", "disabled", "unavailable"]


class Readiness(BaseModel):
    """Whether knowledge can be researched this turn (design section 5).

    ``documents`` tells an empty store from one that did not answer; an active web source counts
    as potential knowledge without being contacted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: ReadinessStatus
    web_sources: int

    @property
    def offered(self) -> bool:
        return self.documents == "ready" or self.web_sources > 0
