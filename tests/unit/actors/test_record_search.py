"""The search specialists: fields, ids in artifacts, "show more", and the offer to widen."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_directory import records_of
from fake_roles import FakeRetriever
from model_server import ModelServer
from scripted_replies import Text, call
from specialist_runs import ASKED, REPLY, Bench, answered, results, tools_of

from config.policy import POLICY
from domain.errors import StoreUnavailable
from domain.events import Activity
from domain.messages import Message, user
from domain.records import RecordFilters

pytestmark = pytest.mark.asyncio(loop_scope="session")

SEARCHES = [
    ("opportunity_search", "search_opportunities", "get_opportunity", "opportunities"),
    ("training_search", "search_trainings", "get_training", "trainings"),
    ("talent_search", "search_people", "get_public_profile", "people"),
]
ROWS = ({"id": "O-1", "title": "Planner", "place": "Brest"}, {"id": "O-2", "title": "Cook"})
HITS = records_of("opportunities", *ROWS)
NAME = "opportunity_search"
SEARCH = "search_opportunities"
DONE = (REPLY, Text("Done."))


@pytest.mark.parametrize(("name", "search", "get", "kind"), SEARCHES)
async def test_each_searches_its_own_kind_for_its_own_tenant(
    models: ModelServer, name: str, search: str, get: str, kind: str
) -> None:
    bench = Bench(models, FakeRetriever(records=records_of(kind, *ROWS)))  # type: ignore[arg-type]
    events, outcome = await bench.run(name, call(search, query="ships", place="Brest"), *DONE)
    found = bench.retriever.record_searches[0]
    assert found[:4] == ("acme", kind, "ships", RecordFilters(place="Brest"))
    assert [r["id"] for r in results(outcome)[0]["results"]] == ["O-1", "O-2"]
    assert any(isinstance(e, Activity) and e.code.startswith("searching_") for e in events)
    assert tools_of(models.asked(f"manta.{name}")[0]) == {search, get, "reply_to_user"}


async def test_ids_stand_in_the_artifact_that_no_model_sees(models: ModelServer) -> None:
    bench = Bench(models, FakeRetriever(records=HITS))
    _, outcome = await bench.run(NAME, call(SEARCH, query="x"), *DONE)
    (tool,) = [m for m in outcome.messages if m.role == "tool"]
    assert tool.artifact == {"record_ids": ["O-1", "O-2"]}
    assert "record_ids" not in json.dumps(models.asked(f"manta.{NAME}")[-1])


def shown(*ids: str, tool: str = SEARCH) -> tuple[Message, ...]:
    """A completed turn that showed these records."""
    from domain.messages import ToolCall, assistant

    calling = Message(
        role="assistant", text="", tool_calls=(ToolCall(id="c", name=tool, arguments={}),)
    )
    result = Message(
        role="tool",
        text='{"results": [{"id": "TEXT-ID"}]}',
        tool_call_id="c",
        tool_name=tool,
        artifact={"record_ids": list(ids)},
    )
    return (user("find"), calling, result, assistant("Here."))


async def excluded(models: ModelServer, messages: tuple[Message, ...], **arguments: Any) -> Any:
    bench = Bench(models, FakeRetriever(records=HITS))
    asked = call(SEARCH, query="x", **arguments)
    await bench.run(NAME, asked, *DONE, messages=messages)
    return bench.retriever.record_searches[0][5]


async def test_more_leaves_out_what_was_shown_and_only_on_request(models: ModelServer) -> None:
    messages = (*shown("A", "B"), *shown("B", "C"), user("show more"))
    assert await excluded(models, messages, show_more=True) == ("A", "B", "C")
    assert await excluded(models, messages) == ()


async def test_more_looks_back_over_25_messages(models: ModelServer) -> None:
    limit = POLICY.records.excluded_messages
    assert limit == 25
    # The result is the third of its turn's four messages; with ``later`` after it, it is the
    # (later + 2)th from the end.
    for later, expected in ((limit - 2, ("A",)), (limit - 1, ())):
        messages = (*shown("A"), *[user("x")] * later)
        assert await excluded(models, messages, show_more=True) == expected, later


async def test_more_ignores_other_searches_and_texts(models: ModelServer) -> None:
    messages = (*shown("A", tool="search_people"), user("show more"))
    assert await excluded(models, messages, show_more=True) == ()


async def test_a_second_search_of_the_same_run_may_ask_for_more(models: ModelServer) -> None:
    bench = Bench(models, FakeRetriever(records=HITS))
    more = call(SEARCH, query="x", show_more=True)
    await bench.run(NAME, call(SEARCH, query="x"), more, *DONE)
    assert bench.retriever.record_searches[1][5] == ("O-1", "O-2")


@pytest.mark.parametrize(
    ("field", "value"),
    [("starts_from", "soon"), ("language", "english"), ("starts_to", "2026-13-01")],
)
async def test_a_wrong_field_is_named_and_nothing_is_searched(
    models: ModelServer, field: str, value: str
) -> None:
    bench = Bench(models, FakeRetriever(records=HITS))
    _, outcome = await bench.run(NAME, call(SEARCH, query="x", **{field: value}), *DONE)
    assert results(outcome)[0] == {"error": "invalid_field", "field": field}
    assert bench.retriever.record_searches == []


async def test_one_record_is_read_whole_and_an_unknown_id_is_a_result(models: ModelServer) -> None:
    bench = Bench(models, FakeRetriever(records=HITS))
    calls = (call("get_opportunity", record_id="O-1"), call("get_opportunity", record_id="O-9"))
    _, outcome = await bench.run(NAME, *calls, *DONE)
    assert results(outcome)[0]["record"]["title"] == "Planner"
    assert results(outcome)[1] == {"error": "unknown_id"}


async def test_a_store_that_fails_stops_the_turn(models: ModelServer) -> None:
    bench = Bench(models, FakeRetriever(records=StoreUnavailable("Milvus", "gone")))
    with pytest.raises(StoreUnavailable):
        await bench.run(NAME, call(SEARCH, query="x"))


EMPTY = call(SEARCH, query="cook", place="Brest", level="senior", starts_from="2027-01-01")


async def test_an_empty_search_offers_to_widen_it(models: ModelServer) -> None:
    bench = Bench(models, FakeRetriever(records=[]))
    _, outcome = await bench.run(NAME, EMPTY, interactive=True)
    assert outcome.pause is not None
    (question,) = outcome.pause.questions
    assert [o.value for o in question.options] == ["place", "level", "dates", "all", "keep"]
    assert "Brest" in question.options[0].label
    assert outcome.messages[-1].role == "assistant", "the call has no result yet"


@pytest.mark.parametrize(
    ("given_up", "left"),
    [
        ("place", RecordFilters.model_validate({"level": "senior", "starts_from": "2027-01-01"})),
        ("dates", RecordFilters(place="Brest", level="senior")),
        ("all", RecordFilters()),
    ],
)
async def test_a_widened_search_is_searched_again_without_the_condition(
    models: ModelServer, given_up: str, left: RecordFilters
) -> None:
    bench = Bench(models, FakeRetriever(records=[]))
    _, asked = await bench.run(NAME, EMPTY, interactive=True)
    bench.retriever.records = HITS
    _, outcome = await bench.run(NAME, *DONE, interactive=True, **answered(asked, widen=given_up))
    assert bench.retriever.record_searches[1][2:4] == ("cook", left)
    assert len(bench.retriever.record_searches) == 2
    result = outcome.messages[0]
    assert (result.role, result.artifact) == ("tool", {"record_ids": ["O-1", "O-2"]})
    assert [m.role for m in outcome.messages] == ["tool", "assistant", "user", "assistant"]


async def test_who_keeps_all_conditions_is_not_searched_for_again(models: ModelServer) -> None:
    bench = Bench(models, FakeRetriever(records=[]))
    _, asked = await bench.run(NAME, EMPTY, interactive=True)
    _, outcome = await bench.run(NAME, *DONE, interactive=True, **answered(asked, widen="keep"))
    assert len(bench.retriever.record_searches) == 1
    assert results(outcome)[0]["user_keeps_conditions"] is True


@pytest.mark.parametrize(
    ("asked", "interactive"),
    [
        (EMPTY, False),
        (call(SEARCH, query="cook"), True),
        (call(SEARCH, query="cook", place="Brest", show_more=True), True),
    ],
)
async def test_without_a_condition_or_a_client_that_can_answer_nothing_is_asked(
    models: ModelServer, asked: Any, interactive: bool
) -> None:
    bench = Bench(models, FakeRetriever(records=[]))
    _, outcome = await bench.run(NAME, asked, *DONE, interactive=interactive)
    assert outcome.pause is None
    assert results(outcome)[0] == {"results": []}


async def test_a_client_that_cannot_show_a_pause_is_offered_no_pausing_tool(
    models: ModelServer,
) -> None:
    for interactive in (False, True):
        await Bench(models).run(NAME, *DONE, messages=ASKED, interactive=interactive)
        offered = tools_of(models.asked(f"manta.{NAME}")[-2])
        assert ("request_clarification" in offered) is interactive
