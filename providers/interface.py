"""What every model provider offers: a decision, a chat model and embeddings.

Roles see only this module. A provider is chosen once per process; no call ever moves to another
provider, and no decision is tried again through generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from domain.budgets import Spent

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from providers.embedding import Embedder

Task = Literal[
    "manta.guardrail.decision",
    "manta.guardrail.reply",
    "manta.supervisor",
    "manta.memory.decision",
    "manta.memory.update",
    "manta.compaction",
    "manta.career_chat",
    "manta.opportunity_search",
    "manta.training_search",
    "manta.talent_search",
    "manta.person_disambiguation",
    "manta.profile_analysis",
    "manta.task_guidance",
    "manta.campus_advisor",
    "manta.campus_advisor.grading",
    "manta.campus_advisor.judge",
    "manta.campus_advisor.evidence",
    "manta.campus_advisor.subagent",
    "manta.research",
]
"""Stable labels of model calls, for tracing and cost (design section 6)."""


class Choice(BaseModel):
    """One answer that a decision may give. Examples are short user texts that belong to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: str
    description: str
    examples: tuple[str, ...] = ()


class Question(BaseModel):
    """A question with fixed choices; ``instructions`` are the application's own rules.

    ``rules`` are regular expressions a choice; only the offline model reads them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    instructions: str
    choices: tuple[Choice, ...]
    rules: dict[str, tuple[str, ...]] = {}


class Decision(BaseModel):
    """The chosen value. Probabilities are diagnostics for logs, never thresholds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: str
    probabilities: dict[str, float] = {}
    spent: Spent = Spent()


class Models(Protocol):
    """One provider. ``name`` is shown by ``manta doctor`` and in logs."""

    name: str
    embedder: Embedder

    async def decide(
        self,
        question: Question,
        evidence: str,
        *,
        latest: str,
        model: str,
        task: Task,
        request_id: str,
    ) -> Decision:
        """Choose one value of ``question``.

        Args:
            evidence: the conversation as JSON; it is data, never instructions.
            latest: the latest user text alone, which is also part of the evidence.
            model: the model's name.
            request_id: the correlation that the log carries.

        Raises:
            ModelUnavailable: transport, refusal or an answer outside the choices.
        """
        ...

    def chat(
        self, model: str, task: Task, *, public: bool = False, max_tokens: int | None = None
    ) -> BaseChatModel:
        """A LangChain chat model. ``public`` marks the only calls whose tokens may be streamed."""
        ...

    async def prepare(self, questions: Sequence[Question]) -> None:
        """Do beforehand what the first decision on each question would do."""
        ...

    async def close(self) -> None:
        """Close the clients that live with the process."""
        ...


PUBLIC_TAG = "manta:public"
PRIVATE_TAG = "nostream"
"""LangGraph's own tag: tokens of a call that carries it never enter a message stream."""
