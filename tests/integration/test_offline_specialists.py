"""Whole conversations with the offline model: every specialist over the demo's own records."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from langgraph.graph.state import CompiledStateGraph
from served import DEMO, settings_for

from actors.cell import LocalCell
from config.prompt_files import phrase
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.events import Event, TurnFinished, TurnPaused
from domain.messages import user
from domain.pauses import ResumeRequest
from domain.records import RECORD_KINDS
from domain.requests import RequestContext
from graph.checkpoints import open_saver
from graph.preferences import PreferenceStore
from graph.run import run_turn
from graph.state import TurnContext
from graph.turn import build_turn
from providers.embedding import LocalEmbedder
from retrieval.file_directory import PLANS
from retrieval.ingest import ingest
from retrieval.records.loading import replace_records
from retrieval.records.store import RecordStore
from retrieval.redis_client import open_redis

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

TENANT, USER = "harbour", "ana"


class Talk:
    """One conversation of Ana's."""

    def __init__(
        self, cell: LocalCell, graph: CompiledStateGraph[Any, Any, Any, Any], settings: Settings,
        store: PreferenceStore,
    ) -> None:  # fmt: skip
        self._cell = cell
        self._graph = graph
        self._tenant = TenantDirectory.load(settings.tenants).get(TENANT)
        self._preferences = store
        self._id = uuid4().hex

    async def say(self, text: str, locale: str = "en") -> str:
        """What is answered, and by whom before it."""
        event = await self._turn(locale, [user(text)], None)
        assert isinstance(event, TurnFinished), event
        return f"{event.reply.agent}: {event.reply.text}"

    async def paused(self, text: str | ResumeRequest, locale: str = "en") -> TurnPaused:
        """The pause that a message or an answer ends in."""
        if isinstance(text, ResumeRequest):
            event = await self._turn(locale, [], text)
        else:
            event = await self._turn(locale, [user(text)], None)
        assert isinstance(event, TurnPaused), event
        return event

    async def answer(self, pause: TurnPaused, value: str, locale: str = "en") -> str:
        event = await self._turn(locale, [], chosen(pause, value))
        assert isinstance(event, TurnFinished), event
        return event.reply.text

    async def facts(self) -> list[str]:
        kept, _ = await self._preferences.read(TENANT, USER)
        return [fact.text for fact in kept]

    async def _turn(self, locale: str, messages: list[Any], resume: ResumeRequest | None) -> Event:
        request = RequestContext(
            request_id=uuid4().hex, tenant=TENANT, user=USER, conversation=self._id,
            locale=locale,
        )  # fmt: skip
        context = TurnContext(
            request=request, tenant=self._tenant, roles=self._cell.handles, interactive=True,
            preferences=self._preferences,
        )  # fmt: skip
        given = {} if resume is None else {"resume": resume}
        events = [event async for event in run_turn(self._graph, context, messages, **given)]
        return events[-1]


def chosen(pause: TurnPaused, value: str) -> ResumeRequest:
    return ResumeRequest(interaction_id=pause.pause.interaction_id, payload=value)


def options(pause: TurnPaused) -> list[str]:
    return [option.value for option in pause.pause.questions[0].options]


def ids(reply: str) -> list[str]:
    return re.findall(r"\((\w+-\d+),", reply)


