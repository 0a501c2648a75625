"""The researcher's structured answer and its validation in code.

An answer is accepted only if it is not empty, every cited id was delivered in this run and every
quote is found in the delivered excerpt of that source (design section 5).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from actors.evidence import Evidence, citation, folded
from domain.answers import Citation
from domain.errors import MantaError

MIN_QUOTE_CHARS = 3


class CitedQuote(BaseModel):
    """One piece of evidence for the answer."""

    model_config = ConfigDict(extra="forbid")

    source_id: str = Field(description="The source_id as delivered, for example d1 or w2.")
    quote: str = Field(description="A short passage copied letter by letter from that source.")


class StructuredAnswer(BaseModel):
    """Give the result of the research. Call this exactly once, as the last step."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["answered", "unanswerable", "unavailable"]
    answer: str = Field(default="", description="The answer for the user, empty unless answered.")
    citations: list[CitedQuote] = Field(default_factory=list)
    limitation: str | None = Field(
        default=None, description="What could not be checked, in the user's language."
    )


class AnswerRejected(MantaError):
    """A declared answer that does not hold; ``code`` says what is wrong with it."""

    def __init__(self, code: str) -> None:
        super().__init__(code, code=code)


def validated_citations(draft: StructuredAnswer, evidence: Evidence) -> tuple[Citation, ...]:
    """The citations of an ``answered`` draft, numbered in order, each quote checked.

    Raises:
        AnswerRejected: ``empty_answer``, ``no_citation``, ``unknown_source``, ``empty_quote`` or
            ``quote_not_found``.
    """
    if not draft.answer.strip():
        raise AnswerRejected("empty_answer")
    if not draft.citations:
        raise AnswerRejected("no_citation")
    accepted: list[Citation] = []
    seen: set[tuple[str, str]] = set()
    for cited in draft.citations:
        source = evidence.get(cited.source_id)
        if source is None:
            raise AnswerRejected("unknown_source")
        quote = folded(cited.quote)
        if len(quote) < MIN_QUOTE_CHARS:
            raise AnswerRejected("empty_quote")
        excerpt = source.excerpt_with(cited.quote)
        if excerpt is None:
            raise AnswerRejected("quote_not_found")
        if (cited.source_id, quote) in seen:
            continue
        seen.add((cited.source_id, quote))
        accepted.append(citation(len(accepted) + 1, source, cited.quote, excerpt))
    return tuple(accepted)
