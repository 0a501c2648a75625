"""What the offline model remembers of a message: sentences about their author, word for word."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from actors.memory import memory_question
from config.prompt_files import phrase
from providers.embedding import LocalEmbedder
from providers.labelled_data import labelled
from providers.offline_decisions import OfflineDecider
from providers.offline_facts import asks_what_is_remembered, besides, tells_of_author
from providers.offline_memory import MemoryPolicy
from providers.offline_policies import OfflinePolicies

KNOWN = [
    "I moved to Brest",
    "I work part time",
    "I speak German and French",
    "Je préfère des réponses courtes",
    "Ich möchte Teamleiterin werden",
]


@pytest.fixture(scope="module")
def decider() -> OfflineDecider:
    return OfflineDecider(LocalEmbedder())


@pytest.fixture(scope="module")
def memory() -> MemoryPolicy:
    return MemoryPolicy(LocalEmbedder())


async def after(memory: MemoryPolicy, text: str, known: list[str] | None = None) -> list[str]:
    facts: list[dict[str, Any]] = [
        {"text": one, "language": "en", "since": "2026-01-01"} for one in known or []
    ]
    about = {"latest_user_text": text, "date": "2026-12-01", "language": "en"}
    step = await memory.updated([labelled("facts", facts), labelled("conversation", about)])
    assert step.call == "FactList"
    return [fact["text"] for fact in step.arguments["facts"]]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I prefer short answers.", ["I prefer short answers."]),
        ("Remember that I work part time", ["I work part time"]),
        ("I don’t work on Fridays", ["I don't work on Fridays"]),
        (
            "I am based in Falmouth. I speak Breton. What does lunch cost?",
            ["I am based in Falmouth.", "I speak Breton."],
        ),
        ("Retiens que je travaille à mi-temps", ["Je travaille à mi-temps"]),
        ("Je suis soudeur à l'atelier naval", ["Je suis soudeur à l'atelier naval"]),
        ("J'ai déménagé à Brest", ["J'ai déménagé à Brest"]),
        ("Merk dir, dass ich Teilzeit arbeite", ["Ich arbeite Teilzeit"]),
        ("Ich bin Schweißerin in der Werft", ["Ich bin Schweißerin in der Werft"]),
        ("Vergiss nicht, dass ich Französisch lerne", ["Ich lerne Französisch"]),
        ("Ich heiße Jörg und wohne in Bremen.", ["Ich heiße Jörg", "Ich wohne in Bremen."]),
        ("Je m'appelle Zoé.", ["Je m'appelle Zoé."]),
        ("Je m'appelle Zoé et j'habite à Brest", ["Je m'appelle Zoé", "J'habite à Brest"]),
        ("I prefer tea and biscuits", ["I prefer tea and biscuits"]),
        ("I don't like phone calls", ["I don't like phone calls"]),
        ("Je n'aime pas les appels", ["Je n'aime pas les appels"]),
        ("Ich mag keine Telefonate", ["Ich mag keine Telefonate"]),
    ],
)
async def test_facts_are_taken_over(
    decider: OfflineDecider, memory: MemoryPolicy, text: str, facts: list[str]
) -> None:
    assert await after(memory, text) == facts
    assert (await decider.decide(memory_question(), text)).value == "update"


@pytest.mark.parametrize(
    "text",
    [
        "Do you remember that I moved to Brest?", "What are my strengths?", "I need a form",
        "I lost my phone", "I forgot my password", "What happens if I forget my badge?",
        "I prefer not to say", "I am a bit confused", "My manager is Kerensa",
        "I am sick and I work in Brest", "I am a member of the union", "J'ai oublié mon badge",
        "Je suis malade", "Je cherche un poste à Brest", "Je parle de mon badge",
        "I don't like my boss", "I like the second one", "Je n'aime pas ça", "Ich mag nicht mehr",
        "Delete my account", "Que sais-tu de moi ?", "Ich habe mein Passwort vergessen",
        "Ich bin krank",
        "Ich suche eine Stelle in Brest", "Weißt du noch, wo ich wohne?",
    ],
)  # fmt: skip
async def test_questions_wishes_of_the_day_and_delicate_matters_are_not(
    memory: MemoryPolicy, text: str
) -> None:
    assert await after(memory, text, KNOWN) == KNOWN


@pytest.mark.parametrize(
    ("text", "gone", "new"),
    [
        ("I moved to Falmouth", "I moved to Brest", "I moved to Falmouth"),
        ("I now work full time", "I work part time", "I now work full time"),
        ("En fait, je travaille maintenant à temps plein.", "I work part time",
         "En fait, je travaille maintenant à temps plein."),
        ("Ich arbeite jetzt doch in Vollzeit.", "I work part time",
         "Ich arbeite jetzt doch in Vollzeit."),
        ("J'habite à Lorient", "I moved to Brest", "J'habite à Lorient"),
        ("Je préfère des réponses longues", "Je préfère des réponses courtes",
         "Je préfère des réponses longues"),
        ("Ich möchte Meisterin werden", "Ich möchte Teamleiterin werden",
         "Ich möchte Meisterin werden"),
    ],
)  # fmt: skip
async def test_a_correction_replaces(memory: MemoryPolicy, text: str, gone: str, new: str) -> None:
    assert await after(memory, text, KNOWN) == [*(one for one in KNOWN if one != gone), new]


async def test_what_comes_beside_replaces_nothing_and_a_repetition_adds_nothing(
    memory: MemoryPolicy,
) -> None:
    also = await after(memory, "I also speak Breton", KNOWN)
    assert also == [*KNOWN, "I also speak Breton"]
    assert await after(memory, "I moved to Brest", KNOWN) == KNOWN


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Forget that I work part time", "I work part time"),
        ("Please forget what I said about Brest", "I moved to Brest"),
        ("Oublie que je travaille à mi-temps", "I work part time"),
        ("Oublie ce que j'ai dit sur les réponses courtes", "Je préfère des réponses courtes"),
        ("Vergiss, dass ich Teamleiterin werden möchte", "Ich möchte Teamleiterin werden"),
        ("Stop remembering that I work part-time", "I work part time"),
        ("Don't remember that I work part-time.", "I work part time"),
        ("Ne retiens plus que je travaille à temps partiel.", "I work part time"),
        ("Merk dir nicht mehr, dass ich Teilzeit arbeite", "I work part time"),
        ("Forget everything I said about Brest", "I moved to Brest"),
        ("Oublie que je travaille tout le temps à mi-temps", "I work part time"),
    ],
)
async def test_a_retraction_drops_the_fact_that_it_means(
    memory: MemoryPolicy, text: str, gone: str
) -> None:
    assert await after(memory, text, KNOWN) == [one for one in KNOWN if one != gone]


@pytest.mark.parametrize(
    "text",
    ["Forget everything you know about me.", "Forget all you know about me",
     "Forget what you know about me", "Oublie tout", "Oublie tout ce que tu sais de moi.",
     "Efface tout ce que tu sais de moi", "Vergiss alles über mich",
     "Vergiss alles, was du über mich weißt.", "Lösche alles, was du über mich weißt"],
)  # fmt: skip
async def test_everything_is_forgotten(memory: MemoryPolicy, text: str) -> None:
    assert await after(memory, text, KNOWN) == []


async def test_a_retraction_that_means_none_of_them_drops_none(memory: MemoryPolicy) -> None:
    assert await after(memory, "Forget what I said about dogs", KNOWN) == KNOWN
    assert await after(memory, "Forget that I work part time") == []


def test_what_is_said_beside_facts() -> None:
    assert besides("I moved to Brest. Who is the nurse?") == "Who is the nurse?"
    assert not tells_of_author("Who is the nurse?")


@pytest.mark.parametrize(
    ("text", "locale"),
    [("I prefer short answers", "en"), ("Oublie que je travaille à mi-temps", "fr"),
     ("Ich spreche Französisch", "de")],
)  # fmt: skip
async def test_the_reply_claims_nothing(decider: OfflineDecider, text: str, locale: str) -> None:
    policies = OfflinePolicies(LocalEmbedder(), decider)
    messages = [labelled("request", {"language": locale}), HumanMessage(text)]
    tools = frozenset({"transfer_to_knowledge_base"})
    assert (await policies.next_step("manta.career_chat", messages, tools)).call == "reply_to_user"
    step = await policies.next_step("manta.career_chat", messages, frozenset())
    assert step.text == phrase("offline_told", locale)


@pytest.mark.parametrize(
    ("text", "locale"),
    [("What do you remember about me?", "en"), ("What do you know about me?", "en"),
     ("Que sais-tu de moi ?", "fr"), ("Qu'est-ce que tu sais de moi ?", "fr"),
     ("Was weißt du über mich?", "de"), ("Was hast du dir über mich gemerkt?", "de")],
)  # fmt: skip
async def test_what_is_remembered_is_shown_word_for_word(
    decider: OfflineDecider, text: str, locale: str
) -> None:
    policies = OfflinePolicies(LocalEmbedder(), decider)
    asked = [labelled("request", {"language": locale}), HumanMessage(text)]
    tools = frozenset({"transfer_to_knowledge_base"})
    assert (await policies.next_step("manta.career_chat", asked, tools)).call == "reply_to_user"
    nothing = await policies.next_step("manta.career_chat", asked, frozenset())
    assert nothing.text == phrase("offline_nothing_remembered", locale)
    facts = [{"text": one, "language": "en", "since": "2026-01-01"} for one in KNOWN[:2]]
    known = [asked[0], labelled("preferences", facts), asked[1]]
    step = await policies.next_step("manta.career_chat", known, frozenset())
    intro = phrase("offline_remembered", locale)
    assert step.text == f"{intro}\n\n- I moved to Brest\n- I work part time"


@pytest.mark.parametrize(
    "text",
    ["What do you know about my manager?", "Que sais-tu de mon contrat ?",
     "Was weißt du über die Kantine?", "Was hast du gegen mich?"],
)  # fmt: skip
def test_what_is_asked_of_others_is_no_question_for_what_is_remembered(text: str) -> None:
    assert not asks_what_is_remembered(text)


async def test_a_question_beside_a_fact_is_looked_up_without_it(decider: OfflineDecider) -> None:
    policies = OfflinePolicies(LocalEmbedder(), decider)
    text = "I work from home on Mondays. What does the canteen cost?"
    messages = [labelled("request", {"language": "en"}), HumanMessage(text)]
    step = await policies.next_step(
        "manta.career_chat", messages, frozenset({"transfer_to_knowledge_base"})
    )
    assert step.call == "transfer_to_knowledge_base"
    assert step.arguments == {"question": "What does the canteen cost?"}
