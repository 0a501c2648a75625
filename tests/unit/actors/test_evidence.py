"""What may be cited: ids, folding of quotes, and each reason to reject an answer."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from actors.evidence import PASSAGE_CHARS, Evidence, Source, folded
from actors.structured_answer import (
    MIN_QUOTE_CHARS,
    AnswerRejected,
    CitedQuote,
    StructuredAnswer,
    validated_citations,
)
from domain.answers import Citation

TEXT = "Full-time staff receive 27 days of annual leave in every calendar year."


def document(title: str = "Leave") -> Source:
    return Source(kind="document", title=title, heading="Days", page=3)


def page(url: str = "https://a.example/") -> Source:
    return Source(kind="web", title="Leave", url=url)


def draft(*cited: tuple[str, str], answer: str = "27 days.") -> StructuredAnswer:
    citations = [CitedQuote(source_id=source, quote=quote) for source, quote in cited]
    return StructuredAnswer(status="answered", answer=answer, citations=citations)


def cite(excerpt: str, quote: str) -> Citation:
    evidence = Evidence()
    evidence.deliver("k", document(), excerpt)
    (citation,) = validated_citations(draft(("d1", quote)), evidence)
    return citation


@pytest.mark.parametrize(
    ("excerpt", "quote"),
    [
        ("The employee’s “own” days", 'The employee\'s "own" days'),
        ("it is ‘flexible’ here", "it is 'flexible' here"),
        (
            "L’accord « télétravail » prévoit 2\u00a0jours",
            'L\'accord " télétravail " prévoit 2 jours',
        ),
        ("un délai de 48\u202fheures\u00a0!", "un délai de 48 heures !"),
        ("Die „Gleitzeit“ gilt", 'Die "Gleitzeit" gilt'),
        ("Die »Gleitzeit« und ‚Kern‘zeit", "Die \"Gleitzeit\" und 'Kern'zeit"),
        ("Urlaubs\u00adanspruch", "Urlaubsanspruch"),
        ("27  days\n of\tannual   leave", "27 days of annual leave"),
    ],
    ids=["en-double", "en-single", "fr-guillemets", "fr-spaces", "de", "de-angle", "soft", "white"],
)
def test_white_space_and_typographic_quotes_are_folded_both_ways(excerpt: str, quote: str) -> None:
    assert cite(excerpt, quote).quote == quote
    assert cite(quote, excerpt).quote == excerpt


def test_a_french_quotation_may_be_quoted_without_its_inner_spaces() -> None:
    cite("L’accord «\u00a0télétravail\u00a0» prévoit deux jours", 'L\'accord "télétravail" prévoit')


@pytest.mark.parametrize(
    ("excerpt", "quote"),
    [
        (TEXT, "27 days of annual Leave"),
        (TEXT, "27 days annual leave"),
        (TEXT, "28 days"),
        ("les congés payés", "les conges payes"),
        ("die Straße", "die Strasse"),
        ("Full-time", "Full time"),
    ],
)
def test_nothing_else_is_forgiven_in_a_quote(excerpt: str, quote: str) -> None:
    with pytest.raises(AnswerRejected) as caught:
        cite(excerpt, quote)
    assert caught.value.code == "quote_not_found"


def test_folding_twice_changes_nothing() -> None:
    once = folded("  «\u00a0a’b\u202f»\n„c“ ")
    assert folded(once) == once


def test_sources_are_numbered_by_kind_in_the_order_of_delivery() -> None:
    evidence = Evidence()
    ids = [
        evidence.deliver("a", document(), "x"),
        evidence.deliver("a", page(), "x"),
        evidence.deliver("b", document(), "x"),
        evidence.deliver("b", page(), "x"),
    ]
    assert ids == ["d1", "w1", "d2", "w2"]
    assert len(evidence) == 4


def test_a_source_delivered_again_keeps_its_id_and_gains_the_excerpt() -> None:
    evidence = Evidence()
    assert evidence.deliver("a", page(), "first window") == "w1"
    assert evidence.deliver("a", page(), "second window") == "w1"
    assert evidence.deliver("a", page(), "first window") == "w1"
    source = evidence.get("w1")
    assert source is not None
    assert source.excerpts == ["first window", "second window"]
    assert source.excerpt_with("second") == "second window"


def test_an_unknown_id_is_no_source() -> None:
    assert Evidence().get("d1") is None


def test_citations_are_numbered_and_carry_what_a_user_may_see() -> None:
    evidence = Evidence()
    evidence.deliver("chunk-77", document(), TEXT)
    evidence.deliver("https://a.example/", page(), TEXT)
    found = validated_citations(draft(("w1", "27 days"), ("d1", " annual leave ")), evidence)
    assert [c.number for c in found] == [1, 2]
    assert (found[0].kind, found[0].url, found[0].page) == ("web", "https://a.example/", None)
    assert (found[1].kind, found[1].url, found[1].heading) == ("document", None, "Days")
    assert (found[1].quote, found[1].page, found[1].passage) == ("annual leave", 3, TEXT)
    assert "chunk-77" not in repr(found)


def test_the_same_quote_of_a_source_is_cited_once() -> None:
    evidence = Evidence()
    evidence.deliver("a", document(), TEXT)
    evidence.deliver("b", document(), TEXT)
    cited = draft(("d1", "27 days"), ("d1", "27  days"), ("d2", "27 days"), ("d1", "leave"))
    found = validated_citations(cited, evidence)
    assert [(c.number, c.quote) for c in found] == [(1, "27 days"), (2, "27 days"), (3, "leave")]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (draft(("d1", "27 days"), answer=" \n"), "empty_answer"),
        (draft(), "no_citation"),
        (draft(("d2", "27 days")), "unknown_source"),
        (draft(("https://a.example/", "27 days")), "unknown_source"),
        (draft(("d1", "")), "empty_quote"),
        (
            draft(
                ("d1", " « » "),
            ),
            "empty_quote",
        ),
        (draft(("d1", "27 weeks")), "quote_not_found"),
        (draft(("d1", "27 days"), ("d1", "27 weeks")), "quote_not_found"),
    ],
)
def test_an_answer_that_does_not_hold_is_rejected_with_the_reason(
    answer: StructuredAnswer, code: str
) -> None:
    evidence = Evidence()
    evidence.deliver("a", document(), TEXT)
    with pytest.raises(AnswerRejected) as caught:
        validated_citations(answer, evidence)
    assert caught.value.code == code


@pytest.mark.parametrize(("length", "accepted"), [(MIN_QUOTE_CHARS, True), (2, False)])
def test_a_quote_has_at_least_three_characters(length: int, accepted: bool) -> None:
    assert MIN_QUOTE_CHARS == 3
    if accepted:
        assert cite(TEXT, TEXT[:length]).quote == TEXT[:length]
    else:
        with pytest.raises(AnswerRejected, match="empty_quote"):
            cite(TEXT, TEXT[:length])


def test_a_quote_of_another_source_is_not_found() -> None:
    evidence = Evidence()
    evidence.deliver("a", document(), "one text")
    evidence.deliver("b", document(), "another text")
    with pytest.raises(AnswerRejected, match="quote_not_found"):
        validated_citations(draft(("d1", "another text")), evidence)


def test_a_quote_does_not_span_two_excerpts() -> None:
    evidence = Evidence()
    evidence.deliver("a", page(), "ends with alpha")
    evidence.deliver("a", page(), "beta begins")
    with pytest.raises(AnswerRejected, match="quote_not_found"):
        validated_citations(draft(("w1", "alpha beta")), evidence)


@pytest.mark.parametrize("before", [0, 1_400, 6_000])
def test_a_long_excerpt_is_shown_around_its_quote(before: int) -> None:
    excerpt = "a" * before + " the quote " + "z" * 5_000
    passage = cite(excerpt, "the quote").passage
    assert passage is not None
    assert "the quote" in passage
    assert len(passage) <= PASSAGE_CHARS
    assert passage in excerpt


def test_an_excerpt_of_the_passages_size_is_shown_whole() -> None:
    excerpt = "the quote" + "z" * (PASSAGE_CHARS - 9)
    assert cite(excerpt, "the quote").passage == excerpt


@pytest.mark.parametrize(
    ("written", "quote"), [("the employee’s days", "the employee's days"), ("27\n days", "27 days")]
)
def test_the_passage_holds_a_quote_that_was_found_by_folding(written: str, quote: str) -> None:
    passage = cite("a" * 4_000 + f" {written} " + "z" * 4_000, quote).passage
    assert passage is not None
    assert folded(quote) in folded(passage)


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "maybe"},
        {"status": "answered", "confidence": 1},
        {"status": "answered", "citations": [{"source_id": "d1", "quote": "q", "url": "u"}]},
        {},
    ],
)
def test_a_structured_answer_has_its_own_fields_only(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        StructuredAnswer.model_validate(wrong)
