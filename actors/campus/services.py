"""What the advisor's nodes work with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from actors.campus.grading import Grader
from actors.campus.judging import Judge
from actors.campus.subagents import Subagents
from actors.campus.web import WebSearch
from actors.role_handles import RetrieverHandle
from providers.interface import Models


@dataclass(frozen=True, slots=True)
class CampusServices:
    """Lives with the process; each turn's run carries it to the nodes. ``shown_urls`` are the
    operator's: where people open what a source's URL names."""

    models: Models
    retriever: RetrieverHandle
    web: WebSearch
    subagents: Subagents
    grader: Grader
    judge: Judge
    shown_urls: Mapping[str, str]
