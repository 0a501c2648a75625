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
    summary: float = 12.0
    """A summary's share of the supervisor's time; what is left is enough for the decision."""
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
class RecordLimits:
    """Bounds of a search over catalogue records, and of what "show more" remembers."""

    seconds: float = 10.0
    results: int = 5
    query_chars: int = 500
    plan_steps: int = 3
    candidates: int = 20
    """People that a name is looked for among; the nearest by meaning come first."""
    excluded_messages: int = 25
    """From how many of the last messages a continued search takes the ids it leaves out."""
    line_chars: int = 100_000


@dataclass(frozen=True, slots=True)
class DirectoryLimits:
    """Bounds of one call to a tenant's directory of profiles, objectives and tasks."""

    seconds: float = 10.0
    connect_seconds: float = 3.0
    response_bytes: int = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """Bounds of documents that a user adds to a conversation."""

    file_bytes: int = 10 * 1024 * 1024
    per_conversation: int = 20
    window_chars: int = 6_000
    text_chars: int = 2_000_000
    name_chars: int = 200
    reading_seconds: float = 60.0
    reading_bytes: int = 2 * 1024 * 1024 * 1024
    """Address space of the process that reads a document."""


@dataclass(frozen=True, slots=True)
class SummaryLimits:
    """When the supervisor summarises a long conversation, and how much it keeps."""

    trigger_tokens: int = 6_000
    trigger_messages: int = 40
    kept_messages: int = 10
    tokens: int = 600


@dataclass(frozen=True, slots=True)
class PreferenceLimits:
    """How many durable facts a user has at most, and how long one may be (characters)."""

    facts: int = 100
    fact_chars: int = 500


@dataclass(frozen=True, slots=True)
class ConversationLimits:
    """Bounds of a conversation's record, of its list and of what its owner says about it."""

    title_chars: int = 80
    """Of a title taken from the first message; a person may give a longer one."""
    renamed_chars: int = 200
    page: int = 20
    page_max: int = 100
    comment_chars: int = 2_000
    ratings: int = 500
    delete_wait_seconds: float = 2.0
    """How long a deletion waits for a turn that runs."""
    sweep_seconds: float = 3_600.0
    """How often what was kept long enough is looked for."""


@dataclass(frozen=True, slots=True)
class PauseLimits:
    """Bounds of a pause's answers."""

    answer_chars: int = 4_000
    questions: int = 5
    question_chars: int = 500
    options: int = 10


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How long a run's events are kept, and how its owner and its readers find each other."""

    kept_seconds: int = 600
    heartbeat_seconds: float = 1.0
    lost_seconds: float = 10.0
    """A run whose owner was not heard of for so long has died with its replica."""
    kept_events: int = 20_000


@dataclass(frozen=True, slots=True)
class CampusLimits:
    """Bounds of one turn of the campus advisor, beside the tenant's own."""

    tool_calls: int = 6
    recursion: int = 8
    history_messages: int = 7
    condensed_tokens: int = 6_000
    search_seconds: float = 25.0
    """How long a web search may read; what it has read by then is kept."""
    tool_seconds: float = 60.0
    """One tool call as a whole, and therefore the longest timeout of a subagent."""
    pages_per_search: int = 3
    reads: int = 9
    passages: int = 5
    query_chars: int = 300
    subagent_passages: int = 8
    subagent_chars: int = 4_000
    endpoint_links: int = 10
    endpoint_bytes: int = 256 * 1024
    held_chars: int = 120
    """How much of a reply is held back, because some models announce the call that they leak."""


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
    summary: SummaryLimits = field(default_factory=SummaryLimits)
    preferences: PreferenceLimits = field(default_factory=PreferenceLimits)
    conversation: ConversationLimits = field(default_factory=ConversationLimits)
    pause: PauseLimits = field(default_factory=PauseLimits)
    research: ResearchLimits = field(default_factory=ResearchLimits)
    records: RecordLimits = field(default_factory=RecordLimits)
    directory: DirectoryLimits = field(default_factory=DirectoryLimits)
    document: DocumentLimits = field(default_factory=DocumentLimits)
    run: RunLimits = field(default_factory=RunLimits)
    campus: CampusLimits = field(default_factory=CampusLimits)
    page: PageLimits = field(default_factory=PageLimits)
    model: ModelLimits = field(default_factory=ModelLimits)
    stream: StreamLimits = field(default_factory=StreamLimits)
    lease: LeaseLimits = field(default_factory=LeaseLimits)
    input: InputLimits = field(default_factory=InputLimits)
    ingest: IngestLimits = field(default_factory=IngestLimits)


POLICY = ExecutionPolicy()
