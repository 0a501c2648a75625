"""The tool that asks the user what only the user can say, shared by most specialists."""

from __future__ import annotations

import json

from langchain_core.tools import tool

from actors.pausing import ToolResult, paused
from actors.specialist_run import SpecialistRun
from config.policy import POLICY
from domain.pauses import PauseQuestion, PauseRequest, Resumption

CLARIFICATION = "request_clarification"


@tool(CLARIFICATION, response_format="content_and_artifact")
def request_clarification(questions: list[str]) -> ToolResult:
    """Ask the user for details without which you cannot go on. Only for what is essential.

    Args:
        questions: one to five short questions in the requested language, the most important first.
    """
    asked = [question.strip() for question in questions if question.strip()]
    limit = POLICY.pause.questions
    if not asked or len(asked) > limit:
        return json.dumps({"error": f"ask one to {limit} questions"}), None
    numbered = tuple(
        PauseQuestion(id=f"q{number}", text=text[: POLICY.pause.question_chars])
        for number, text in enumerate(asked, start=1)
    )
    return paused(PauseRequest(reason="clarification", questions=numbered))


async def clarified(run: SpecialistRun, resumption: Resumption) -> ToolResult:
    """The call's result: each question with its answer."""
    answers = [
        {"question": question.text, "answer": resumption.answers[question.id]}
        for question in resumption.pause.questions
    ]
    return json.dumps({"answers": answers}, ensure_ascii=False), None
