"""The offer to widen a search that found nothing: which condition the user gives up."""

from __future__ import annotations

from config.prompt_files import phrase
from domain.pauses import Option, PauseQuestion, PauseRequest, Resumption
from domain.records import RecordFilters

QUESTION = "widen"
ALL = "all"
KEEP = "keep"
_DATES = ("starts_from", "starts_to")


def widening(query: str, filters: RecordFilters, locale: str) -> PauseRequest | None:
    """What to ask; ``None`` where no condition could be given up."""
    values = filters.model_dump(mode="json", exclude_none=True)
    names = [name for name in values if name not in _DATES]
    if any(name in values for name in _DATES):
        names.append("dates")
    if not names:
        return None
    options = [
        Option(
            value=name,
            label=phrase(f"widen_{name}", locale).format(value=values.get(name, "")),
        )
        for name in names
    ]
    if len(names) > 1:
        options.append(Option(value=ALL, label=phrase("widen_all", locale)))
    options.append(Option(value=KEEP, label=phrase("widen_keep", locale)))
    question = PauseQuestion(
        id=QUESTION, text=phrase("widen_question", locale), options=tuple(options)
    )
    return PauseRequest(
        reason="widen_search",
        questions=(question,),
        prepared={"query": query, "filters": values},
    )


def widened(resumption: Resumption) -> tuple[str, RecordFilters | None]:
    """The query and what is left of its conditions; ``None`` when the user keeps them all."""
    prepared = resumption.pause.request.prepared
    chosen = resumption.answers[QUESTION]
    values = dict(prepared["filters"])
    if chosen == KEEP:
        return prepared["query"], None
    dropped = tuple(values) if chosen == ALL else _DATES if chosen == "dates" else (chosen,)
    for name in dropped:
        values.pop(name, None)
    return prepared["query"], RecordFilters.model_validate(values)
