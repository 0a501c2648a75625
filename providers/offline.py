"""The offline model: what a machine without any key uses.

It quotes instead of writing and says so. Its decisions come from examples and rules, its replies
from fixed sentences and verbatim passages; it never invents a sentence.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel

from config.settings import Settings
from providers.embedding import Embedder, build_embedder, close_embedder, prepare_embedder
from providers.interface import PRIVATE_TAG, PUBLIC_TAG, Decision, Question, Task
from providers.offline_chat import OfflineChat
from providers.offline_decisions import OfflineDecider
from providers.offline_facts import besides
from providers.offline_policies import OfflinePolicies, intent_question
from providers.offline_staying import ROUTING, stay

log = logging.getLogger("manta.models")


GRADING = "campus_grading"
"""The one decision about delivered texts instead of what a user said."""


class OfflineModels:
    """The same interface as every other provider. Lives with the process."""

    name = "offline"

    def __init__(self, settings: Settings, embedder: Embedder | None = None) -> None:
        self.embedder = embedder or build_embedder(settings)
        self._decider = OfflineDecider(self.embedder)
        self._policies = OfflinePolicies(self.embedder, self._decider)

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
        decision = stay(question, evidence, latest)
        if decision is None and question.name == GRADING:
            relevant = await self._policies.campus.relevant(evidence)
            decision = Decision(value="relevant" if relevant else "not_relevant")
        if decision is None:
            asked = besides(latest) or latest if question.name == ROUTING else latest
            decision = await self._decider.decide(question, asked)
        log.info(
            "decision",
            extra={"request_id": request_id, "task": task, "choice": decision.value},
        )
        return decision

    def chat(
        self, model: str, task: Task, *, public: bool = False, max_tokens: int | None = None
    ) -> BaseChatModel:
        return OfflineChat(
            policies=self._policies,
            task=task,
            tags=[PUBLIC_TAG if public else PRIVATE_TAG],
        )

    async def prepare(self, questions: Sequence[Question]) -> None:
        """Load the encoder and learn the examples, some seconds of a cold start."""
        await prepare_embedder(self.embedder)
        for question in (*questions, intent_question()):
            await self._decider.decide(question, "ready")

    async def close(self) -> None:
        await close_embedder(self.embedder)
