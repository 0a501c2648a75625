"""The execution policy: every limit of the product, as frozen values.

Nothing else hard-codes one of these numbers. Sources: design sections 2, 3, 5 and 6. Times are
seconds of wall clock, sizes are characters of text or bytes as named.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NodeLimits:
    """Wall clock of the turn's nodes."""

    gate: float = 15.0
    memory: float = 30.0
    supervisor: float = 30.0
    supervisor_decision: float = 15.0
    specialist: float = 180.0
    knowledge: float = 45.0
    drain: float = 10.0
    """How long a caller waits for a cancelled actor call to end its clean-up."""


@dataclass(frozen=True, slots=True)
class GateLimits:
    """What the guardrail reads and writes."""

    recent_messages: int = 10
    reply_tokens: int = 512


@dataclass(frozen=True, slots=True)
class SpecialistLimits:
    """Bounds of one specialist invocation; they are not quotas of a conversation."""

    model_calls: int = 8
    tool_calls: int = 6
    history_messages: int = 30
    history_tokens: int = 12_000
    editing_threshold_tokens: int = 8_000
    tool_results_kept: int = 3


@dataclass(frozen=True, slots=True)
class ResearchLimits:
    """Bounds of one knowledge research."""

    seconds: float = 45.0
    source_seconds: float = 20.0
    entry_seconds: float = 18.0
    model_calls: int = 4
    searches: int = 2
    reads: int = 4
    passages: int = 5
    readiness_seconds: float = 2.0
    comment_chars: int = 240
    query_chars: int = 500


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Bounds of one page, from DNS to the last byte, and of what is read from it."""

    seconds: float = 8.0
    redirects: int = 5
    body_bytes: int = 2 * 1024 * 1024
    window_chars: int = 6_000
    link_context_chars: int = 240
    dial_attempts: int = 4
    connections_per_host: int = 2
    cached_pages_per_tenant: int = 128
    url_chars: int = 65_536


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Bounds of model calls; retries and their waits are inside the caller's deadline."""

    attempts: int = 3
    reply_tokens: int = 4_096


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """When text deltas are merged into one event: whichever comes first."""

    coalesce_seconds: float = 0.040
    coalesce_tokens: int = 24
    keepalive_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class LeaseLimits:
    """A conversation's turns run one after the other."""

    seconds: float = 10.0
    wait_seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class InputLimits:
    """What a request may send, checked before the gate."""

    body_bytes: int = 1024 * 1024
    message_chars: int = 16_000
    messages: int = 200
    total_chars: int = 400_000
    nesting: int = 12
    conversation_id_chars: int = 128


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """Bounds of document ingestion."""

    file_bytes: int = 50 * 1024 * 1024
    chunk_chars: int = 1_200
    chunk_overlap_chars: int = 150


@dataclass(frozen=True, slots=True)
class ExecutionPolicy:
    """All limits of a process, grouped by what they bound."""

    nodes: NodeLimits = field(default_factory=NodeLimits)
    gate: GateLimits = field(default_factory=GateLimits)
    specialist: SpecialistLimits = field(default_factory=SpecialistLimits)
    research: ResearchLimits = field(default_factory=ResearchLimits)
    page: PageLimits = field(default_factory=PageLimits)
    model: ModelLimits = field(default_factory=ModelLimits)
    stream: StreamLimits = field(default_factory=StreamLimits)
    lease: LeaseLimits = field(default_factory=LeaseLimits)
    input: InputLimits = field(default_factory=InputLimits)
    ingest: IngestLimits = field(default_factory=IngestLimits)


POLICY = ExecutionPolicy()
