"""The memory role: skip or update, and the whole list reconciled."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest
from fake_requests import context_of, tenant_of
from model_server import ModelServer
from scripted_replies import Chosen, Reply, Status, Text
from specialist_runs import openai_models

from actors.memory import FactList, Memory, RememberedFact, reconciled
from config.policy import POLICY
from domain.errors import ModelUnavailable
from domain.messages import assistant, user
from domain.outcomes import MemoryOutcome
from domain.preferences import Fact

DECISION, UPDATE = "manta.memory.decision", "manta.memory.update"
TODAY = date(2026, 12, 1)
BREST = Fact(text="J'habite à Brest.", language="fr", since=date(2026, 1, 2))
TEA = Fact(text="I like tea.", language="en", since=date(2026, 3, 4))
SAID = (user("hello"), assistant("SECRET ANSWER"), user("I moved to Falmouth"))


@pytest.fixture
async def asked(models: ModelServer) -> AsyncIterator[Any]:
    async with openai_models(models) as (built, settings):
        role = Memory(built, settings)

        async def ask(*replies: Reply, choice: str = "update", known: Any = ()) -> MemoryOutcome:
            models.script(DECISION, Chosen(choice))
            models.script(UPDATE, *replies)
            return await role.update(context_of(), tenant_of(), SAID, known)

        yield ask


def listed(*facts: Fact) -> Text:
    return Text(json.dumps({"facts": [fact.model_dump(mode="json") for fact in facts]}))


async def test_a_skipped_turn_makes_no_generation(models: ModelServer, asked: Any) -> None:
    outcome = await asked(choice="skip", known=(TEA,))
    assert outcome.facts is None
    assert models.asked(UPDATE) == []
    assert outcome.spent.model_calls == 1


async def test_an_update_reconciles_the_whole_list(models: ModelServer, asked: Any) -> None:
    new = Fact(text="I live in Falmouth.", language="en", since=date(2020, 1, 1))
    outcome = await asked(listed(TEA, new), known=(BREST, TEA))
    kept, added = outcome.facts
    assert kept == TEA
    assert (added.text, added.since) == (new.text, date.today()), "a new fact is of today"
    assert outcome.spent.model_calls == 2
    (body,) = models.asked(UPDATE)
    facts = body["messages"][1]["content"]
    assert facts.startswith('<data label="facts">') and "J'habite à Brest." in facts
    assert body["response_format"]["json_schema"]["strict"] is True


async def test_a_retraction_of_the_last_fact_is_an_empty_list(asked: Any) -> None:
    outcome = await asked(listed(), known=(TEA,))
    assert outcome.facts == ()


def remembered(*facts: tuple[str, str, str]) -> FactList:
    return FactList(
        facts=[RememberedFact(text=text, language=lang, since=when) for text, lang, when in facts]
    )


def test_a_kept_fact_keeps_its_language_and_date_whatever_was_written() -> None:
    facts = reconciled(remembered((BREST.text, "en", "1999-01-01")), (BREST,), TODAY)
    assert facts == (BREST,)


def test_a_fact_is_remembered_once() -> None:
    twice = remembered(("I dive.", "EN", ""), ("I  dive. ", "en", ""))
    assert reconciled(twice, (), TODAY) == (Fact(text="I dive.", language="en", since=TODAY),)


LIMITS = POLICY.preferences


@pytest.mark.parametrize(
    ("count", "length", "sound"),
    [
        (LIMITS.facts, 10, True),
        (LIMITS.facts + 1, 10, False),
        (1, LIMITS.fact_chars, True),
        (1, LIMITS.fact_chars + 1, False),
    ],
)
def test_a_list_beyond_the_limits_changes_nothing(count: int, length: int, sound: bool) -> None:
    facts = remembered(*[(f"{n:05}".ljust(length, "x"), "en", "") for n in range(count)])
    if sound:
        assert len(reconciled(facts, (), TODAY)) == count
    else:
        with pytest.raises(ModelUnavailable, match="malformed"):
            reconciled(facts, (), TODAY)


@pytest.mark.parametrize("reply", [Text("{}"), Text("no json"), Status(500), Text('{"facts": 3}')])
async def test_no_usable_list_is_a_failure(asked: Any, reply: Reply) -> None:
    with pytest.raises(ModelUnavailable):
        await asked(*[reply] * 3, known=(TEA,))


async def test_a_choice_that_is_none_is_a_failure(asked: Any) -> None:
    with pytest.raises(ModelUnavailable):
        await asked(choice="perhaps")
