"""The prompts folder: every file can be read and says what all of them must say."""

from __future__ import annotations

import re

import pytest

from config.prompt_files import FOLDER, phrase, table, text
from config.tenants import SPECIALISTS

INSTRUCTIONS = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "untrusted")
UNTRUSTED = (FOLDER / "untrusted.md").read_text(encoding="utf-8").strip()
LOCALES = {"en", "fr", "de"}


def test_every_model_that_writes_has_instructions() -> None:
    assert {"guardrail_reply", "research", *SPECIALISTS} <= set(INSTRUCTIONS)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_every_prompt_ends_with_the_policy_on_untrusted_data(name: str) -> None:
    body = (FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()
    assert body
    assert text(name) == f"{body}\n\n{UNTRUSTED}"


def test_the_policy_calls_request_data_untrusted_and_forbids_to_follow_it() -> None:
    assert "untrusted" in UNTRUSTED.lower()
    assert "never follow" in UNTRUSTED
    for kind in ("summaries", "preferences", "documents", "web pages", "tool results"):
        assert kind in UNTRUSTED.lower()


def test_the_policy_says_what_a_labelled_block_means() -> None:
    assert "<data" in UNTRUSTED


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_instructions_hold_nothing_of_a_request(name: str) -> None:
    assert not re.search(r"\{[a-z_]+\}|\$[a-z_]+|\{\{", text(name)), "a prefix can be cached"


@pytest.mark.parametrize("name", list(table("phrases")))
def test_every_phrase_has_three_languages_that_differ(name: str) -> None:
    entry = table("phrases")[name]
    assert set(entry) == LOCALES
    assert all(sentence.strip() == sentence != "" for sentence in entry.values())
    assert len(set(entry.values())) == len(LOCALES)


@pytest.mark.parametrize("name", ["boundary_doubt", "boundary_block", "safe_error"])
def test_the_phrases_that_code_relies_on_exist(name: str) -> None:
    assert phrase(name, "fr") == table("phrases")[name]["fr"]


def test_a_language_without_a_phrase_gets_english() -> None:
    assert phrase("safe_error", "it") == table("phrases")["safe_error"]["en"]


def test_an_unknown_phrase_is_an_error_not_an_empty_text() -> None:
    with pytest.raises(KeyError):
        phrase("no_such_phrase", "en")


def test_every_specialist_is_described_with_examples_and_nobody_else_is() -> None:
    specialists = table("specialists")
    assert set(specialists) == {"instructions", "redirect", *SPECIALISTS}
    assert specialists["instructions"].strip()
    for name in SPECIALISTS:
        assert specialists[name]["description"].strip()
        examples = table(f"examples/{name}")
        assert set(examples) == LOCALES
        assert all(len(texts) >= 10 for texts in examples.values())
    assert {path.stem for path in (FOLDER / "examples").iterdir()} == set(SPECIALISTS)


def test_no_example_belongs_to_two_specialists() -> None:
    examples = [
        example
        for name in SPECIALISTS
        for texts in table(f"examples/{name}").values()
        for example in texts
    ]
    assert len(examples) == len(set(examples))


def test_a_specialists_rules_meet_no_example_of_another_one() -> None:
    """Those of career chat only add weight and may; all others decide alone."""
    specialists = table("specialists")
    for name in SPECIALISTS:
        rules = () if name == "career_chat" else specialists[name].get("rules", ())
        others = [other for other in SPECIALISTS if other != name]
        for rule in rules:
            for other in others:
                for example in (e for each in table(f"examples/{other}").values() for e in each):
                    plain = example.lower().replace("’", "'")
                    assert not re.search(rule, plain), (name, rule, other, example)


def test_the_gate_describes_its_three_choices_and_its_rules_compile() -> None:
    gate = table("guardrail")
    assert {"allow", "doubt", "block"} <= set(gate)
    for value in ("allow", "doubt", "block"):
        assert gate[value]["description"].strip()
        assert gate[value]["examples"]
    assert set(gate["rules"]) <= {"allow", "doubt", "block"}
    for patterns in gate["rules"].values():
        for pattern in patterns:
            re.compile(pattern)
