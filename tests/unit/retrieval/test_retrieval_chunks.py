"""Chunks keep to the document's borders and stay verbatim."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from retrieval.chunks import chunks_of
from retrieval.documents import ExtractedDocument, Heading

SENTENCE = "The harbour office answers every letter within ten working days. "


def document(
    text: str, headings: tuple[Heading, ...] = (), pages: tuple[int, ...] = ()
) -> ExtractedDocument:
    return ExtractedDocument("Leave", text, headings, pages, "en")


def with_headings(*parts: tuple[int, str, str]) -> ExtractedDocument:
    """A document from (level, heading, text)."""
    text, headings = "", []
    for level, title, body in parts:
        headings.append(Heading(title, level, len(text)))
        text += f"{title}\n\n{body}\n\n" if body else f"{title}\n\n"
    return document(text.strip(), tuple(headings))


def test_a_short_document_is_one_chunk() -> None:
    [chunk] = chunks_of(document("  Only this.  \n"))
    assert (chunk.text, chunk.start, chunk.position) == ("Only this.", 2, 0)
    assert chunk.heading is None
    assert chunk.page is None


def test_no_chunk_crosses_a_heading() -> None:
    source = with_headings((2, "Carry over", SENTENCE * 4), (2, "Sick leave", SENTENCE * 4))
    chunks = chunks_of(source)
    assert [chunk.heading for chunk in chunks] == ["Carry over", "Sick leave"]
    assert "Sick leave" not in chunks[0].text


def test_the_heading_path_leaves_out_the_title() -> None:
    source = with_headings(
        (1, "Leave", SENTENCE * 5), (2, "Carry over", SENTENCE * 5), (3, "Limits", SENTENCE * 5)
    )
    paths = [chunk.heading for chunk in chunks_of(source)]
    assert paths == [None, "Carry over", "Carry over > Limits"]


def test_a_heading_alone_is_no_chunk() -> None:
    source = with_headings((2, "Leave of all kinds", ""), (3, "Sick leave", SENTENCE))
    [chunk] = chunks_of(source)
    assert chunk.text.startswith("Leave of all kinds\n\nSick leave")


def test_a_short_preamble_joins_the_first_section() -> None:
    source = with_headings((1, "Leave", "People team, 2026"), (2, "Carry over", SENTENCE))
    [chunk] = chunks_of(source)
    assert "People team" in chunk.text
    assert "ten working days" in chunk.text


def test_long_sections_are_cut_at_sentences_and_overlap() -> None:
    chunks = chunks_of(document(SENTENCE * 60))
    assert len(chunks) > 2
    for one, other in itertools.pairwise(chunks):
        assert one.text.endswith("days.")
        assert other.text.startswith("The harbour")
        assert other.start < one.start + len(one.text)


def test_pages_are_borders_and_numbers() -> None:
    text = "First page.\n\nSecond page."
    chunks = chunks_of(document(text, pages=(0, 13)))
    assert [(chunk.text, chunk.page) for chunk in chunks] == [
        ("First page.", 1),
        ("Second page.", 2),
    ]


def test_a_text_without_any_border_is_cut() -> None:
    chunks = chunks_of(document("x" * 5_000), size=1_000, overlap=100)
    assert max(len(chunk.text) for chunk in chunks) <= 1_200


@given(
    st.lists(st.sampled_from(["word", " ", "\n", "\n\n", ". ", "Ä", "x" * 70]), max_size=200),
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 6)), max_size=5),
    st.integers(40, 300),
)
def test_every_chunk_is_verbatim_and_nothing_is_lost(
    parts: list[str], places: list[tuple[int, int]], size: int
) -> None:
    text = "".join(parts)
    headings = tuple(
        Heading(text[offset : offset + 4], level, offset)
        for offset, level in sorted(places)
        if offset < len(text)
    )
    chunks = chunks_of(document(text, headings), size=size, overlap=size // 8)
    covered = bytearray(len(text))
    for chunk in chunks:
        end = chunk.start + len(chunk.text)
        assert text[chunk.start : end] == chunk.text
        covered[chunk.start : end] = b"\x01" * len(chunk.text)
    assert not "".join(char for char, seen in zip(text, covered, strict=True) if not seen).strip()
