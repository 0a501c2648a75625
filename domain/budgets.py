"""Allowances that travel with a request, and the counter that enforces them.

A :class:`Budget` is a value: what may still be used. A :class:`Meter` is the counter that lives
where the work is done. ``None`` means unlimited. Seconds travel as a remaining duration, because
clocks of two machines do not agree: each receiver anchors them to its own clock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.errors import AllowanceExhausted, DeadlineExceeded

Allowance = Literal["model_calls", "tool_calls", "searches", "page_attempts", "reads"]


class Budget(BaseModel):
    """What a request may still use. Counts are numbers of calls, ``seconds`` is wall clock."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: float | None = Field(default=None, ge=0)
    model_calls: int | None = Field(default=None, ge=0)
    tool_calls: int | None = Field(default=None, ge=0)
    searches: int | None = Field(default=None, ge=0)
    page_attempts: int | None = Field(default=None, ge=0)
    page_attempts_per_source: int | None = Field(default=None, ge=0)
    reads: int | None = Field(default=None, ge=0)

    def narrowed(self, **limits: float) -> Budget:
        """This budget with each named allowance at most as large as given."""
        values = self.model_dump()
        for name, limit in limits.items():
            values[name] = limit if values[name] is None else min(values[name], limit)
        return Budget(**values)


class Spent(BaseModel):
    """What was used; replies carry it and callers add it up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0
    searches: int = 0
    page_attempts: int = 0
    reads: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        mine, theirs = self.model_dump(), other.model_dump()
        return Spent(**{name: mine[name] + theirs[name] for name in mine})


class Meter:
    """Counts what one receiver uses of a budget and refuses what exceeds it.

    Args:
        budget: the allowances.
        source: whose limit it is; errors name it ("the research", "source 2").
        clock: monotonic seconds.

    Raises:
        AllowanceExhausted: by :meth:`take`, when nothing is left.
        DeadlineExceeded: by :meth:`check_time`.
    """

    def __init__(
        self, budget: Budget, source: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.budget = budget
        self.source = source
        self._clock = clock
        self._started = clock()
        self._used: Counter[str] = Counter()
        self._models = Spent()

    @property
    def elapsed(self) -> float:
        return self._clock() - self._started

    def take(self, allowance: Allowance) -> None:
        """Use one of ``allowance`` now; the count changes before any work starts."""
        limit: int | None = getattr(self.budget, allowance)
        if limit is not None and self._used[allowance] >= limit:
            raise AllowanceExhausted(allowance, limit, self.source)
        self._used[allowance] += 1

    def used(self, allowance: Allowance) -> int:
        return self._used[allowance]

    def left(self, allowance: Allowance) -> int | None:
        """How many are left; ``None`` when unlimited."""
        limit: int | None = getattr(self.budget, allowance)
        return None if limit is None else max(0, limit - self._used[allowance])

    def seconds_left(self) -> float | None:
        if self.budget.seconds is None:
            return None
        return max(0.0, self.budget.seconds - self.elapsed)

    def check_time(self, operation: str) -> None:
        if self.budget.seconds is not None and self.elapsed >= self.budget.seconds:
            raise DeadlineExceeded(operation, self.budget.seconds)

    def add(self, spent: Spent) -> None:
        """Add what a callee or a model call reported; its seconds overlap ours and are dropped."""
        self._models = self._models + spent.model_copy(update={"seconds": 0.0})

    def spent(self) -> Spent:
        """What was used so far, callees included."""
        own = Spent(seconds=self.elapsed, **{name: self._used[name] for name in self._used})
        return own + self._models
