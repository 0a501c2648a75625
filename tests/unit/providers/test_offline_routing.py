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
    ["show more", "the second one", "and in Brest?", "Montre-m'en plus", "le deuxième",
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


def test_a_longer_id_and_a_limits_error_name_no_record() -> None:
    shown = evidence(None, OPPORTUNITIES["messages"])
    assert stay(QUESTION, shown, "What is O-1045?") is None
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
