"""Which person is meant, and a learning plan that is chosen, confirmed and saved once."""

from __future__ import annotations

import json

import pytest
from fake_directory import SKILLED, FakeDirectory, records_of
from fake_roles import FakeRetriever
from model_server import ModelServer
from scripted_replies import Text, call
from specialist_runs import REPLY, Bench, answered, results, tools_of

from domain.errors import StoreUnavailable
from retrieval.directory import Objective

pytestmark = pytest.mark.asyncio(loop_scope="session")

DONE = (REPLY, Text("Done."))
PEOPLE = records_of(
    "people",
    {"id": "P-1", "title": "Yann Le Gall", "place": "Brest", "details": {"role": "Diver"}},
    {"id": "P-2", "title": "Yann Le Gall", "place": "Falmouth", "details": {"role": "Planner"}},
    {"id": "P-3", "title": "Aurélie Kermorgant", "place": "Brest"},
)
TRAININGS = records_of(
    "trainings", {"id": "TR-1", "title": "Welding"}, {"id": "TR-2", "title": "Knots"}
)
LEAD = Objective(id="O-1", title="Lead a team", skills=("Leadership", "planning"))
DIVE = Objective(id="O-2", title="Dive", skills=("Diving",))
PERSON, PROFILE = "person_disambiguation", "profile_analysis"
PLAN = call("build_learning_plan")


def people(server: ModelServer) -> Bench:
    return Bench(server, FakeRetriever(records=PEOPLE))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Le Gall", ["P-1", "P-2"]),
        ("yann le gall", ["P-1", "P-2"]),
        ("le-gall", ["P-1", "P-2"]),
        ("Aurelie", ["P-3"]),
        ("Yann Kermorgant", []),
        ("Gallois", []),
    ],
)
async def test_a_person_has_every_word_of_the_name(
    models: ModelServer, name: str, found: list[str]
) -> None:
    _, outcome = await people(models).run(PERSON, call("find_person", name=name), *DONE)
    assert [one["id"] for one in results(outcome)[0]["people"]] == found


async def test_the_user_chooses_between_people(models: ModelServer) -> None:
    made = people(models)
    ids = call("choose_person", person_ids=["P-1", "P-2"])
    _, asked = await made.run(PERSON, ids, interactive=True)
    assert asked.pause is not None
    (question,) = asked.pause.questions
    assert [o.value for o in question.options] == ["P-1", "P-2", "nobody"]
    assert question.options[1].label == "Yann Le Gall, Planner, Falmouth"
    made.retriever.records = StoreUnavailable("Milvus", "gone")
    _, outcome = await made.run(PERSON, *DONE, interactive=True, **answered(asked, person="P-2"))
    assert results(outcome)[0]["chosen"]["place"] == "Falmouth", "nothing is read again"


async def test_nobody_may_be_meant(models: ModelServer) -> None:
    ids = call("choose_person", person_ids=["P-1", "P-2"])
    _, asked = await people(models).run(PERSON, ids, interactive=True)
    _, outcome = await people(models).run(
        PERSON, *DONE, interactive=True, **answered(asked, person="nobody")
    )
    assert results(outcome) == [{"chosen": None}]


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        (["P-1"], "nothing_to_choose"),
        (["P-1", "P-1"], "nothing_to_choose"),
        (["P-9"], "unknown_id"),
    ],
)
async def test_there_must_be_a_choice_between_known_people(
    models: ModelServer, ids: list[str], error: str
) -> None:
    asked = call("choose_person", person_ids=ids)
    _, outcome = await people(models).run(PERSON, asked, *DONE, interactive=True)
    assert results(outcome) == [{"error": error}]


def planning(server: ModelServer, *objectives: Objective) -> Bench:
    return Bench(server, FakeRetriever(records=TRAININGS), FakeDirectory(SKILLED, objectives))


