"""Records files: what each kind's lines become, and what is wrong in which line and field."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from served import DEMO

from config.policy import POLICY
from domain.errors import InvalidConfiguration, InvalidInput
from domain.records import RECORD_KINDS, Record, RecordKind
from retrieval.records.entries import Entry
from retrieval.records.reading import read_records, record_kind

OPPORTUNITY = {
    "id": "O-1",
    "language": "en",
    "title": "Diver",
    "text": "You dive.",
    "type": "mission",
    "team": "Turbines",
}
TRAINING = {
    "id": "T-1",
    "language": "fr",
    "title": "Plonger",
    "text": "Une semaine.",
    "format": "workshop",
}
PERSON = {
    "id": "P-1",
    "language": "de",
    "name": "Anna Petersen",
    "role": "Taucherin",
    "team": "Werft",
    "text": "Taucht gern.",
    "speaks": ["de", "nl"],
}
OCCUPATION = {"id": "C-1", "language": "en", "title": "Diver", "text": "Works under water."}
ESCO = {
    "uri": "http://data.europa.eu/esco/occupation/5bca96fd",
    "isco": "7541",
    "label_en": "diver",
    "label_fr": "scaphandrier",
    "alt_en": ["construction diver"],
    "alt_fr": ["plongeur"],
    "description_en": "Divers work under water.",
    "essential_skills": [{"en": "dive", "fr": "plonger"}, {"en": "swim", "fr": None}],
}
LINES: dict[RecordKind, dict[str, Any]] = {
    "opportunities": OPPORTUNITY,
    "trainings": TRAINING,
    "people": PERSON,
    "occupations": OCCUPATION,
}


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "records.jsonl"
    written = [
        line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines
    ]
    path.write_text("\n".join(written), encoding="utf-8")
    return path


def read(folder: Path, kind: RecordKind, *lines: Any) -> list[Entry]:
    return read_records(write(folder, *lines), kind)


def wrong(folder: Path, kind: RecordKind, *lines: Any) -> InvalidConfiguration:
    with pytest.raises(InvalidConfiguration) as caught:
        read(folder, kind, *lines)
    return caught.value


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_each_kind_has_a_smallest_line(tmp_path: Path, kind: RecordKind) -> None:
    [entry] = read(tmp_path, kind, "", LINES[kind], "  ")
    assert entry.record.kind == kind
    assert entry.record.id == LINES[kind]["id"]


def test_an_opportunity_keeps_what_only_it_has(tmp_path: Path) -> None:
    line = {
        **OPPORTUNITY,
        "place": " Brest ",
        "level": "senior",
        "starts": "2027-02-01",
        "skills": ["diving"],
        "hours_per_week": 12,
        "apply_by": "2027-01-15",
    }
    [entry] = read(tmp_path, "opportunities", line)
    assert entry.record == Record(
        kind="opportunities",
        id="O-1",
        title="Diver",
        text="You dive.",
        language="en",
        place="Brest",
        level="senior",
        starts=date(2027, 2, 1),
        skills=("diving",),
        details={
            "type": "mission",
            "team": "Turbines",
            "hours_per_week": 12.0,
            "apply_by": "2027-01-15",
        },
    )


def test_a_person_is_found_by_the_languages_that_the_person_speaks(tmp_path: Path) -> None:
    [entry] = read(tmp_path, "people", {**PERSON, "available_from": "2027-01-04"})
    assert entry.spoken == ("de", "nl")
    assert entry.record.title == "Anna Petersen"
    assert entry.record.starts == date(2027, 1, 4)
    assert entry.record.details["role"] == "Taucherin"


def test_escos_form_becomes_one_record_in_both_languages(tmp_path: Path) -> None:
    [entry, own] = read(tmp_path, "occupations", ESCO, OCCUPATION)
    assert entry.record.id == "5bca96fd"
    assert entry.record.skills == ("dive", "swim")
    assert entry.record.details["labels"] == {"en": "diver", "fr": "scaphandrier"}
    assert entry.spoken == ("en", "fr")
    assert "plongeur" in entry.words and "plonger" in entry.words
    assert own.record.id == "C-1"


@pytest.mark.parametrize(
    ("kind", "change", "field"),
    [
        ("opportunities", {"type": "job"}, "type"),
        ("opportunities", {"starts": "1 March"}, "starts"),
        ("opportunities", {"hours_per_week": 0}, "hours_per_week"),
        ("opportunities", {"colour": "red"}, "colour"),
        ("opportunities", {"id": "with space"}, "id"),
        ("opportunities", {"language": "es"}, "language"),
        ("trainings", {"seats": "12"}, "seats"),
        ("trainings", {"skills": "diving"}, "skills"),
        ("trainings", {"skills": [""]}, "skills.0"),
        ("people", {"speaks": []}, "speaks"),
        ("people", {"speaks": ["DE"]}, "speaks.0"),
        ("occupations", {"title": " "}, "title"),
    ],
)
def test_a_wrong_value_is_refused_with_line_and_field(
    tmp_path: Path, kind: RecordKind, change: dict[str, Any], field: str
) -> None:
    error = wrong(tmp_path, kind, LINES[kind], "", {**LINES[kind], "id": "X-2", **change})
    assert error.field == f"records.jsonl, line 3: {field}"


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_a_missing_key_and_broken_json_are_refused(tmp_path: Path, kind: RecordKind) -> None:
    line = {name: value for name, value in LINES[kind].items() if name != "text"}
    assert wrong(tmp_path, kind, line).field == "records.jsonl, line 1: text"
    assert wrong(tmp_path, kind, "{").field == "records.jsonl, line 1: (the whole document)"


def test_a_wrong_line_of_esco_is_refused(tmp_path: Path) -> None:
    error = wrong(tmp_path, "occupations", {**ESCO, "uri": "http://evil.example/occupation/1"})
    assert error.field == "records.jsonl, line 1: uri"


def test_an_id_that_two_lines_have_is_refused_with_both_numbers(tmp_path: Path) -> None:
    error = wrong(tmp_path, "trainings", TRAINING, "", {**TRAINING, "title": "Other"})
    assert error.field == "records.jsonl, line 3: id"
    assert "T-1" in error.reason and "line 1" in error.reason


def test_a_line_may_be_as_long_as_the_policy_says(tmp_path: Path) -> None:
    line = json.dumps(TRAINING)
    padded = line + " " * (POLICY.records.line_chars - len(line))
    assert len(read(tmp_path, "trainings", padded)) == 1
    error = wrong(tmp_path, "trainings", padded + " ")
    assert error.field == "records.jsonl, line 1: (the whole line)"


def test_what_milvus_could_not_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    skills = [" ".join(f"w{number}x{word}" for word in range(15)) for number in range(60)]
    error = wrong(tmp_path, "trainings", {**TRAINING, "skills": skills})
    assert error.field == "records.jsonl, line 1: skills"
    # Four bytes a character: within the schema, beyond a row.
    error = wrong(tmp_path, "trainings", {**TRAINING, "text": "𝄞" * 20_000})
    assert error.field == "records.jsonl, line 1: text"


def test_a_line_ends_at_a_newline_only(tmp_path: Path) -> None:
    assert len(read(tmp_path, "trainings", {**TRAINING, "text": "a\u2028b"})) == 1


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.jsonl", tmp_path):
        with pytest.raises(InvalidConfiguration, match="cannot be read"):
            read_records(path, "people")
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe9"}')
    with pytest.raises(InvalidConfiguration, match="cannot be read"):
        read_records(tmp_path / "latin.jsonl", "people")


def test_a_kind_that_does_not_exist_is_refused_with_those_that_do() -> None:
    assert record_kind("people") == "people"
    with pytest.raises(InvalidInput, match="persons is no kind of record") as caught:
        record_kind("persons")
    assert "opportunities, trainings, people, occupations" in caught.value.mend


def test_a_digest_changes_with_the_record_and_with_nothing_else(tmp_path: Path) -> None:
    [one] = read(tmp_path, "people", PERSON)
    [same] = read(tmp_path, "people", json.dumps(dict(reversed(PERSON.items()))))
    [other] = read(tmp_path, "people", {**PERSON, "speaks": ["de"]})
    assert one.digest == same.digest != other.digest


def test_the_demo_has_what_it_promises() -> None:
    records = {kind: read_records(DEMO / "records" / f"{kind}.jsonl", kind) for kind in LINES}
    counts = {kind: len(entries) for kind, entries in records.items()}
    assert counts.pop("occupations") >= 25
    assert counts == {"opportunities": 60, "trainings": 40, "people": 30}
    for kind, entries in records.items():
        languages = Counter(entry.record.language for entry in entries)
        assert set(languages) == {"en", "fr", "de"}, kind
        assert max(languages.values()) - min(languages.values()) <= 1, kind
        texts = [entry.record.text for entry in entries]
        assert len(set(texts)) == len(texts), kind
    dated = [e.record.starts for kind in LINES for e in records[kind] if e.record.starts]
    assert min(dated) > date(2026, 12, 31)
    names = Counter(entry.record.title for entry in records["people"])
    homonyms = [name for name, count in names.items() if count > 1]
    assert len(homonyms) >= 3
    for name in homonyms:
        bearers = [e.record for e in records["people"] if e.record.title == name]
        assert len({(bearer.place, bearer.details["team"]) for bearer in bearers}) == len(bearers)
