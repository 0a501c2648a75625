"""Which of the seven specialists gets a message, on texts that are not among the examples."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.supervisor import routing_question
from config.settings import Settings
from config.tenants import TenantConfig
from providers.interface import Decision
from providers.offline import OfflineModels
from providers.offline_staying import stay

QUESTION = routing_question(TenantConfig(tenant="a", name="A").enabled_specialists())
EXAMPLES = {text for choice in QUESTION.choices for text in choice.examples}

OPPORTUNITIES = {
    "messages": [
        {
            "role": "tool",
            "tool": "search_opportunities",
            "text": json.dumps({"results": [{"id": "O-104", "title": "Payroll assistant"}]}),
        }
    ]
}


@pytest.fixture(scope="module")
def models() -> OfflineModels:
    return OfflineModels(Settings.load())


def evidence(current: str | None = None, recent: list[dict[str, Any]] | None = None) -> str:
    return json.dumps({"recent_messages": recent or [], "current_agent": current})


async def routed(models: OfflineModels, text: str, current: str | None = None) -> str:
    decision = await models.decide(
        QUESTION,
        evidence(current),
        latest=text,
        model="m",
        task="manta.supervisor",
        request_id="r",
    )
    return decision.value


@pytest.mark.parametrize(
    ("text", "specialist"),
    [
        ("Who can weld?", "talent_search"),
        ("Qui sait piloter un drone ?", "talent_search"),
        ("Wer kennt sich mit Linux aus?", "talent_search"),
        ("Which courses are there?", "training_search"),
        ("Y a-t-il une formation de secouriste ?", "training_search"),
        ("Gibt es Lehrgänge zum Ultraschallprüfen?", "training_search"),
        ("Any vacancies in the control room?", "opportunity_search"),
        ("Quels postes à pourvoir en mars ?", "opportunity_search"),
        ("Welche freien Stellen gibt es in Bremerhaven?", "opportunity_search"),
        ("Who is Jory Nance?", "person_disambiguation"),
        ("Quelle Anna Petersen travaille à Brest ?", "person_disambiguation"),
        ("wer ist jan kröger", "person_disambiguation"),
        ("How close am I to my goals?", "profile_analysis"),
        ("Prépare-moi un plan d'apprentissage", "profile_analysis"),
        ("Welche Stärken und Schwächen habe ich?", "profile_analysis"),
        ("Status of T-205?", "task_guidance"),
        ("Quelle tâche est à rendre en premier ?", "task_guidance"),
        ("Was steht diese Woche bei mir an?", "task_guidance"),
    ],
)
async def test_each_specialist_gets_its_messages(
    models: OfflineModels, text: str, specialist: str
) -> None:
    assert text not in EXAMPLES
    assert await routed(models, text) == specialist


@pytest.mark.parametrize(
    "text",
    [
        "How do I apply for an internal position?",
        "Is a course counted as working time?",
        "Who approves my training request?",
        "Who may use the pool cars?",
        "What is the salary band of a team lead?",
        "Qui est le délégué à la protection des données ?",
        "Comment postuler à un poste interne ?",
        "La formation sécurité est-elle obligatoire ?",
        "Quelles sont les tâches du CSE ?",
        "Wer ist Vorsitzender des Betriebsrats?",
        "Bezahlt die Firma Sprachkurse?",
        "Wie lange ist die Kündigungsfrist bei einem Wechsel?",
        "Wer ist Datenschutzbeauftragter?",
    ],
)
async def test_questions_about_the_company_stay_with_career_chat(
    models: OfflineModels, text: str
) -> None:
    assert text not in EXAMPLES
    assert await routed(models, text) == "career_chat"


@pytest.mark.parametrize(
    "text",
    ["I'm an electrician", "Don't forget that I speak Breton", "Je parle allemand et anglais",
     "Vergiss nicht, dass ich Französisch lerne"],
)  # fmt: skip
async def test_what_a_user_only_tells_is_no_search(models: OfflineModels, text: str) -> None:
    assert await routed(models, text) == "career_chat"


async def test_a_question_beside_what_is_told_decides(models: OfflineModels) -> None:
    text = "J'aimerais devenir chef de projet. Quelles formations existent ?"
    assert await routed(models, text) == "training_search"


@pytest.mark.parametrize(
    "text",
    ["Mehr anzeigen", "Weitere anzeigen", "next", "more please", "encore", "la suite",
     "next page", "nächste", "Encore s'il te plaît", "show more",
     "the second one", "and in Brest?", "Montre-m'en plus", "le deuxième",
     "Et à Brest ?", "zeig mir mehr", "der zweite", "Und in Bremerhaven?"],
)  # fmt: skip
def test_what_goes_on_with_a_list_stays_and_only_there(text: str) -> None:
    staying = Decision(value="training_search", probabilities={"training_search": 1.0})
    assert stay(QUESTION, evidence("training_search"), text) == staying
    assert stay(QUESTION, evidence("task_guidance"), text) is None
    assert stay(QUESTION, evidence(None), text) is None


@pytest.mark.parametrize(
    "text", ["Tell me more about O-104", "Parle-moi de o-104", "Was ist mit Payroll assistant?"]
)
def test_a_record_that_was_shown_leads_back_to_its_search(text: str) -> None:
    shown = evidence("career_chat", OPPORTUNITIES["messages"])
    decision = stay(QUESTION, shown, text)
    assert decision is not None and decision.value == "opportunity_search"
    assert stay(QUESTION, evidence("career_chat"), text) is None


@pytest.mark.parametrize("text", ["What is O-1045?", "o-207 ?", "Was ist mit O-300?"])
def test_an_id_that_begins_like_those_shown_leads_to_their_catalogue(text: str) -> None:
    shown = evidence("career_chat", OPPORTUNITIES["messages"])
    decision = stay(QUESTION, shown, text)
    assert decision is not None and decision.value == "opportunity_search"
    assert stay(QUESTION, evidence("career_chat"), text) is None
    assert stay(QUESTION, shown, "What is T-104?") is None


def test_an_id_of_a_person_that_was_found_by_name_leads_to_the_people() -> None:
    found = {"people": [{"id": "P-806", "title": "Anna Petersen"}]}
    recent = [{"role": "tool", "tool": "find_person", "text": json.dumps(found)}]
    decision = stay(QUESTION, evidence("person_disambiguation", recent), "P-803?")
    assert decision is not None and decision.value == "talent_search"


@pytest.mark.parametrize(
    ("text", "specialist"),
    [
        ("Tell me about O-103", "opportunity_search"),
        ("Was ist mit O-206?", "opportunity_search"),
        ("What is TR-501?", "training_search"),
        ("Qu'est-ce que TR-602 ?", "training_search"),
        ("P-803?", "talent_search"),
        ("Tell me more about P-844", "talent_search"),
        ("Tell me about T-103", "task_guidance"),
        ("What is ISO-9001?", "career_chat"),
    ],
)
async def test_an_id_alone_leads_to_its_catalogue(
    models: OfflineModels, text: str, specialist: str
) -> None:
    assert text not in EXAMPLES
    assert await routed(models, text) == specialist


def shown_person(tool: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool": tool, "text": "{}"}]


@pytest.mark.parametrize(
    "text",
    ["When is she available?", "What does she do?", "Where does he work?",
     "Quand est-elle disponible ?", "Que fait-il ?", "Quel est son métier ?",
     "Wann ist sie verfügbar?", "Was macht er?", "Was ist ihre Aufgabe?"],
)  # fmt: skip
def test_what_is_asked_of_a_person_who_was_shown_stays(text: str) -> None:
    for tool, specialist in (
        ("choose_person", "person_disambiguation"),
        ("find_person", "person_disambiguation"),
        ("get_public_profile", "talent_search"),
    ):
        decision = stay(QUESTION, evidence(specialist, shown_person(tool)), text)
        assert decision is not None and decision.value == specialist
    assert stay(QUESTION, evidence("person_disambiguation"), text) is None
    elsewhere = evidence("career_chat", shown_person("choose_person"))
    assert stay(QUESTION, elsewhere, text) is None


@pytest.mark.parametrize(
    "text",
    ["When does the canteen open?", "Quel temps fait-il ?", "Y a-t-il une cantine ?",
     "Können Sie mir helfen?", "Who is her manager?"],
)  # fmt: skip
def test_what_is_asked_of_nobody_does_not_stay(text: str) -> None:
    shown = evidence("person_disambiguation", shown_person("choose_person"))
    assert stay(QUESTION, shown, text) is None


@pytest.mark.parametrize(
    "text",
    ["What do you remember about me?", "Que sais-tu de moi ?", "Was weißt du über mich?",
     "Je m'appelle Zoé.", "Ich heiße Jörg und wohne in Bremen.", "Summarise my CV",
     "Que dit mon CV ?", "Was steht in meinem Lebenslauf?", "Summarise offer.pdf"],
)  # fmt: skip
async def test_documents_and_what_is_remembered_belong_to_career_chat(
    models: OfflineModels, text: str
) -> None:
    assert await routed(models, text) == "career_chat"
    assert await routed(models, text, "person_disambiguation") == "career_chat"


def test_a_limits_error_names_no_record() -> None:
    failed = [{"role": "tool", "tool": "search_people", "text": "Tool call limit exceeded"}]
    assert stay(QUESTION, evidence(None, failed), "What is O-104?") is None


def test_a_disabled_specialist_is_never_chosen() -> None:
    without = routing_question(["career_chat", "task_guidance"])
    assert stay(without, evidence("training_search"), "show more") is None
    assert stay(without, evidence(), "Who is Jory Nance?") is None


@pytest.mark.parametrize(
    "text", ["Who is the Data Protection Officer?", "Wer ist Leiter der Werft?", "Who is new?"]
)
def test_an_office_is_no_name(text: str) -> None:
    assert stay(QUESTION, evidence(), text) is None
