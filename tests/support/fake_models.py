"""Models that a test scripts, on the interface of ``providers.interface.Models``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import Field

from domain.budgets import Spent
from providers.interface import PRIVATE_TAG, PUBLIC_TAG, Decision, Question, Task


class ScriptedChat(GenericFakeChatModel):
    """Gives its scripted messages one a call; keeps what it was asked and offered."""

    asked: list[Any] = Field(default_factory=list)
    bound: list[list[str]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        self.bound.append([str(getattr(tool, "name", "") or tool) for tool in tools])
        return self

    def _generate(self, messages: list[Any], *args: Any, **more: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *args, **more)


class FakeModels:
    """Decisions and chat messages from lists; errors in them are raised."""

    name = "fake"

    def __init__(self, decisions: Sequence[Any] = (), replies: Sequence[Any] = ()) -> None:
        self.decisions = list(decisions)
        self.questions: list[Question] = []
        self.evidence: list[str] = []
        self.latest: list[str] = []
        self.calls: list[tuple[str, str]] = []
        self.limits: list[int | None] = []
        self.embedder: Any = None
        self._replies = [r if isinstance(r, AIMessage) else AIMessage(r) for r in replies]
        self.chats: list[ScriptedChat] = []
        self._messages = iter(self._replies)

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
        self.questions.append(question)
        self.evidence.append(evidence)
        self.latest.append(latest)
        self.calls.append((model, task))
        given = self.decisions.pop(0)
        if isinstance(given, Exception):
            raise given
        return Decision(value=given, spent=Spent(model_calls=1, input_tokens=7))

    def chat(
        self, model: str, task: Task, *, public: bool = False, max_tokens: int | None = None
    ) -> BaseChatModel:
        self.calls.append((model, task))
        self.limits.append(max_tokens)
        chat = ScriptedChat(
            messages=self._messages,
            asked=[],
            bound=[],
            tags=[PUBLIC_TAG if public else PRIVATE_TAG],
        )
        self.chats.append(chat)
        return chat

    async def prepare(self, questions: Sequence[Question]) -> None:
        """Nothing to learn."""

    async def close(self) -> None:
        """Nothing to close."""
