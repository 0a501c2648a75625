"""The honest end of a turn that found no answer: what was looked at, and never a reference."""

from __future__ import annotations

from actors.campus.run import CampusRun
from config.prompt_files import phrase
from domain.answers import AnswerStatus, KnowledgeAnswer


def closing(run: CampusRun) -> KnowledgeAnswer:
    """A miss, or an unavailability when a source that might have answered did not respond."""
    status: AnswerStatus = "unavailable" if run.silent else "unanswerable"
    text = phrase(_phrase(run), run.context.locale)
    text = text.format(searches=len(run.queries), sources=len(run.evidence))
    return KnowledgeAnswer(status=status, answer=text, code="campus_closed")


def _phrase(run: CampusRun) -> str:
    if run.silent:
        return "campus_partly_unavailable" if len(run.evidence) else "campus_unavailable"
    return "campus_not_found" if run.queries else "campus_not_searched"
