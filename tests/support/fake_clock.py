"""A clock that moves only when a test says so."""

from __future__ import annotations


class FakeClock:
    """Monotonic seconds; call it like ``time.monotonic``."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
