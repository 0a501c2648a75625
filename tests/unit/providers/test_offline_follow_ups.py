"""Retries and follow-ups recover the question that they lean on."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from providers.embedding import LocalEmbedder
from providers.offline_decisions import OfflineDecider
from providers.offline_follow_ups import added, is_continuation, is_retry
from providers.offline_policies import OfflinePolicies

TOOLS = frozenset({"transfer_to_knowledge_base", "reply_to_user"})


@pytest.fixture(scope="module")
def policies() -> OfflinePolicies:
    embedder = LocalEmbedder()
    return OfflinePolicies(embedder, OfflineDecider(embedder))


def conversation(*asked: str) -> list[BaseMessage]:
    """The assistant's replies carry a claim that must never become part of a question."""
    turns: list[BaseMessage] = []
    for text in asked:
        turns += [HumanMessage(text), AIMessage("It is seven bananas.")]
    return turns[:-1]


@pytest.mark.parametrize(
    "text",
    ["Try again", "But that's not what I asked", "Réessaie", "Ce n’est pas la bonne réponse",
     "Das stimmt nicht", "Nein, such noch einmal"],
)  # fmt: skip
def test_retries_are_recognised(text: str) -> None:
    assert is_retry(text)


@pytest.mark.parametrize(
    "text",
    ["How do I try again after a failed exam?", "Is it wrong to accept gifts?",
     "Was mache ich, wenn das Protokoll nicht stimmt?"],
)  # fmt: skip
def test_ordinary_questions_are_no_retries(text: str) -> None:
    assert not is_retry(text)


def test_what_a_retry_adds_and_what_leans() -> None:
    assert added("That is wrong, I meant the London hotel") == "I meant the London hotel"
    assert added("Try again, please") == ""
    assert is_continuation("And for part-timers?")
    assert not is_continuation("When is pay day?")


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        (["Wie viele Urlaubstage habe ich?", "Danke", "Das stimmt nicht"],
         "Wie viele Urlaubstage habe ich?"),
        (["What does lunch cost?", "And for visitors?", "that is wrong"],
         "What does lunch cost? And for visitors?"),
        (["Combien de jours de RTT ?", "C’est faux, je parle des cadres"],
         "Combien de jours de RTT ? je parle des cadres"),
        (["How many days of leave do I get?", "When is pay day?"], "When is pay day?"),
    ],
)  # fmt: skip
async def test_the_earlier_question_goes_to_research(
    policies: OfflinePolicies, asked: list[str], question: str
) -> None:
    step = await policies.next_step("manta.career_chat", conversation(*asked), TOOLS)
    assert (step.call, step.arguments) == ("transfer_to_knowledge_base", {"question": question})


async def test_a_retry_without_a_company_question_is_only_talk(policies: OfflinePolicies) -> None:
    messages = conversation("I feel overwhelmed by everything", "Try again")
    step = await policies.next_step("manta.career_chat", messages, TOOLS)
    assert step.call == "reply_to_user"
