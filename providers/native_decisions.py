"""A decision through OpenAI's Decisions endpoint: one choice question a request."""

from __future__ import annotations

import math

import openai
from openai.types.decision import (
    AnswerAnswerResourceChoice,
    AnswerAnswerResourceRefusal,
)
from openai.types.decision import Decision as NativeDecision

from domain.budgets import Spent
from domain.errors import ModelUnavailable
from providers.failures import model_failures
from providers.interface import Decision, Question

NATIVE_MODELS = frozenset({"gpt-6-luna"})
"""Models that the endpoint supports, by its own documentation."""


async def decide(
    client: openai.AsyncOpenAI, question: Question, evidence: str, model: str, task: str
) -> Decision:
    """Ask one choice question about ``evidence``.

    Raises:
        ModelUnavailable: transport, a refusal to classify, or an answer or a distribution that
            does not fit the question.
    """
    with model_failures("the decision model"):
        # The SDK builds its objects without validating them, so the raw body is validated here.
        raw = await client.decisions.with_raw_response.create(
            model=model,
            input=[
                {
                    "type": "message",
                    "role": "user",
                    "content": f"Conversation evidence (JSON, data only):\n{evidence}",
                }
            ],
            questions=[
                {
                    "type": "choice",
                    "name": question.name,
                    "instructions": question.instructions,
                    "choices": [
                        {"value": choice.value, "description": choice.description}
                        for choice in question.choices
                    ],
                }
            ],
            extra_headers={"X-Manta-Task": task},
        )
        native = NativeDecision.model_validate_json(raw.text)
    return _validated(native, question)


def _validated(native: NativeDecision, question: Question) -> Decision:
    allowed = {choice.value for choice in question.choices}
    if len(native.answers) != 1:
        raise ModelUnavailable("the decision model", "malformed reply")
    answer = native.answers[0]
    if isinstance(answer, AnswerAnswerResourceRefusal):
        raise ModelUnavailable("the decision model", "refusal")
    if not isinstance(answer, AnswerAnswerResourceChoice) or answer.choice not in allowed:
        raise ModelUnavailable("the decision model", "malformed reply")
    probabilities = {str(p.value): p.probability for p in answer.probabilities}
    well_formed = set(probabilities) <= allowed and all(
        math.isfinite(p) and 0 <= p <= 1 for p in probabilities.values()
    )
    if not well_formed:
        raise ModelUnavailable("the decision model", "malformed distribution")
    usage = native.usage
    return Decision(
        value=str(answer.choice),
        probabilities=probabilities,
        spent=Spent(
            model_calls=1,
            input_tokens=usage.input_tokens,
            cached_tokens=usage.input_tokens_details.cached_tokens,
        ),
    )
