"""How a name is found in a question, and which of its people are offered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from config.prompt_files import phrase
from providers.labelled_data import labelled
from providers.offline_people import full_name, name_in, next_person_step
from providers.offline_steps import REPLY

TOOLS = frozenset({"find_person", "choose_person"})
FINANCE = {"id": "P-1", "title": "Anna Petersen", "role": "Accountant", "team": "Finance"}
YARD = {"id": "P-2", "title": "Anna Petersen", "role": "Schweißerin", "team": "Werft"}
DECK = {"id": "P-3", "title": "Anna Petersen", "role": "Matelot", "place": "Brest"}


def messages(text: str, *results: tuple[str, Any], language: str = "en") -> list[BaseMessage]:
    found: list[BaseMessage] = [labelled("request", {"language": language}), HumanMessage(text)]
    for tool, result in results:
        found.append(ToolMessage(json.dumps(result), tool_call_id="c", name=tool))
    return found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Who is Jory Nance?", "Jory Nance"), ("who is thomas martin", "thomas martin"),
        ("What is Anna Petersen's job?", "Anna Petersen"),
        ("Is there a Morwenna in the service desk?", "Morwenna"),
        ("Can I talk to Marie Le Gall?", "Marie Le Gall"), ("Petersen", "Petersen"),
        ("Connais-tu Gwenaëlle Morvan ?", "Gwenaëlle Morvan"),
        ("Quel est le métier d’Anna Petersen ?", "Anna Petersen"),
        ("qui est marie le gall ?", "marie le gall"), ("Je parle de l'autre Marie", "Marie"),
        ("Kennst du Hinrich Onken?", "Hinrich Onken"), ("wer ist jan kröger", "jan kröger"),
        ("Ich meine den Jan aus der Konstruktion", "Jan"), ("Who is it?", ""),
    ],
)  # fmt: skip
def test_the_name_in_a_question(text: str, name: str) -> None:
    assert name_in(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Who is Jory Nance?", "Jory Nance"), ("Wer ist Jan van der Berg?", "Jan van der Berg"),
        ("Who is the Data Protection Officer?", ""), ("Who is responsible for payroll?", ""),
        ("who is thomas martin", ""), ("Wer ist Leiter der Werft?", ""), ("Who is Kerensa?", ""),
        ("Who is Anna Petersen in finance?", ""),
    ],
)  # fmt: skip
def test_a_full_name_ends_a_question(text: str, name: str) -> None:
    assert full_name(text) == name


def test_one_is_shown_and_several_are_chosen_from() -> None:
    one = ("find_person", {"people": [FINANCE]})
    assert next_person_step(messages("Who is Anna?"), TOOLS).arguments == {"name": "Anna"}
    assert next_person_step(messages("Who is Anna?", one), TOOLS) == REPLY
    text = next_person_step(messages("Who is Anna?", one), frozenset()).text
    assert text.startswith(phrase("offline_person", "en")) and "P-1" in text
    several = ("find_person", {"people": [FINANCE, YARD, DECK]})
    step = next_person_step(messages("Who is Anna?", several), TOOLS)
    assert (step.call, step.arguments) == ("choose_person", {"person_ids": ["P-1", "P-2", "P-3"]})


def test_a_client_that_cannot_pause_gets_the_list() -> None:
    several = ("find_person", {"people": [FINANCE, YARD]})
    asked = messages("Wer ist Anna?", several, language="de")
    assert next_person_step(asked, frozenset({"find_person"})) == REPLY
    text = next_person_step(asked, frozenset()).text
    assert text.startswith(phrase("offline_people", "de")) and "P-1" in text and "P-2" in text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Which Anna Petersen works in finance?", ["P-1"]),
        ("Quelle Anna Petersen est à Brest ?", ["P-3"]),
        ("Welche Anna Petersen ist Schweißerin?", ["P-2"]),
        ("Which Anna Petersen lives in Rome?", ["P-1", "P-2", "P-3"]),
    ],
)
def test_what_is_said_beside_the_name_narrows(text: str, left: list[str]) -> None:
    several = ("find_person", {"people": [FINANCE, YARD, DECK]})
    shown = next_person_step(messages(text, several), frozenset()).text
    assert [one for one in ("P-1", "P-2", "P-3") if one in shown] == left


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_nobody_none_of_them_and_no_name(language: str) -> None:
    nobody = messages("Who is Bob?", ("find_person", {"people": []}), language=language)
    assert next_person_step(nobody, frozenset()).text == phrase("offline_no_person", language)
    none = messages(
        "Who is Anna?",
        ("find_person", {"people": [FINANCE, YARD]}),
        ("choose_person", {"chosen": None}),
        language=language,
    )
    assert next_person_step(none, TOOLS) == REPLY
    assert next_person_step(none, frozenset()).text == phrase("offline_none_of_them", language)
    nameless = messages("who is it?", language=language)
    assert next_person_step(nameless, TOOLS) == REPLY
    assert next_person_step(nameless, frozenset()).text == phrase("offline_which_name", language)


def test_the_chosen_person_is_shown_whole() -> None:
    chosen = ("choose_person", {"chosen": {**YARD, "text": "MIG und WIG."}})
    text = next_person_step(messages("Who is Anna?", chosen), frozenset()).text
    assert "P-2" in text and text.endswith("MIG und WIG.")


@pytest.mark.parametrize(
    ("text", "language"),
    [("When is she available?", "en"), ("Quand est-elle disponible ?", "fr"),
     ("Wann ist sie verfügbar?", "de")],
)  # fmt: skip
def test_what_is_asked_of_the_chosen_person_quotes_the_record_again(
    text: str, language: str
) -> None:
    several = ("find_person", {"people": [FINANCE, YARD]})
    chosen = ("choose_person", {"chosen": {**YARD, "text": "Frei ab März."}})
    before = messages("Wer ist Anna?", several, chosen, language=language)
    asked = [*before, HumanMessage(text)]
    assert next_person_step(asked, TOOLS) == REPLY
    shown = next_person_step(asked, frozenset()).text
    assert shown.startswith(phrase("offline_person", language)) and "P-2" in shown
    assert shown.endswith("Frei ab März.") and "P-1" not in shown


def test_a_person_found_alone_is_shown_again_and_one_of_several_is_not() -> None:
    alone = messages("Who is Anna?", ("find_person", {"people": [DECK]}))
    assert "P-3" in next_person_step([*alone, HumanMessage("What does she do?")], frozenset()).text
    several = messages("Who is Anna?", ("find_person", {"people": [DECK, YARD]}))
    shown = next_person_step([*several, HumanMessage("what does she do?")], frozenset()).text
    assert shown == phrase("offline_which_name", "en")
