"""Handles: what a model may name instead of a URL.

A handle is unguessable and valid in the session that issued it; the same target always gets the
same one, and keeps the shortest way to it as its depth.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from crawler.scope import WebSource

_HANDLE_BYTES: Final = 12


@dataclass(slots=True)
class SourceState:
    """One configured source in one research; ``ordinal`` counts from 1."""

    ordinal: int
    source: WebSource
    host: str = ""
    attempts: int = 0


@dataclass(slots=True)
class Target:
    """What a handle stands for."""

    page_id: str
    source: SourceState
    url: str
    fragment: str
    depth: int


class Handles:
    """The handles of one session."""

    def __init__(self) -> None:
        self._targets: dict[str, Target] = {}
        self._issued: dict[tuple[int, str, str], Target] = {}

    def issue(self, source: SourceState, url: str, fragment: str, depth: int) -> Target:
        """The target at ``url``, with a handle; ``depth`` links away from its entry page."""
        key = (source.ordinal, url, fragment)
        target = self._issued.get(key)
        if target is None:
            target = Target(secrets.token_urlsafe(_HANDLE_BYTES), source, url, fragment, depth)
            self._issued[key] = self._targets[target.page_id] = target
        target.depth = min(target.depth, depth)
        return target

    def find(self, page_id: object) -> Target | None:
        """What a handle stands for; ``None`` for one that this session did not issue."""
        return self._targets.get(page_id) if isinstance(page_id, str) else None
