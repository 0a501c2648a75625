"""The grade node: whether what was found is worth answering from.

A trusted source decides alone, unless it is empty. Then the cosine of question and query with the
results decides where it is clear; in between, and where nothing embeds, one structured grader call.
"""

from __future__ import annotations

import json

import numpy as np

from actors.campus.run import AGENT, CampusRun, Delivered
from config import prompt_files
from domain.errors import MantaError
from domain.events import Verdict
from providers.interface import Choice, Models, Question

RELEVANT, NOT_RELEVANT = "relevant", "not_relevant"
GRADED_CHARS = 2_000


def grading_question() -> Question:
    table = prompt_files.table("campus_grading")
    return Question(
        name="campus_grading",
        instructions=table["instructions"],
        choices=tuple(
            Choice(value=value, description=table[value]["description"])
            for value in (RELEVANT, NOT_RELEVANT)
        ),
    )


class Grader:
    """Lives with the process."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._question = grading_question()

    async def grade(self, run: CampusRun) -> Verdict:
        """The verdict on the latest batch, with its reason.

        Raises:
            ModelUnavailable: the grader was needed and gave no usable answer.
        """
        found = [one for one in run.latest if one.text.strip()]
        if not found:
            return self._verdict(NOT_RELEVANT, "tools_failed" if run.failed else "no_results")
        if any(one.trusted for one in found):
            return self._verdict(RELEVANT, "trusted_source")
        score = await self._score(run, [one.text for one in found])
        if score is not None and score >= run.campus.grading.high:
            return self._verdict(RELEVANT, "near", score)
        if score is not None and score <= run.campus.grading.low:
            return self._verdict(NOT_RELEVANT, "far", score)
        run.meter.take("model_calls")
        decision = await self._models.decide(
            self._question,
            self._evidence(run, found),
            latest=f"{run.question}\n{found[0].text[:GRADED_CHARS]}",
            model=run.model,
            task="manta.campus_advisor.grading",
            request_id=run.context.request_id,
        )
        run.meter.add(decision.spent.model_copy(update={"model_calls": 0}))
        value = RELEVANT if decision.value == RELEVANT else NOT_RELEVANT
        return self._verdict(value, "grader" if score is not None else "grader_only", score)

    async def _score(self, run: CampusRun, texts: list[str]) -> float | None:
        """The nearest result's cosine to the question and what the batch looked for; ``None`` where
        nothing embeds."""
        asked = " ".join(dict.fromkeys([run.question, *run.asked]))
        embedder = self._models.embedder
        shown = [text[:GRADED_CHARS] for text in texts]
        try:
            vectors = np.asarray(await embedder.embed([asked, *shown]), dtype=np.float64)
        except MantaError:
            return None
        norms = np.linalg.norm(vectors, axis=1)
        cosines = vectors[1:] @ vectors[0] / np.maximum(norms[1:] * norms[0], 1e-12)
        return float(cosines.max())

    @staticmethod
    def _evidence(run: CampusRun, found: list[Delivered]) -> str:
        results = [
            {"title": one.title, "place": one.place, "text": one.text[:GRADED_CHARS]}
            for one in found
        ]
        return json.dumps(
            {"question": run.question, "queries": run.queries, "results": results},
            ensure_ascii=False,
        )

    @staticmethod
    def _verdict(decision: str, reason: str, score: float | None = None) -> Verdict:
        shown = None if score is None else round(score, 4)
        return Verdict(agent=AGENT, step="grade", decision=decision, reason=reason, score=shown)
