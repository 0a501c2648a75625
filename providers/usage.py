"""Token counts and estimated cost of model calls, taken where the calls are made."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from config.settings import Price
from domain.budgets import Spent

log = logging.getLogger("manta.models")


def price(
    prices: Mapping[str, Price], model: str, input_tokens: int, cached: int, output_tokens: int
) -> float:
    """Estimated US dollars; a model without a configured price costs 0 (see the runbook)."""
    rate = prices.get(model)
    if rate is None:
        return 0.0
    fresh = max(0, input_tokens - cached)
    return (fresh * rate.input + cached * rate.cached + output_tokens * rate.output) / 1e6


class CallMeter(BaseCallbackHandler):
    """Adds up the calls of one role invocation and logs one line a call, without content."""

    run_inline = True
    """It only counts: LangChain would send a synchronous handler to a thread at every token."""

    def __init__(self, task: str, prices: Mapping[str, Price], request_id: str) -> None:
        self._task = task
        self._prices = prices
        self._request_id = request_id
        self._started: dict[UUID, float] = {}
        self.spent = Spent()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[Any]], *, run_id: UUID, **_: Any
    ) -> None:
        self._started[run_id] = time.monotonic()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        seconds = time.monotonic() - self._started.pop(run_id, time.monotonic())
        for generations in response.generations:
            for generation in generations:
                if isinstance(generation, ChatGeneration) and isinstance(
                    generation.message, AIMessage
                ):
                    self._add(generation.message, seconds)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        seconds = time.monotonic() - self._started.pop(run_id, time.monotonic())
        self.spent = self.spent + Spent(model_calls=1)
        log.warning(
            "model_call_failed",
            extra={
                "request_id": self._request_id,
                "task": self._task,
                "error_type": type(error).__name__,
                "seconds": round(seconds, 3),
            },
        )

    def _add(self, message: AIMessage, seconds: float) -> None:
        usage = message.usage_metadata
        model = str(message.response_metadata.get("model_name", ""))
        read, written, cached = 0, 0, 0
        if usage is not None:
            read, written = usage["input_tokens"], usage["output_tokens"]
            cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
        cost = price(self._prices, model, read, cached, written)
        self.spent = self.spent + Spent(
            model_calls=1,
            input_tokens=read,
            cached_tokens=cached,
            output_tokens=written,
            cost_usd=cost,
        )
        log.info(
            "model_call",
            extra={
                "request_id": self._request_id,
                "task": self._task,
                "model": model,
                "input_tokens": read,
                "cached_tokens": cached,
                "output_tokens": written,
                "cost_usd": round(cost, 6),
                "seconds": round(seconds, 3),
            },
        )
