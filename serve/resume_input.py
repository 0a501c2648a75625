"""The answer to a pause in an AG-UI run's input.

Only its form is checked here. Whether the pause is open, whose it is and whether every question is
answered is known where the conversation is.
"""

from __future__ import annotations

from ag_ui.core import RunAgentInput

from config.policy import POLICY
from domain.errors import InvalidInput
from domain.pauses import ResumeRequest
from serve.bounded_body import check_conversation, check_text


def resume_of(body: RunAgentInput) -> ResumeRequest | None:
    """The one answer of a run that resumes. Its messages are not read: the server keeps the
    history, and an earlier message cannot be told from a new one.

    Raises:
        InvalidInput: more than one answer, or one that is no text and no object of texts.
    """
    if not body.resume:
        return None
    if len(body.resume) > 1:
        raise InvalidInput("resume", "has more than one item", "answer the open interrupt only")
    entry = body.resume[0]
    interaction_id = check_conversation(entry.interrupt_id, "resume.0.interruptId")
    if entry.status == "cancelled":
        return ResumeRequest(interaction_id=interaction_id, cancelled=True)
    return ResumeRequest(interaction_id=interaction_id, payload=_payload(entry.payload))


def _payload(payload: object) -> dict[str, str] | str:
    field = "resume.0.payload"
    if isinstance(payload, str):
        return _answer(payload, field)
    if not isinstance(payload, dict) or not payload:
        raise InvalidInput(field, "is no text and no object", "answer each question by its id")
    if len(payload) > POLICY.pause.questions:
        raise InvalidInput(
            field, f"has more than {POLICY.pause.questions} answers", "answer what was asked"
        )
    return {
        check_conversation(question, field): _answer(answer, f"{field}.{question}")
        for question, answer in payload.items()
    }


def _answer(answer: object, field: str) -> str:
    if not isinstance(answer, str):
        raise InvalidInput(field, "is not text", "send text")
    trimmed = answer.strip()
    if not trimmed:
        raise InvalidInput(field, "is empty", "write something")
    limit = POLICY.pause.answer_chars
    if len(trimmed) > limit:
        raise InvalidInput(field, f"is longer than {limit} characters", "shorten it")
    check_text(trimmed, field)
    return trimmed
