"""How a filter's words are compared, and the filter that Milvus is given."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from domain.records import RecordFilters
from retrieval.records.conditions import conditions
from retrieval.records.folding import RUN_WORDS, folded, runs
from retrieval.tenancy import own


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("Élan", "elan"),
        ("  Ponton 4, BREST ", "ponton 4 brest"),
        ("Straße", "strasse"),
        ("Cœur de métier", "coeur de metier"),
        ("C++", "c++"),
        ("C#", "c#"),
        ('x" or tenant != "', "x or tenant"),
        ("?!", ""),
    ],
)
def test_words_are_compared_without_case_accents_and_punctuation(text: str, compared: str) -> None:
    assert folded(text) == compared


def test_composed_and_decomposed_letters_are_the_same() -> None:
    assert folded("e\u0301tude") == folded("\u00e9tude") == "etude"


def test_a_value_is_found_by_itself_and_by_its_whole_words() -> None:
    assert runs(["MIG welding", "Brest"]) == ["brest", "mig", "mig welding", "welding"]
    assert "wel" not in runs(["MIG welding"])
    assert runs(["!"]) == runs([]) == []


def test_runs_are_bounded_and_the_whole_value_is_always_among_them() -> None:
    value = " ".join(f"w{number}" for number in range(RUN_WORDS + 2))
    found = runs([value])
    assert value in found
    assert " ".join(value.split()[:RUN_WORDS]) in found
    assert " ".join(value.split()[: RUN_WORDS + 1]) not in found


def test_tenant_and_kind_are_in_every_filter() -> None:
    assert conditions("acme", "people", RecordFilters()) == 'tenant == "acme" and kind == "people"'


def test_every_condition_is_pushed_down() -> None:
    filters = RecordFilters(
        place="Brest",
        language="fr",
        level="Senior",
        skill="Soudage MIG",
        starts_from=date(2027, 1, 2),
        starts_to=date(2027, 3, 4),
    )
    clause = conditions("acme", "people", filters, ("P-1", 'a"b'))
    for part in (
        'array_contains(places, "brest")',
        'array_contains(levels, "senior")',
        'array_contains(skills, "soudage mig")',
        'array_contains(spoken, "fr")',
        f"starts >= {date(2027, 1, 2).toordinal()}",
        f"starts > 0 and starts <= {date(2027, 3, 4).toordinal()}",
        r'record_id not in ["P-1", "a\"b"]',
    ):
        assert part in clause


@pytest.mark.parametrize("field", ["place", "level", "skill"])
def test_a_condition_without_a_word_is_refused(field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        conditions("acme", "people", RecordFilters(**{field: '"'}))
    assert caught.value.field == field


def test_dates_that_exclude_each_other_are_refused() -> None:
    day = date(2027, 1, 2)
    conditions("acme", "people", RecordFilters(starts_from=day, starts_to=day))
    with pytest.raises(InvalidInput) as caught:
        conditions("acme", "people", RecordFilters(starts_from=day, starts_to=date(2027, 1, 1)))
    assert caught.value.field == "starts_from"


@given(st.text())
def test_no_text_leaves_its_quotes(text: str) -> None:
    compared = folded(text)
    assert not set(compared) & set("\"'\\%()[]\n\r\t")
    assert folded(compared) == compared
    if compared:
        clause = conditions("acme", "people", RecordFilters.model_construct(skill=text))
        assert clause.count('"') == 6 and clause.endswith(f'"{compared}")')


def test_a_row_of_another_tenant_or_kind_is_never_handed_out() -> None:
    mine = {"tenant": "acme", "kind": "people"}
    rows = [mine, {"tenant": "zoo", "kind": "people"}, {"tenant": "acme", "kind": "document"}]
    assert own("acme", rows, "people") == [mine]
    assert own("acme", [{"tenant": "acme"}], "people") == []
