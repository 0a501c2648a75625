"""The offline model behind LangChain's chat-model interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from providers.offline_policies import OfflinePolicies
from providers.offline_steps import Step

MODEL = "manta-offline"


class OfflineChat(BaseChatModel):
    """Follows the fixed policy of its task over whatever tools are bound."""

    policies: Any
    task: str

    @property
    def _llm_type(self) -> str:
        return MODEL

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        names = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        return self.bind(tools=names, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        step = await self._step(messages, kwargs)
        return ChatResult(generations=[ChatGeneration(message=_message(step, messages))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Word by word, so that clients see the same stream as from a model that writes."""
        step = await self._step(messages, kwargs)
        whole = _message(step, messages)
        pieces = step.text.splitlines(keepends=True) if not step.call else []
        for piece in pieces:
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece, id=whole.id))
            if run_manager:
                await run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="",
                id=whole.id,
                tool_calls=whole.tool_calls,
                usage_metadata=whole.usage_metadata,
                response_metadata=whole.response_metadata,
                chunk_position="last",
            )
        )

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise RuntimeError("the offline model is asynchronous; use ainvoke or astream")

    async def _step(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> Step:
        policies: OfflinePolicies = self.policies
        return await policies.next_step(self.task, messages, frozenset(kwargs.get("tools") or ()))


def _message(step: Step, messages: Sequence[BaseMessage]) -> AIMessage:
    asked = [(step.call, step.arguments), *step.also] if step.call else []
    calls = [
        {"id": f"call_{uuid4().hex[:12]}", "name": name, "args": arguments}
        for name, arguments in asked
    ]
    reply = AIMessage(
        step.text,
        id=f"run-{uuid4()}",
        tool_calls=calls,
        response_metadata={"model_name": MODEL, "finish_reason": "stop"},
    )
    read, written = count_tokens_approximately(messages), count_tokens_approximately([reply])
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return reply.model_copy(update={"usage_metadata": usage})
