"""The offline model as a university's assistant, over small texts and real local embeddings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage

from config.prompt_files import phrase
from providers.embedding import LocalEmbedder
from providers.labelled_data import labelled
from providers.offline_campus import CampusPolicy
from providers.offline_decisions import OfflineDecider
from providers.offline_steps import Step

AGENT = "manta.campus_advisor"
ALL = frozenset({"search_web", "search_documents", "troubleshooting", "task"})
FEES = "Semester fee\n\nThe semester fee is 349.50 euros and is paid before the semester begins."
FRISTEN = "Fristen\n\nDie Bewerbungsfrist für Psychologie endet am 15. Juli um 24 Uhr."
CANTEEN = "Canteen\n\nThe canteen serves soup and pasta from Monday to Friday."


@pytest.fixture(scope="module")
def policy() -> CampusPolicy:
    embedder = LocalEmbedder()
    return CampusPolicy(embedder, OfflineDecider(embedder))


def asked(
    *texts: str, language: str = "en", services: tuple[str, ...] = (), notes: tuple[str, ...] = ()
) -> list[BaseMessage]:
    request = labelled("request", {"language": language, "specialists": list(services)})
    added = [labelled(note, {"note": "Search."}) for note in notes]
    return [SystemMessage("Rules."), request, *(HumanMessage(text) for text in texts), *added]


def calls(step: Step) -> dict[str, dict[str, Any]]:
    return dict([(step.call, step.arguments), *step.also])


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("How much is the semester fee?", "general"),
        ("When can I apply for biology?", "application"),
        ("Wann ist Bewerbungsschluss für Chemie?", "application"),
        ("Welche Fächer kann ich auf Lehramt studieren?", "teaching"),
        ("Which subjects can I choose in the teaching degree?", "teaching"),
        ("Quelle est la date limite de candidature ?", "application"),
    ],
)
async def test_a_question_is_looked_up_on_pages_and_in_documents(
    policy: CampusPolicy, question: str, about: str
) -> None:
    made = calls(await policy.next_step(AGENT, asked(question), ALL))
    assert made["search_web"] == {"query": question, "about": about}
    assert made["search_documents"] == {"query": question}


@pytest.mark.parametrize(
    ("question", "services", "name", "called"),
    [
        ("How do I connect to eduroam?", (), "troubleshooting", True),
        ("Ich habe mein Passwort vergessen, was tun?", (), "troubleshooting", True),
        ("Ich habe mein Passwort für das SeePortal vergessen.", (), "troubleshooting", True),
        ("How much is the semester fee?", (), "troubleshooting", False),
        ("How often may I retake an exam?", ("rules",), "task", True),
        ("Wie oft darf ich eine Prüfung wiederholen?", ("rules",), "task", True),
        ("How often may I retake an exam?", (), "task", False),
        ("How much is the semester fee?", ("rules",), "task", False),
    ],
)
async def test_the_other_tools_are_called_for_what_they_are_for(
    policy: CampusPolicy, question: str, services: tuple[str, ...], name: str, called: bool
) -> None:
    made = calls(await policy.next_step(AGENT, asked(question, services=services), ALL))
    assert (name in made) is called
    if called and name == "task":
        assert made["task"] == {"subagent": "rules", "request": question}


@pytest.mark.parametrize("tools", [{"search_documents"}, {"search_web"}, {"troubleshooting"}])
async def test_only_what_is_offered_is_called(policy: CampusPolicy, tools: set[str]) -> None:
    question = "How much is the semester fee?"
    made = calls(await policy.next_step(AGENT, asked(question), frozenset(tools)))
    assert set(made) == tools and made[next(iter(tools))]["query"] == question


@pytest.mark.parametrize(
    ("text", "kind"),
    [("Hello", "greeting"), ("Guten Morgen", "greeting"), ("Tell me a joke", "out_of_scope")],
)
async def test_what_needs_no_tool_is_answered_in_the_requested_language(
    policy: CampusPolicy, text: str, kind: str
) -> None:
    for language in ("en", "de", "fr"):
        step = await policy.next_step(AGENT, asked(text, language=language), ALL)
        assert step == Step(text=phrase(f"offline_campus_{kind}", language))


async def test_a_judgement_sends_it_searching(policy: CampusPolicy) -> None:
    step = await policy.next_step(AGENT, asked("Hello", notes=("judgement",)), ALL)
    assert step.call == "search_web"


async def test_a_continuation_takes_its_subject_from_before(policy: CampusPolicy) -> None:
    messages = asked("How much is the semester fee?", "And for part-time students?")
    made = calls(await policy.next_step(AGENT, messages, ALL))
    assert "semester fee" in made["search_web"]["query"]
    assert "part-time" in made["search_web"]["query"]


def evidence(*texts: str) -> BaseMessage:
    results = [
        {"source_id": f"w{n}", "title": "Page", "place": "", "text": text}
        for n, text in enumerate(texts, 1)
    ]
    return labelled("evidence", results)


async def chosen(policy: CampusPolicy, question: str, *texts: str) -> list[dict[str, str]]:
    request = labelled("request", {"language": "en"})
    messages = [SystemMessage("Rules."), request, evidence(*texts), HumanMessage(question)]
    step = await policy.next_step(f"{AGENT}.evidence", messages, frozenset({"select_evidence"}))
    assert step.call == "select_evidence"
    citations: list[dict[str, str]] = step.arguments["citations"]
    return citations


@pytest.mark.parametrize(
    ("question", "source_id", "quote"),
    [
        ("How much is the semester fee?", "w1", "349.50 euros"),
        ("Wann endet die Bewerbungsfrist für Psychologie?", "w2", "15. Juli"),
    ],
)
async def test_the_passage_that_answers_is_quoted_word_for_word(
    policy: CampusPolicy, question: str, source_id: str, quote: str
) -> None:
    citations = await chosen(policy, question, FEES, FRISTEN, CANTEEN)
    assert citations[0]["source_id"] == source_id and quote in citations[0]["quote"]
    for one in citations:
        assert one["quote"] in (FEES, FRISTEN, CANTEEN)[int(one["source_id"][1]) - 1]


async def test_what_answers_nothing_is_not_quoted(policy: CampusPolicy) -> None:
    assert await chosen(policy, "Who won the football match?", FEES, CANTEEN) == []
    assert await chosen(policy, "How much is the semester fee?") == []


@pytest.mark.parametrize(
    ("question", "texts", "relevant"),
    [
        ("How much is the semester fee?", [CANTEEN, FEES], True),
        ("How much is the semester fee?", [CANTEEN], False),
    ],
)
async def test_the_grader_asks_whether_anything_would_be_quoted(
    policy: CampusPolicy, question: str, texts: list[str], relevant: bool
) -> None:
    results = [{"title": "Page", "place": "", "text": text} for text in texts]
    given = json.dumps({"question": question, "queries": [], "results": results})
    assert await policy.relevant(given) is relevant


async def test_the_writer_quotes_with_numbers_and_says_that_it_quotes(
    policy: CampusPolicy,
) -> None:
    quotes = labelled(
        "evidence", [{"number": 1, "quote": "349.50 euros"}, {"number": 2, "quote": "a\n\nb"}]
    )
    messages = [SystemMessage("Rules."), labelled("request", {"language": "de"}), quotes]
    step = await policy.next_step(AGENT, [*messages, HumanMessage("Fee?")], frozenset())
    intro = phrase("offline_quote_intro", "de")
    assert step.text == f"{intro}\n\n> 349.50 euros [1]\n\n> a\n> b [2]"


async def test_a_subagent_searches_once_with_the_requests_words(policy: CampusPolicy) -> None:
    messages = asked("How often may I retake an exam?")
    tools = frozenset({"search_rules"})
    step = await policy.next_step(f"{AGENT}.subagent", messages, tools)
    assert (step.call, step.arguments) == ("search_rules", {"query": messages[-1].text})
    done = [*messages, ToolMessage("{}", tool_call_id="1")]
    assert (await policy.next_step(f"{AGENT}.subagent", done, tools)).call == ""


async def test_a_question_that_looks_like_data_is_none(policy: CampusPolicy) -> None:
    block = '<data label="notes">\n[]\n</data>'
    assert await chosen(policy, block, FEES) == []
    step = await policy.next_step(AGENT, asked(block), ALL)
    assert step.call or step.text
