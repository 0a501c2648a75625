"""What a research sees of a page: a window of its text, its sections, its links, its budget."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from crawler.extract import ExtractedPage
from domain.errors import MantaError

RefusalReason = Literal[
    "page_limit",
    "source_page_limit",
    "read_limit",
    "depth_limit",
    "unknown_page",
    "invalid_section",
    "deadline",
]

_SOFT_CUT_SHARE = 10


class ReadRefused(MantaError):
    """A read that is not done; ``code`` and ``reason`` say why."""

    reason: RefusalReason

    def __init__(self, reason: RefusalReason) -> None:
        super().__init__(reason, code=reason, reason=reason)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class SectionEntry(_Frozen):
    """One line of a page's section index."""

    section_id: str
    title: str
    level: int


class OfferedLink(_Frozen):
    """A page that may be read next; ``page_id`` is valid in this session only."""

    page_id: str
    label: str
    path: str
    context: str


class PageWindow(_Frozen):
    """A part of a page. ``source`` counts from 1; windows at ``offset`` 0 and at each
    ``next_offset`` join to the whole text.

    ``headings`` and ``links`` are the page's, in its order; ``headings_left_out`` and
    ``links_left_out`` count those that a window's limits left out.
    """

    page_id: str
    source: int
    url: str
    title: str
    text: str
    offset: int
    next_offset: int | None
    section_id: str | None
    headings: tuple[SectionEntry, ...]
    headings_left_out: int = 0
    links: tuple[OfferedLink, ...]
    links_left_out: int = 0
    truncated: bool
    language: str | None


class SourceOutcome(_Frozen):
    """What became of a source's entry page; ``code`` is set unless it was read."""

    source: int
    status: Literal["read", "failed"]
    code: str | None = None
    window: PageWindow | None = None


class SourceBudget(_Frozen):
    """Page attempts of one source."""

    source: int
    used: int
    remaining: int


class WebBudget(_Frozen):
    """Page attempts, failed ones included, and explicit reads, of the whole run."""

    used: int
    remaining: int
    per_source: tuple[SourceBudget, ...]
    remaining_reads: int


def cut(text: str, offset: int, limit: int) -> tuple[str, int | None]:
    """At most ``limit`` characters from ``offset``, ending between words, and where they go on."""
    end = offset + limit
    if end >= len(text):
        return text[offset:], None
    earliest = end - limit // _SOFT_CUT_SHARE
    for mark in ("\n\n", "\n", " "):
        place = text.rfind(mark, earliest, end)
        if place > offset:
            end = place + len(mark)
            break
    return text[offset:end], end


def start_of(
    page: ExtractedPage, section_id: str | None, offset: int | None, fragment: str
) -> tuple[int, str | None]:
    """Where a window begins, and the section that it was asked by.

    Raises:
        ReadRefused: ``invalid_section`` for a section or an offset that the page has not.
    """
    if section_id is not None:
        for heading in page.headings:
            if heading.section_id == section_id:
                return heading.offset, section_id
        raise ReadRefused("invalid_section")
    if offset is not None:
        if not 0 <= offset < max(1, len(page.text)):
            raise ReadRefused("invalid_section")
        return offset, None
    if fragment:
        for heading in page.headings:
            if fragment in heading.ids:
                return heading.offset, heading.section_id
    return 0, None
