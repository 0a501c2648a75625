"""Documents to chunks: short verbatim pieces that keep to the document's own borders."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from config.policy import POLICY
from retrieval.documents import ExtractedDocument, Heading

BORDER_LEVEL = 3
"""Chunks do not cross headings up to this level; deeper ones are only good places to cut. Level 3
found more than level 2 on a real handbook (.65 against .56), and a citation names its section."""

PREAMBLE_CHARS = 150
"""A shorter text between a document's first heading and the next is no passage of its own."""

_SENTENCE_END = re.compile(r"[.!?…:;][\"'»”’)\]]*\s")


@dataclass(frozen=True, slots=True)
class Chunk:
    """``text`` is ``document.text[start : start + len(text)]``, without outer white space.

    ``heading`` is the path of headings above its start ("Leave > Carry over"), ``page`` the page
    of a PDF, counted from 1; ``position`` counts the document's chunks from 0.
    """

    position: int
    start: int
    text: str
    heading: str | None
    page: int | None


def chunks_of(
    document: ExtractedDocument,
    size: int = POLICY.ingest.chunk_chars,
    overlap: int = POLICY.ingest.chunk_overlap_chars,
) -> list[Chunk]:
    """Cut ``document`` into chunks of about ``size`` characters.

    Neighbours within one section share about ``overlap`` characters. No chunk crosses a heading of
    level 1 to 3, nor a page of a PDF, unless it would hold nothing but headings.
    """
    chunks: list[Chunk] = []
    for start, end in _sections(document):
        for first, last in _pieces(document, start, end, size, overlap):
            text = document.text[first:last]
            first += len(text) - len(text.lstrip())
            text = text.strip()
            if text:
                heading = _path(document, first)
                chunks.append(Chunk(len(chunks), first, text, heading, _page(document, first)))
    return chunks


def _sections(document: ExtractedDocument) -> Iterator[tuple[int, int]]:
    """The spans between borders; one that says nothing by itself is joined to the next."""
    borders = {item.offset for item in document.headings if item.level <= BORDER_LEVEL}
    cuts = sorted({0, *borders, *document.pages} | {len(document.text)})
    start = 0
    for end in cuts[1:]:
        if end < len(document.text) and _says_nothing(document, start, end):
            continue
        yield start, end
        start = end


def _says_nothing(document: ExtractedDocument, start: int, end: int) -> bool:
    """Whether a span holds its headings only, or is the short preamble of the document."""
    inside = [item for item in document.headings if start <= item.offset < end]
    rest = document.text[start:end]
    for item in inside:
        rest = rest.replace(item.title, "", 1)
    is_preamble = start == 0 and any(item.level == 1 for item in inside)
    return len(rest.strip()) < PREAMBLE_CHARS if is_preamble else not re.search(r"\w", rest)


def _pieces(
    document: ExtractedDocument, start: int, end: int, size: int, overlap: int
) -> Iterator[tuple[int, int]]:
    """Cut one section. A rest of up to a fifth of ``size`` stays with the last piece."""
    headings = [item.offset for item in document.headings if start < item.offset < end]
    while end - start > size + size // 5:
        cut = _cut(document.text, headings, start + size // 2, start + size)
        yield start, cut
        start = cut if cut in headings else _overlap_start(document.text, start, cut, overlap)
    yield start, end


def _cut(text: str, headings: list[int], low: int, high: int) -> int:
    """The best place to cut in ``(low, high]``: heading, paragraph, line, sentence, word."""
    position = bisect_right(headings, high) - 1
    if position >= 0 and headings[position] > low:
        return headings[position]
    for border in ("\n\n", "\n"):
        found = text.rfind(border, low, high)
        if found > low:
            return found + len(border)
    sentences = [match.end() for match in _SENTENCE_END.finditer(text, low, high)]
    if sentences:
        return sentences[-1]
    space = text.rfind(" ", low, high)
    return space + 1 if space > low else high


def _overlap_start(text: str, start: int, cut: int, overlap: int) -> int:
    """Where the next piece starts: a line, sentence or word within ``overlap`` before the cut."""
    low = max(start + 1, cut - overlap)
    line = text.find("\n", low, cut - 1)
    if line >= 0:
        return line + 1
    sentence = _SENTENCE_END.search(text, low, cut - 1)
    if sentence:
        return sentence.end()
    space = text.find(" ", low, cut - 1)
    return space + 1 if space >= 0 else low


def _path(document: ExtractedDocument, offset: int) -> str | None:
    """The headings above ``offset``, outermost first; a first one that repeats the title is left
    out, because a citation shows the title anyway."""
    above: list[Heading] = []
    for item in document.headings:
        if item.offset > offset:
            break
        while above and above[-1].level >= item.level:
            above.pop()
        above.append(item)
    titles = [item.title for item in above if item.title]
    if titles and titles[0].casefold() == document.title.casefold():
        titles = titles[1:]
    return " > ".join(titles) or None


def _page(document: ExtractedDocument, offset: int) -> int | None:
    return bisect_right(document.pages, offset) if document.pages else None
