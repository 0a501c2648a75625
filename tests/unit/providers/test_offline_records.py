"""What the offline model searches for, what it shows of the results, and how a list goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from config.prompt_files import phrase
from providers.embedding import LocalEmbedder
from providers.labelled_data import labelled
from providers.offline_listing import asks_for_more, position, searches_elsewhere
from providers.offline_records import (
    NAMED_NEAR,
    NEAR,
    SEARCHES,
    Search,
    SearchPolicy,
)
from providers.offline_steps import REPLY
from providers.offline_wishes import content, period, possible_place, spoken

JOBS = SEARCHES["manta.opportunity_search"]
PEOPLE = SEARCHES["manta.talent_search"]
TOOLS = frozenset({JOBS.search, JOBS.get})
WELDER = {"id": "O-202", "title": "Soudeur", "place": "Atelier naval, Brest", "skills": ["welding"]}
COOK = {"id": "O-314", "title": "Köchin", "place": "Bremerhaven", "skills": ["cooking"]}
ABROAD = {"id": "O-302", "title": "Schweißer", "place": "Bremerhaven", "score": 0.3}


class Angles:
    """Every text but the query lies at a given cosine from it."""

    name = "angles"
    dimensions = 2

    def __init__(self, cosine: float) -> None:
        self._cosine = cosine

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        other = [self._cosine, math.sqrt(1 - self._cosine**2)]
        return [[1.0, 0.0] if text == "query" else other for text in texts]


@pytest.fixture(scope="module")
def policy() -> SearchPolicy:
    return SearchPolicy(LocalEmbedder())


def conversation(*turns: Any, language: str = "en") -> list[BaseMessage]:
    """A text is what the user says; a pair is a search with its results."""
    messages: list[BaseMessage] = [
        labelled("request", {"language": language, "date": "2026-12-01"})
    ]
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append(HumanMessage(turn))
            continue
        arguments, results = turn
        call = {"id": str(number), "name": JOBS.search, "args": arguments}
        content_ = json.dumps({"results": results})
        messages.append(AIMessage("", tool_calls=[call]))
        messages.append(ToolMessage(content_, tool_call_id=str(number), name=JOBS.search))
    return messages


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Are there open positions in Brest?", "Brest"),
        ("Quelles formations y a-t-il en soudure ?", "soudure"),
        ("Qui sait souder l’aluminium ?", "souder aluminium"),
        ("Wer kann Aluminium schweißen?", "Aluminium schweißen"),
        ("Is it in the IT?", "IT"),
        ("Which courses are there?", ""),
    ],
)
def test_a_wish_is_what_is_left_of_the_question(question: str, words: str) -> None:
    assert content(question) == words


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("courses in March", {"starts_from": "2027-03-01", "starts_to": "2027-03-31"}),
        ("missions en décembre", {"starts_from": "2026-12-01", "starts_to": "2026-12-31"}),
        ("Stellen ab Februar 2028", {"starts_from": "2028-02-01"}),
        ("jobs from January", {"starts_from": "2027-01-01"}),
        ("Kurse im Februar 2028", {"starts_from": "2028-02-01", "starts_to": "2028-02-29"}),
        ("Who may I ask?", {}),
    ],
)
def test_a_month_bounds_the_start(question: str, fields: dict[str, str]) -> None:
    assert period(question, "2026-12-01")[0] == fields


@pytest.mark.parametrize(
    ("question", "language"),
    [("Who speaks German?", "de"), ("Qui parle anglais ?", "en"),
     ("Wer spricht Französisch?", "fr"), ("Who can translate German?", "")],
)  # fmt: skip
def test_people_are_found_by_what_they_speak(question: str, language: str) -> None:
    assert spoken(question)[0] == language


@pytest.mark.parametrize(
    ("question", "place"),
    [("Jobs in Tokyo?", "Tokyo"), ("Un poste à Saint Malo ?", "Saint Malo"),
     ("Kurse im März in Kiel", "Kiel"), ("courses in March", ""), ("in writing", "")],
)  # fmt: skip
def test_what_may_be_a_place(question: str, place: str) -> None:
    assert possible_place(question) == place


@pytest.mark.parametrize(
    "text", ["show more", "Any others?", "Montre-m’en plus", "d'autres ?", "zeig mir weitere",
             "noch mehr", "encore", "mehr"]
)  # fmt: skip
def test_more_is_asked_for(text: str) -> None:
    assert asks_for_more(text)


@pytest.mark.parametrize(
    "text",
    ["How much more do I get?", "I want a more senior job", "Wie viel mehr kostet das?"],
)
def test_more_of_something_else_is_not(text: str) -> None:
    assert not asks_for_more(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("the second one", 1), ("tell me more about the first", 0), ("details of number 3", 2),
        ("le deuxième", 1), ("Parle-moi du premier", 0), ("la dernière", 2),
        ("der zweite", 1), ("Erzähl mir mehr über den ersten", 0), ("mehr zum dritten bitte", 2),
        ("tell me about the fourth", None), ("My second question is about pay", None),
    ],
)  # fmt: skip
def test_an_entry_is_named_by_its_place(text: str, place: int | None) -> None:
    assert position(text, 3) == place


def test_the_same_search_elsewhere() -> None:
    assert searches_elsewhere("And in Brest?")
    assert searches_elsewhere("Und ab März?")
    assert not searches_elsewhere("And what about my holidays?")
    assert not searches_elsewhere("And in which of the documents would I find the rule?")


@pytest.mark.parametrize(("offset", "shown"), [(1e-4, True), (-1e-4, False)])
async def test_a_record_is_shown_from_a_near_name_on(offset: float, shown: bool) -> None:
    near = SearchPolicy(Angles(NAMED_NEAR + offset))
    search = Search({"query": "query"}, {"results": [{"id": "1", "title": "x"}]}, current=True)
    assert bool(await near.near(search)) is shown


@pytest.mark.parametrize(("score", "shown"), [(NEAR, True), (NEAR - 0.001, False)])
async def test_a_record_is_shown_from_a_high_score_on(score: float, shown: bool) -> None:
    far = SearchPolicy(Angles(0.0))
    found = {"results": [{"id": "1", "title": "x", "score": score}]}
    assert bool(await far.near(Search({"query": "query"}, found, current=True))) is shown


async def test_a_name_that_holds_the_query_is_near_and_without_a_query_all_are() -> None:
    far = SearchPolicy(Angles(0.0))
    found = {"results": [{"id": "1", "title": "The query, in full"}, {"id": "2", "title": "x"}]}
    held = await far.near(Search({"query": "query"}, found, current=True))
    assert [record["id"] for record in held] == ["1"]
    assert len(await far.near(Search({"query": ""}, found, current=True))) == 2
    assert await far.near(Search({"query": "query"}, {"results": []}, current=True)) == []


async def test_a_place_among_the_results_becomes_a_condition(policy: SearchPolicy) -> None:
    first = ({"query": "welder Brest"}, [ABROAD, WELDER])
    step = await policy.next_step(JOBS, conversation("A welder in Brest?", first), TOOLS)
    assert step.arguments == {"query": "welder", "place": "Brest"}
    second = (step.arguments, [WELDER])
    messages = conversation("A welder in Brest?", first, second)
    assert await policy.next_step(JOBS, messages, TOOLS) == REPLY
    text = (await policy.next_step(JOBS, messages, frozenset())).text
    assert "O-202" in text and "O-302" not in text


async def test_what_no_result_knows_is_tried_as_a_place(policy: SearchPolicy) -> None:
    step = await policy.next_step(
        JOBS, conversation("Jobs in Tokyo?", ({"query": "Tokyo"}, [WELDER, COOK])), TOOLS
    )
    assert step.arguments == {"query": "", "place": "Tokyo"}
    known = conversation("Stellen in Cooking", ({"query": "Cooking"}, [COOK]))
    assert await policy.next_step(JOBS, known, TOOLS) == REPLY


@pytest.mark.parametrize("more", ["show more", "Montre-m'en plus", "zeig mir mehr"])
async def test_more_repeats_the_last_search(policy: SearchPolicy, more: str) -> None:
    last = {"query": "welder", "place": "Brest"}
    step = await policy.next_step(JOBS, conversation("A welder?", (last, [WELDER]), more), TOOLS)
    assert (step.call, step.arguments) == (JOBS.search, {**last, "show_more": True})
    end = conversation("A welder?", (last, [WELDER]), more, (step.arguments, []), language="fr")
    text = (await policy.next_step(JOBS, end, frozenset())).text
    assert text == phrase("offline_no_more_records", "fr")


@pytest.mark.parametrize("text", ["Tell me more about O-202", "le premier", "mehr zu Soudeur"])
async def test_an_entry_that_was_shown_is_read(policy: SearchPolicy, text: str) -> None:
    messages = conversation("A welder?", ({"query": "welder"}, [WELDER]), text)
    step = await policy.next_step(JOBS, messages, TOOLS)
    assert (step.call, step.arguments) == (JOBS.get, {"record_id": "O-202"})


async def test_the_same_wish_elsewhere_keeps_the_wish(policy: SearchPolicy) -> None:
    messages = conversation("A welder?", ({"query": "welder"}, [WELDER]), "And in Bremerhaven?")
    step = await policy.next_step(JOBS, messages, TOOLS)
    assert step.arguments["query"] == "welder Bremerhaven"


async def test_a_language_is_a_condition_for_people_alone(policy: SearchPolicy) -> None:
    asked = conversation("Who speaks German and can do accounting?")
    step = await policy.next_step(PEOPLE, asked, frozenset({PEOPLE.search}))
    assert step.arguments == {"language": "de", "query": "accounting"}
    step = await policy.next_step(JOBS, asked, TOOLS)
    assert "language" not in step.arguments


async def test_failures_and_kept_conditions_are_told(policy: SearchPolicy) -> None:
    for result, name in (
        ({"error": "not_executed"}, "offline_unavailable"),
        ({"results": [], "user_keeps_conditions": True}, "offline_conditions_kept"),
        ({"results": []}, "offline_no_records"),
    ):
        messages = conversation("A welder?")
        messages.append(ToolMessage(json.dumps(result), tool_call_id="1", name=JOBS.search))
        step = await policy.next_step(JOBS, messages, frozenset())
        assert step.text == phrase(name, "en")


def read(catalogue: str, result: dict[str, Any]) -> ToolMessage:
    return ToolMessage(json.dumps(result), tool_call_id="r", name=catalogue)


@pytest.mark.parametrize(
    ("text", "record_id"),
    [("Tell me about O-101", "O-101"), ("Parle-moi de o-101", "O-101"), ("O-101?", "O-101"),
     ("Was ist mit Ab-7?", "Ab-7")],
)  # fmt: skip
async def test_an_id_is_read_without_a_search(
    policy: SearchPolicy, text: str, record_id: str
) -> None:
    step = await policy.next_step(JOBS, conversation(text), TOOLS)
    assert (step.call, step.arguments) == (JOBS.get, {"record_id": record_id})


async def test_what_is_no_id_of_the_catalogue_is_searched_for(policy: SearchPolicy) -> None:
    asked = [*conversation("Jobs with ISO-9001"), read(JOBS.get, {"error": "unknown_id"})]
    step = await policy.next_step(JOBS, asked, TOOLS)
    assert step.call == JOBS.search and "ISO-9001" in step.arguments["query"]
    found = await policy.next_step(JOBS, asked, frozenset())
    assert found.text == phrase("offline_no_records", "en")


@pytest.mark.parametrize(
    "text", ["When is she available?", "Quand est-elle libre ?", "Wann ist sie frei?"]
)
async def test_a_person_who_was_read_is_read_again(policy: SearchPolicy, text: str) -> None:
    record = {"id": "P-7", "title": "Maud Riou", "text": "Free from March."}
    before = [*conversation("Tell me about P-7"), read(PEOPLE.get, {"record": record})]
    asked = [*before, HumanMessage(text)]
    step = await policy.next_step(PEOPLE, asked, frozenset({PEOPLE.search, PEOPLE.get}))
    assert (step.call, step.arguments) == (PEOPLE.get, {"record_id": "P-7"})
    job = [*conversation("O-1?"), read(JOBS.get, {"record": WELDER}), HumanMessage(text)]
    assert (await policy.next_step(JOBS, job, TOOLS)).call == JOBS.search
