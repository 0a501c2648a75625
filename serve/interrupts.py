"""An open pause as the outside sees it: its public id, its questions, and how to answer them.

The tool that waits, its call and what it had prepared stay inside.
"""

from __future__ import annotations

from typing import Any

from ag_ui.core import Interrupt

from config.policy import POLICY
from domain.pauses import Pause, PauseQuestion


def public_interrupt(pause: Pause) -> Interrupt:
    """The pause as AG-UI's interrupt; a resume answers it by the interaction id."""
    return Interrupt(
        id=pause.interaction_id,
        reason=pause.request.reason,
        message=pause.text,
        response_schema=response_schema(pause),
        metadata={
            "questions": [
                {
                    "id": question.id,
                    "text": question.text,
                    "options": [
                        {"value": option.value, "label": option.label}
                        for option in question.options
                    ],
                }
                for question in pause.questions
            ]
        },
    )


def response_schema(pause: Pause) -> dict[str, Any]:
    """The JSON schema of a resume's payload: one text a question, all of them, nothing else."""
    return {
        "type": "object",
        "properties": {question.id: _answer(question) for question in pause.questions},
        "required": [question.id for question in pause.questions],
        "additionalProperties": False,
    }


def _answer(question: PauseQuestion) -> dict[str, Any]:
    if question.options:
        return {"type": "string", "enum": [option.value for option in question.options]}
    return {"type": "string", "minLength": 1, "maxLength": POLICY.pause.answer_chars}
