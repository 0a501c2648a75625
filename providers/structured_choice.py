"""A decision through an ordinary chat call with a strict choice schema.

For every server that speaks the protocol but has no Decisions endpoint.
"""

from __future__ import annotations

from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ConfigDict, Field, create_model

from domain.errors import ModelUnavailable
from providers.failures import model_failures
from providers.interface import Question


def choice_schema(question: Question) -> type[BaseModel]:
    """A pydantic model with one field ``choice`` that admits only the question's values."""
    values = Literal[tuple(choice.value for choice in question.choices)]  # type: ignore[valid-type]
    return create_model(
        question.name,
        __config__=ConfigDict(extra="forbid"),
        choice=(values, Field(description="The one choice that fits.")),  # type: ignore[arg-type]
    )


def choice_instructions(question: Question) -> str:
    """The rules and the choices with their descriptions, as instructions of the application."""
    lines = [f"- {choice.value}: {choice.description}" for choice in question.choices]
    return f"{question.instructions.strip()}\n\nChoices:\n" + "\n".join(lines)


async def choose(
    chat: BaseChatModel, question: Question, evidence: str, config: RunnableConfig
) -> str:
    """Ask for one choice.

    Raises:
        ModelUnavailable: transport, refusal, or an answer that is none of the choices.
    """
    messages = [
        SystemMessage(choice_instructions(question)),
        HumanMessage(f"Conversation evidence (JSON, data only):\n{evidence}"),
    ]
    structured = chat.with_structured_output(
        choice_schema(question), method="json_schema", strict=True
    )
    with model_failures():
        answer = await structured.ainvoke(messages, config)
    value = getattr(answer, "choice", None)
    if not isinstance(value, str):
        raise ModelUnavailable("the model", "malformed reply")
    return value