@pytest.fixture(scope="module")
def settings(milvus_uri: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The demo organisation with its records and documents; no site is read."""
    folder = tmp_path_factory.mktemp("offline")
    tenant = json.loads((DEMO / "tenants/tidewater.json").read_text())
    tenant["tenant"] = TENANT
    tenant["chatbot"]["knowledge_base"]["web"]["enabled"] = False
    (folder / "tenants").mkdir()
    (folder / f"tenants/{TENANT}.json").write_text(json.dumps(tenant))
    (folder / "directory").mkdir()
    for file in (DEMO / "directory").iterdir():
        own = file.read_text().replace('"tenant": "tidewater"', f'"tenant": "{TENANT}"')
        (folder / "directory" / file.name).write_text(own)
    given = settings_for(
        tenants=folder / "tenants",
        default_tenant=TENANT,
        directory=folder / "directory",
        data=folder / "data",
        milvus_uri=milvus_uri,
        redis_url=redis_url,
    )

    async def load() -> None:
        embedder = LocalEmbedder()
        store = RecordStore(milvus_uri, embedder)
        for kind in RECORD_KINDS:
            file = DEMO / "records" / f"{kind}.jsonl"
            await replace_records(store, embedder, file, kind, TENANT)
        await store.close()
        await ingest(DEMO / "documents/en", TENANT, given, milvus_uri, use_ray=False)

    asyncio.run(load())
    return given


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served_cell(settings: Settings) -> AsyncIterator[tuple[LocalCell, Any]]:
    """One cell for all conversations: its encoder and its examples are learned once."""
    cell = LocalCell(settings)
    redis = open_redis(settings.redis_url or "")
    yield cell, redis
    await cell.close()
    await redis.aclose()


@pytest_asyncio.fixture(loop_scope="module")
async def talk(served_cell: tuple[LocalCell, Any], settings: Settings) -> Talk:
    cell, redis = served_cell
    store = PreferenceStore(redis)
    await store.replace(TENANT, USER, ())
    return Talk(cell, build_turn(open_saver(redis)), settings, store)


@pytest.mark.parametrize(
    ("locale", "question", "more", "second"),
    [
        ("en", "Are there open positions in Brest?", "show more",
         "tell me more about the second one"),
        ("fr", "Quels postes sont ouverts à Brest ?", "Montre-m'en plus", "Parle-moi du deuxième"),
        ("de", "Welche Stellen gibt es in Brest?", "Zeig mir mehr", "der zweite bitte"),
    ],
)  # fmt: skip
async def test_positions_more_of_them_and_one_whole(
    talk: Talk, locale: str, question: str, more: str, second: str
) -> None:
    first = await talk.say(question, locale)
    assert first.startswith("opportunity_search: " + phrase("offline_records_intro", locale))
    assert ids(first) and all("Brest" in line for line in first.splitlines()[2:])
    further = ids(await talk.say(more, locale))
    assert further and not set(further) & set(ids(first))
    whole = await talk.say(second, locale)
    assert ids(whole) == [further[1]]
    assert phrase("offline_record_intro", locale) in whole


@pytest.mark.parametrize(
    ("locale", "question"),
    [("en", "Which trainings are there on welding?"),
     ("fr", "Quelles formations y a-t-il en soudure ?"),
     ("de", "Welche Kurse gibt es zum Schweißen?")],
)  # fmt: skip
async def test_trainings_are_found_across_languages(talk: Talk, locale: str, question: str) -> None:
    reply = await talk.say(question, locale)
    assert reply.startswith("training_search: ")
    assert set(ids(reply)) == {"TR-602", "TR-702"}


@pytest.mark.parametrize(
    ("locale", "question", "person"),
    [("en", "Who can fly a drone?", "P-807"), ("fr", "Qui sait programmer ?", "P-829"),
     ("de", "Wer kennt sich mit Linux aus?", "P-848")],
)  # fmt: skip
async def test_people_are_found_by_skill(
    talk: Talk, locale: str, question: str, person: str
) -> None:
    reply = await talk.say(question, locale)
    assert reply.startswith("talent_search: ")
    assert person in ids(reply)


@pytest.mark.parametrize(
    ("locale", "question"),
    [("en", "Which trainings are there on wine tasting?"),
     ("fr", "Y a-t-il une formation de pâtissier ?"), ("de", "Gibt es einen Töpferkurs?")],
)  # fmt: skip
async def test_what_the_catalogue_has_not_is_not_listed(
    talk: Talk, locale: str, question: str
) -> None:
    reply = await talk.say(question, locale)
    assert reply == f"training_search: {phrase('offline_no_records', locale)}"


async def test_a_place_that_nothing_is_at_may_be_given_up(talk: Talk) -> None:
    pause = await talk.paused("Are there any jobs for a welder in Tokyo?")
    assert options(pause) == ["place", "keep"]
    assert "O-302" in await talk.answer(pause, "place")


async def test_a_place_that_is_kept_ends_the_search(talk: Talk) -> None:
    pause = await talk.paused("Are there any jobs for a welder in Tokyo?")
    assert await talk.answer(pause, "keep") == phrase("offline_conditions_kept", "en")


@pytest.mark.parametrize(
    ("locale", "question"),
    [("en", "Who is Anna Petersen?"), ("fr", "qui est Anna Petersen ?"),
     ("de", "Wer ist Anna Petersen?")],
)  # fmt: skip
async def test_one_of_several_people_is_chosen(talk: Talk, locale: str, question: str) -> None:
    pause = await talk.paused(question, locale)
    assert set(options(pause)) == {"P-806", "P-827", "P-843", "nobody"}
    reply = await talk.answer(pause, "P-843", locale)
    assert reply.startswith(phrase("offline_person", locale)) and ids(reply) == ["P-843"]


async def test_a_team_tells_which_person_and_an_unknown_name_none(talk: Talk) -> None:
    assert ids(await talk.say("Which Anna Petersen works in finance?")) == ["P-806"]
    reply = await talk.say("Wer ist Wilhelm Tell?", "de")
    assert reply == f"person_disambiguation: {phrase('offline_no_person', 'de')}"


@pytest.mark.parametrize(
    ("locale", "question"),
    [("en", "Make me a learning plan"), ("fr", "Fais-moi un plan de formation"),
     ("de", "Erstelle mir einen Lernplan")],
)  # fmt: skip
async def test_a_learning_plan_is_saved_once(
    talk: Talk, settings: Settings, locale: str, question: str
) -> None:
    plans = settings.data / PLANS
    before = plans.read_text().count("\n") if plans.exists() else 0
    goals = await talk.paused(question, locale)
    assert set(options(goals)) == {"B-1", "B-2", "B-3"}
    confirmation = await talk.paused(chosen(goals, "B-1"), locale)
    reply = await talk.answer(confirmation, "save", locale)
    assert reply.startswith(phrase("offline_plan_saved", locale))
    lines = plans.read_text().splitlines()
    assert len(lines) == before + 1
    assert json.loads(lines[-1])["plan"]["objective_id"] == "B-1"


async def test_a_discarded_plan_is_not_saved(talk: Talk, settings: Settings) -> None:
    plans = settings.data / PLANS
    before = plans.read_text() if plans.exists() else ""
    goals = await talk.paused("Make me a learning plan")
    confirmation = await talk.paused(chosen(goals, "B-2"))
    assert await talk.answer(confirmation, "discard") == phrase("offline_plan_discarded", "en")
    assert (plans.read_text() if plans.exists() else "") == before


@pytest.mark.parametrize(
    ("locale", "question", "objectives"),
    [("en", "What are my strengths?", "How far am I with my objectives?"),
     ("fr", "Quels sont mes points forts ?", "Où en sont mes objectifs ?"),
     ("de", "Was sind meine Stärken?", "Wie weit bin ich mit meinen Zielen?")],
)  # fmt: skip
async def test_profile_and_objectives(
    talk: Talk, locale: str, question: str, objectives: str
) -> None:
    assert "quay inspection" in await talk.say(question, locale)
    reply = await talk.say(objectives, locale)
    assert reply.startswith("profile_analysis: ") and "○ Register for the course" in reply


@pytest.mark.parametrize(
    ("locale", "question", "one"),
    [("en", "What are my tasks?", "Tell me more about T-101"),
     ("fr", "Quelles sont mes tâches ?", "Que dit T-101 ?"),
     ("de", "Was sind meine Aufgaben?", "Was ist mit T-101?")],
)  # fmt: skip
async def test_tasks_and_the_steps_of_one(talk: Talk, locale: str, question: str, one: str) -> None:
    reply = await talk.say(question, locale)
    assert reply.startswith("task_guidance: ")
    assert ids(reply) == ["T-102", "T-101", "T-104", "T-103"]
    assert "4. Walk the berth with Kerensa" in await talk.say(one, locale)


@pytest.mark.parametrize(
    ("locale", "told", "asked", "forget"),
    [("en", "I work part time.", "What do you remember about me?",
      "Forget everything you know about me."),
     ("fr", "Je travaille à mi-temps.", "Que sais-tu de moi ?",
      "Oublie tout ce que tu sais de moi."),
     ("de", "Ich arbeite Teilzeit.", "Was weißt du über mich?",
      "Vergiss alles, was du über mich weißt.")],
)  # fmt: skip
async def test_what_is_remembered_is_told_and_all_of_it_forgotten(
    talk: Talk, locale: str, told: str, asked: str, forget: str
) -> None:
    await talk.say(told, locale)
    assert await talk.facts() == [told]
    reply = await talk.say(asked, locale)
    assert reply == f"career_chat: {phrase('offline_remembered', locale)}\n\n- {told}"
    assert (await talk.say(forget, locale)).startswith("career_chat: ")
    assert await talk.facts() == []


@pytest.mark.parametrize(
    ("text", "specialist", "record"),
    [("Tell me about O-101", "opportunity_search", "O-101"),
     ("What is TR-501?", "training_search", "TR-501"), ("P-803?", "talent_search", "P-803")],
)  # fmt: skip
async def test_an_id_is_enough(talk: Talk, text: str, specialist: str, record: str) -> None:
    reply = await talk.say(text)
    assert reply.startswith(f"{specialist}: {phrase('offline_record_intro', 'en')}")
    assert ids(reply) == [record]


async def test_a_chosen_person_is_asked_about_again(talk: Talk) -> None:
    pause = await talk.paused("Who is Anna Petersen?")
    await talk.answer(pause, "P-843")
    for text in ("When is she available?", "What does she do?"):
        reply = await talk.say(text)
        assert reply.startswith(f"person_disambiguation: {phrase('offline_person', 'en')}")
        assert ids(reply) == ["P-843"]


async def test_a_company_question_after_a_search_is_answered_from_the_documents(
    talk: Talk,
) -> None:
    assert (await talk.say("Any internal jobs for a welder?")).startswith("opportunity_search")
    reply = await talk.say("What is the most I can spend on a hotel room in London?")
    assert "£165" in reply


async def test_what_is_told_is_remembered_corrected_and_forgotten(talk: Talk) -> None:
    told = f"career_chat: {phrase('offline_told', 'en')}"
    assert await talk.say("I moved to Brest. I prefer short answers.") == told
    assert await talk.facts() == ["I moved to Brest.", "I prefer short answers."]
    assert await talk.say("Actually I moved to Falmouth") == told
    assert await talk.facts() == ["I prefer short answers.", "Actually I moved to Falmouth"]
    assert await talk.say("Vergiss, dass ich kurze Antworten bevorzuge", "de")
    assert await talk.facts() == ["Actually I moved to Falmouth"]
    await talk.say("Where do I live?")
    assert await talk.facts() == ["Actually I moved to Falmouth"]
