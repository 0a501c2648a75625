"""OpenAI, and every server that speaks its protocol."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import openai
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from config.policy import POLICY
from config.settings import Settings
from providers import native_decisions
from providers.embedding import Embedder, build_embedder, close_embedder, prepare_embedder
from providers.interface import PRIVATE_TAG, PUBLIC_TAG, Decision, Question, Task
from providers.structured_choice import choose
from providers.usage import CallMeter, price

log = logging.getLogger("manta.models")


class OpenAIModels:
    """Models reached over the OpenAI protocol. Lives with the process.

    Retries are the SDK's own: at most three attempts with back-off and jitter, inside whatever
    deadline the caller holds.
    """

    def __init__(self, settings: Settings, embedder: Embedder | None = None) -> None:
        self.name: str = settings.provider
        self._settings = settings
        self._is_openai = settings.provider == "openai"
        self._key = settings.openai_api_key or SecretStr("none")
        self._chats: dict[tuple[str, str, bool, int | None], BaseChatModel] = {}
        # One pool of connections of this provider's own: LangChain's default one is shared by all
        # event loops of a process, belongs to the first of them and is closed by nobody.
        self._http = openai.DefaultAsyncHttpxClient()
        self._client = openai.AsyncOpenAI(
            http_client=self._http,
            api_key=self._key.get_secret_value(),
            base_url=settings.openai_base_url,
            max_retries=POLICY.model.attempts - 1,
        )
        self.embedder = embedder or build_embedder(settings)

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
        if self._is_openai and model in native_decisions.NATIVE_MODELS:
            decision = await native_decisions.decide(self._client, question, evidence, model, task)
            spent = decision.spent
            # Output tokens of a decision are not charged (seed "Pre-supervisor decisions").
            cost = price(self._settings.prices, model, spent.input_tokens, spent.cached_tokens, 0)
            decision = decision.model_copy(
                update={"spent": spent.model_copy(update={"cost_usd": cost})}
            )
        else:
            meter = CallMeter(task, self._settings.prices, request_id)
            chat = self.chat(model, task)
            value = await choose(chat, question, evidence, {"callbacks": [meter]})
            decision = Decision(value=value, spent=meter.spent)
        log.info(
            "decision",
            extra={
                "request_id": request_id,
                "task": task,
                "choice": decision.value,
                "probabilities": decision.probabilities,
                "input_tokens": decision.spent.input_tokens,
                "cost_usd": round(decision.spent.cost_usd, 6),
            },
        )
        return decision

    def chat(
        self, model: str, task: Task, *, public: bool = False, max_tokens: int | None = None
    ) -> BaseChatModel:
        key = (model, task, public, max_tokens)
        if key not in self._chats:
            self._chats[key] = ChatOpenAI(
                model=model,
                api_key=self._key,
                base_url=self._settings.openai_base_url,
                max_retries=POLICY.model.attempts - 1,
                max_completion_tokens=max_tokens or POLICY.model.reply_tokens,
                stream_usage=True,
                streaming=public,
                # Newer OpenAI models take function tools only over the Responses API, which
                # LangChain selects by itself; other servers speak chat completions only.
                use_responses_api=None if self._is_openai else False,
                default_headers={"X-Manta-Task": task},
                http_async_client=self._http,
                tags=[PUBLIC_TAG if public else PRIVATE_TAG],
                metadata={"task": task},
            )
        return self._chats[key]

    async def prepare(self, questions: Sequence[Question]) -> None:
        """Nothing is learnt from examples here."""
        await prepare_embedder(self.embedder)

    async def close(self) -> None:
        await self._client.close()
        await close_embedder(self.embedder)
