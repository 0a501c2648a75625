"""The judge node: whether the agent may answer without having looked anything up."""

from __future__ import annotations

import json

from actors.campus.leaks import is_leaked_call
from actors.campus.run import AGENT, CampusRun
from config import prompt_files
from domain.events import Verdict
from providers.interface import Choice, Models, Question

JUSTIFIED, NEEDS_TOOLS = "justified", "needs_tools"
REASONS = ("clarification", "greeting", "out_of_scope")


def judge_question() -> Question:
    """Binary with a reason: three choices justify an answer, the first asks for a tool."""
    table = prompt_files.table("campus_judge")
    return Question(
        name="campus_judge",
        instructions=table["instructions"],
        choices=tuple(
            Choice(
                value=value,
                description=table[value]["description"],
                examples=tuple(table[value].get("examples", ())),
            )
            for value in (NEEDS_TOOLS, *REASONS)
        ),
    )


class Judge:
    """Lives with the process."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._question = judge_question()

    async def judge(self, run: CampusRun, draft: str) -> Verdict:
        """The verdict on a draft that no tool supports.

        Raises:
            ModelUnavailable: no usable decision.
        """
        if not draft.strip():
            return self._verdict(NEEDS_TOOLS, "empty_answer")
        if is_leaked_call(draft):
            return self._verdict(NEEDS_TOOLS, "leaked_call")
        run.meter.take("model_calls")
        decision = await self._models.decide(
            self._question,
            json.dumps({"question": run.question, "draft": draft}, ensure_ascii=False),
            latest=run.question,
            model=run.model,
            task="manta.campus_advisor.judge",
            request_id=run.context.request_id,
        )
        run.meter.add(decision.spent.model_copy(update={"model_calls": 0}))
        if decision.value in REASONS:
            return self._verdict(JUSTIFIED, decision.value)
        return self._verdict(NEEDS_TOOLS, "unsupported")

    @staticmethod
    def _verdict(decision: str, reason: str) -> Verdict:
        return Verdict(agent=AGENT, step="judge", decision=decision, reason=reason)