async def test_a_plan_is_chosen_confirmed_and_saved_once(models: ModelServer) -> None:
    made = planning(models, LEAD, DIVE)
    _, choosing = await made.run(PROFILE, PLAN, interactive=True)
    assert choosing.pause is not None
    assert [o.value for o in choosing.pause.questions[0].options] == ["O-1", "O-2"]
    reads = list(made.directory.reads)

    _, confirming = await made.run(PROFILE, interactive=True, **answered(choosing, objective="O-1"))
    assert confirming.pause is not None and confirming.pause.call_id == choosing.pause.call_id
    assert "Welding; Knots" in confirming.pause.questions[0].text
    query = made.retriever.record_searches[0][2]
    assert "Leadership" in query and "planning" not in query, "what is known is not looked for"
    assert made.directory.saved == []
    assert made.directory.reads == reads, "profile and objectives are not read again"

    again = answered(confirming, confirm="save")
    again["messages"] = (*answered(choosing, objective="O-1")["messages"],)
    _, outcome = await made.run(PROFILE, *DONE, interactive=True, **again)
    ((key, plan),) = made.directory.saved
    assert key == confirming.pause.interaction_id
    assert (plan.objective_id, plan.training_ids) == ("O-1", ("TR-1", "TR-2"))
    assert results(outcome)[0]["saved"] is True
    assert len(made.retriever.record_searches) == 1
    roles = [m.role for m in outcome.messages]
    assert roles == ["tool", "assistant", "user", "assistant", "user", "assistant"]

    await made.run(PROFILE, *DONE, interactive=True, **again)
    assert len(made.directory.saved) == 1, "the same confirmation writes nothing twice"


async def test_a_plan_may_be_discarded(models: ModelServer) -> None:
    made = planning(models, LEAD)
    _, confirming = await made.run(PROFILE, PLAN, interactive=True)
    assert confirming.pause is not None, "one objective needs no choice"
    assert confirming.pause.request.reason == "confirmation"
    _, outcome = await made.run(
        PROFILE, *DONE, interactive=True, **answered(confirming, confirm="discard")
    )
    assert made.directory.saved == []
    assert results(outcome) == [{"saved": False}]


async def test_a_write_that_fails_is_read_by_the_model(models: ModelServer) -> None:
    made = planning(models, LEAD)
    _, confirming = await made.run(PROFILE, PLAN, interactive=True)
    made.directory.error = StoreUnavailable("the directory", "timeout")
    _, outcome = await made.run(
        PROFILE, *DONE, interactive=True, **answered(confirming, confirm="save")
    )
    assert results(outcome) == [{"error": "store_unavailable"}]


async def test_without_objectives_or_profile_there_is_no_plan(models: ModelServer) -> None:
    _, outcome = await planning(models).run(PROFILE, PLAN, *DONE, interactive=True)
    assert results(outcome) == [{"error": "no_objectives"}]
    _, outcome = await Bench(models).run(PROFILE, PLAN, *DONE, interactive=True)
    assert results(outcome)[0]["error"] == "no_profile"


async def test_without_pauses_no_plan_is_offered(models: ModelServer) -> None:
    await planning(models, LEAD).run(PROFILE, *DONE)
    offered = tools_of(models.asked(f"manta.{PROFILE}")[0])
    assert offered == {"get_my_profile", "list_my_objectives", "match_occupation", "reply_to_user"}


async def test_objectives_that_fail_are_a_result_with_the_calls_id(models: ModelServer) -> None:
    broken = FakeDirectory(error=StoreUnavailable("the directory", "10.0.0.7 timed out"))
    made = Bench(models, directory=broken)
    _, outcome = await made.run(PROFILE, call("list_my_objectives"), *DONE)
    assert results(outcome) == [{"error": "store_unavailable"}]
    calling, result = outcome.messages[:2]
    assert result.tool_call_id == calling.tool_calls[0].id
    assert result.tool_name == "list_my_objectives"
    assert "10.0.0.7" not in json.dumps(models.requests)


async def test_an_occupation_is_matched_with_its_skills(models: ModelServer) -> None:
    occupations = records_of("occupations", {"id": "W", "title": "Welder", "skills": ["Welding"]})
    made = Bench(models, FakeRetriever(records=occupations))
    asked = call("match_occupation", description="I join metal")
    _, outcome = await made.run(PROFILE, asked, *DONE)
    assert results(outcome)[0]["occupations"][0]["skills"] == ["Welding"]
    assert made.retriever.record_searches[0][:3] == ("acme", "occupations", "I join metal")
