"""Prometheus figures of the replica's turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from domain.answers import Reply
from domain.budgets import Spent

SECONDS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 180)


class TurnMetrics:
    """One registry a replica, so that several in a process do not collide."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("tenant", "status", "agent")
        self._turns = Counter("manta_turns", "Ended turns.", labels, registry=self._registry)
        self._seconds = Histogram(
            "manta_turn_seconds", "Wall clock of turns.", buckets=SECONDS, registry=self._registry
        )
        self._tokens = Counter(
            "manta_model_tokens", "Model tokens.", ("tenant", "kind"), registry=self._registry
        )
        self._calls = Counter(
            "manta_model_calls", "Model calls.", ("tenant",), registry=self._registry
        )
        self._cost = Counter(
            "manta_model_cost_usd", "Estimated cost.", ("tenant",), registry=self._registry
        )
        self._running = Gauge(
            "manta_turns_in_flight", "Turns that run now.", registry=self._registry
        )

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        self._running.inc()
        try:
            yield
        finally:
            self._running.dec()

    def finished(self, tenant: str, reply: Reply) -> None:
        self._turns.labels(tenant, reply.status, reply.agent).inc()
        self._count(tenant, reply.spent)

    def stopped(self, tenant: str, stage: str, spent: Spent) -> None:
        self._turns.labels(tenant, "failed", stage).inc()
        self._count(tenant, spent)

    def _count(self, tenant: str, spent: Spent) -> None:
        self._seconds.observe(spent.seconds)
        self._tokens.labels(tenant, "input").inc(spent.input_tokens)
        self._tokens.labels(tenant, "output").inc(spent.output_tokens)
        self._calls.labels(tenant).inc(spent.model_calls)
        self._cost.labels(tenant).inc(spent.cost_usd)

    def text(self) -> bytes:
        """The exposition format of Prometheus."""
        return generate_latest(self._registry)
