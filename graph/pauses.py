"""Answering a pause: whose answers are taken, and how a pause that nobody answers is closed."""

from __future__ import annotations

import json
from typing import Any

from config.policy import POLICY
from config.tenants import TenantConfig
from domain.errors import InvalidInput, NotFound
from domain.messages import Message, assistant
from domain.pauses import PauseQuestion, ResumeRequest, Resumption
from graph.state import OpenPause, PlainMessage, TurnState, plain


def answered(
    values: TurnState | dict[str, Any], request: ResumeRequest, tenant: TenantConfig
) -> tuple[OpenPause, Resumption]:
    """The open pause with its answers, checked: the current interaction, every question once, and
    nothing else. The conversation's key has already said whose it is.

    Raises:
        NotFound: no pause is open, another one is, or its specialist is no longer enabled.
        InvalidInput: answers are missing, too many, or none of the options.
    """
    kept = current_pause(values, request.interaction_id)
    if kept.pause.specialist not in tenant.enabled_specialists():
        raise NotFound("the interaction")
    given = request.payload
    questions = kept.pause.questions
    if isinstance(given, str):
        if len(questions) != 1:
            raise InvalidInput(
                "resume.payload",
                f"is one text for {len(questions)} questions",
                "send an object with an answer a question",
            )
        given = {questions[0].id: given}
    given = given or {}
    unknown = sorted(set(given) - {question.id for question in questions})
    if unknown:
        raise InvalidInput(f"resume.payload.{unknown[0]}", "is no question", "remove it")
    answers = {question.id: _answer(question, given.get(question.id)) for question in questions}
    return kept, Resumption(pause=kept.pause, answers=answers)


def current_pause(values: TurnState | dict[str, Any], interaction_id: str) -> OpenPause:
    """Raises NotFound unless the interaction is the one that is open now."""
    kept = OpenPause.of(values)
    if kept is None or kept.pause.interaction_id != interaction_id:
        raise NotFound("the interaction")
    return kept


def closed(kept: OpenPause) -> list[PlainMessage]:
    """The messages of a paused turn whose question was never answered: its call gets a result that
    says so, and the question stays as the last thing that was said."""
    result = Message(
        role="tool",
        text=json.dumps({"status": "abandoned"}),
        tool_call_id=kept.pause.call_id,
        tool_name=kept.pause.tool,
    )
    marked = {"interaction": kept.pause.interaction_id}
    said = assistant(kept.pause.text).model_copy(update=marked)
    return [*kept.incoming, *kept.draft, *plain([result, *kept.pause.exchange, said])]


def _answer(question: PauseQuestion, given: str | None) -> str:
    field = f"resume.payload.{question.id}"
    if given is None:
        raise InvalidInput(field, "is missing", "answer every question")
    text = given.strip()
    if not text:
        raise InvalidInput(field, "is empty", "write an answer")
    limit = POLICY.pause.answer_chars
    if len(text) > limit:
        raise InvalidInput(field, f"is longer than {limit} characters", "shorten it")
    values = [option.value for option in question.options]
    if values and text not in values:
        raise InvalidInput(field, "is none of the options", f"use one of {', '.join(values)}")
    return text
