"""The loop that all specialists share, career chat's handoff, and task guidance's tools."""

from __future__ import annotations

from typing import Any

import pytest
from fake_directory import FakeDirectory
from fake_requests import tenant_of
from fake_roles import FakeRetriever, passage
from model_server import ModelServer
from scripted_replies import Calls, Reply, Status, Text, call
from specialist_runs import REPLY, Bench, results, tools_of

from actors.career_chat import HANDOFF
from domain.budgets import Budget
from domain.errors import AllowanceExhausted, ModelUnavailable, StoreUnavailable
from domain.events import Activity, TextDelivered, TextDelta
from domain.outcomes import SpecialistOutcome
from retrieval.directory import Task

pytestmark = pytest.mark.asyncio(loop_scope="session")

CAREER = "manta.career_chat"
TASKS = "manta.task_guidance"
DOCUMENTS = {"rag": {"enabled": True}}
CHAT_TOOLS = {"get_my_profile", "reply_to_user"}
MINE = Task(id="T-1", title="Mine", due="2026-12-01", steps=("s1",))  # type: ignore[arg-type]
FAILED = StoreUnavailable("the tasks", "timeout")
TASKS_OF_ANA = FakeDirectory(tasks=(MINE,))


async def career(
    server: ModelServer,
    *replies: Reply,
    retriever: FakeRetriever | None = None,
    tenant: Any = None,
    **request: Any,
) -> tuple[list[Any], SpecialistOutcome]:
    bench = Bench(server, retriever)
    return await bench.run(
        "career_chat", *replies, tenant=tenant or tenant_of(**DOCUMENTS), **request
    )


async def test_the_handoff_is_offered_when_there_is_something_to_research(
    models: ModelServer,
) -> None:
    await career(models, REPLY, Text("Hello there."))
    assert tools_of(models.asked(CAREER)[0]) == {HANDOFF, *CHAT_TOOLS}
    assert tools_of(models.asked(CAREER)[1]) == set(), "the public call has no tools"


@pytest.mark.parametrize("readiness", ["empty", "disabled", "unavailable"])
async def test_without_a_source_the_handoff_is_withheld_and_the_reason_is_a_fact(
    models: ModelServer, readiness: Any
) -> None:
    await career(models, Text("Hello."), retriever=FakeRetriever(readiness=readiness))
    (body,) = models.asked(CAREER)
    assert tools_of(body) == CHAT_TOOLS
    assert f'"knowledge_sources": "{readiness}"' in body["messages"][1]["content"]


async def test_after_a_handoff_readiness_is_not_even_asked(models: ModelServer) -> None:
    retriever = FakeRetriever()
    await career(models, Text("Hello."), retriever=retriever, may_hand_off=False)
    assert retriever.asked == []
    assert tools_of(models.asked(CAREER)[0]) == CHAT_TOOLS


async def test_a_handoff_ends_with_the_call_and_no_result(models: ModelServer) -> None:
    leak = Calls(((HANDOFF, {"question": "How many days of leave?"}),), text="SCRATCH")
    events, outcome = await career(models, leak)
    assert outcome.handoff is not None
    assert outcome.handoff.question == "How many days of leave?"
    assert [m.role for m in outcome.messages] == ["assistant"]
    assert outcome.messages[0].tool_calls[0].id == outcome.handoff.call_id
    assert outcome.text == ""
    assert not [e for e in events if isinstance(e, TextDelta | TextDelivered)]
    assert "SCRATCH" not in repr((events, outcome))


async def test_only_one_of_two_handoff_calls_is_recorded(models: ModelServer) -> None:
    twice = Calls(((HANDOFF, {"question": "a"}), (HANDOFF, {"question": "b"})))
    _, outcome = await career(models, twice)
    assert outcome.handoff is not None
    assert len(outcome.messages[-1].tool_calls) == 1
    assert outcome.messages[-1].tool_calls[0].id == outcome.handoff.call_id


async def test_the_public_reply_is_streamed_and_counted(models: ModelServer) -> None:
    events, outcome = await career(models, REPLY, Text("one two three"))
    assert events[0] == Activity(code="writing_reply", agent="career_chat")
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "one two three"
    assert outcome.text == "one two three"
    assert outcome.spent.model_calls == 2
    assert outcome.spent.output_tokens > 0


async def test_a_server_that_writes_at_once_is_not_asked_twice(models: ModelServer) -> None:
    events, outcome = await career(models, Text("Direct."))
    assert [e.text for e in events if isinstance(e, TextDelivered)] == ["Direct."]
    assert outcome.spent.model_calls == 1


async def test_an_empty_reply_is_a_failure(models: ModelServer) -> None:
    with pytest.raises(ModelUnavailable, match="empty reply"):
        await career(models, REPLY, Text(""))


async def test_a_failing_model_is_unavailable(models: ModelServer) -> None:
    with pytest.raises(ModelUnavailable, match="status 400"):
        await career(models, Status(400))


async def test_the_handoff_can_be_excluded(models: ModelServer) -> None:
    agents = {"career_chat": {"tool_exclusion": [HANDOFF]}}
    await career(models, Text("Hello."), tenant=tenant_of(agents=agents, **DOCUMENTS))
    assert tools_of(models.asked(CAREER)[0]) == CHAT_TOOLS


async def tool_result(
    server: ModelServer,
    tool_call: Calls,
    directory: FakeDirectory | None = None,
    retriever: FakeRetriever | None = None,
    **chatbot: Any,
) -> tuple[dict[str, Any], list[Any]]:
    """What the tool gave to the model, and the events of the run."""
    bench = Bench(server, retriever, directory)
    tenant = tenant_of(**chatbot)
    events, outcome = await bench.run(
        "task_guidance", tool_call, REPLY, Text("Done."), tenant=tenant
    )
    assert outcome.text == "Done."
    return results(outcome)[0], events


async def test_a_user_sees_only_the_own_tasks(models: ModelServer) -> None:
    result, events = await tool_result(models, call("list_my_tasks"), TASKS_OF_ANA)
    assert [task["id"] for task in result["tasks"]] == ["T-1"]
    assert Activity(code="reading_tasks", agent="task_guidance") in events


async def test_a_task_is_shown_without_its_owner(models: ModelServer) -> None:
    result, _ = await tool_result(models, call("get_task", task_id="T-1"), TASKS_OF_ANA)
    assert result["task"]["steps"] == ["s1"]
    assert result["task"]["due"] == "2026-12-01"
    assert {"tenant", "user"}.isdisjoint(result["task"])


@pytest.mark.parametrize("task_id", ["T-2", "T-9", ""])
async def test_the_tasks_of_others_are_unknown(models: ModelServer, task_id: str) -> None:
    asked = call("get_task", task_id=task_id)
    result, _ = await tool_result(models, asked, TASKS_OF_ANA)
    assert result == {"error": "not_found", "what": "the task"}


@pytest.mark.parametrize("asked", [call("list_my_tasks"), call("get_task", task_id="T-1")])
async def test_a_store_that_fails_is_a_result_not_the_end(
    models: ModelServer, asked: Calls
) -> None:
    result, _ = await tool_result(models, asked, FakeDirectory(error=FAILED))
    assert result == {"error": "store_unavailable"}


SEARCH = call("search_knowledge", query="how")


async def test_passages_are_shown_without_ids_and_scores(models: ModelServer) -> None:
    retriever = FakeRetriever([passage("Do it so.")])
    result, _ = await tool_result(models, SEARCH, None, retriever, **DOCUMENTS)
    assert result["passages"] == [
        {"title": "Leave", "heading": "Days", "page": 2, "text": "Do it so."}
    ]
    assert retriever.searched == [("acme", "how", 5)]


async def test_without_documents_nothing_is_searched(models: ModelServer) -> None:
    retriever = FakeRetriever([passage("x")])
    result, _ = await tool_result(models, SEARCH, None, retriever)
    assert result == {"error": "no_documents"}
    assert retriever.searched == []


async def test_a_search_that_fails_is_a_result(models: ModelServer) -> None:
    retriever = FakeRetriever(StoreUnavailable("Milvus", "gone"))
    result, _ = await tool_result(models, SEARCH, None, retriever, **DOCUMENTS)
    assert result == {"error": "store_unavailable"}


@pytest.mark.parametrize(("turns", "stops"), [(7, False), (8, True)])
async def test_a_loop_has_eight_model_turns(models: ModelServer, turns: int, stops: bool) -> None:
    script = [*[call("list_my_tasks")] * turns, REPLY, Text("Done.")]
    bench = Bench(models)
    if stops:
        with pytest.raises(AllowanceExhausted) as caught:
            await bench.run("task_guidance", *script)
        assert (caught.value.limit, caught.value.source) == (8, "task_guidance")
    else:
        _, outcome = await bench.run("task_guidance", *script)
        assert outcome.text == "Done."
        texts = [m.text for m in outcome.messages if m.role == "tool"]
        assert [text == '{"tasks": []}' for text in texts] == [True] * 6 + [False]


@pytest.mark.parametrize(
    ("budget", "allowance"),
    [(Budget(model_calls=1), "model_calls"), (Budget(tool_calls=0), "tool_calls")],
)
async def test_a_request_with_a_smaller_budget_ends_at_its_own(
    models: ModelServer, budget: Budget, allowance: str
) -> None:
    script = [call("list_my_tasks"), REPLY, Text("Done.")]
    with pytest.raises(AllowanceExhausted) as caught:
        await Bench(models).run("task_guidance", *script, context={"budget": budget})
    assert (caught.value.allowance, caught.value.source) == (allowance, "the request")


async def test_a_budget_that_is_just_enough_is_enough(models: ModelServer) -> None:
    budget = Budget(model_calls=2, tool_calls=1)
    script = [call("list_my_tasks"), REPLY, Text("Done.")]
    _, outcome = await Bench(models).run("task_guidance", *script, context={"budget": budget})
    assert outcome.text == "Done."


async def test_excluding_every_business_tool_keeps_them_all(models: ModelServer) -> None:
    names = ["list_my_tasks", "get_task", "search_knowledge"]
    agents = {"task_guidance": {"tool_exclusion": names}}
    await tool_result(models, call("list_my_tasks"), agents=agents)
    assert tools_of(models.asked(TASKS)[0]) == {*names, "reply_to_user"}


async def test_an_excluded_tool_is_not_offered(models: ModelServer) -> None:
    agents = {"task_guidance": {"tool_exclusion": ["get_task"]}}
    await tool_result(models, call("list_my_tasks"), agents=agents)
    assert "get_task" not in tools_of(models.asked(TASKS)[0])


async def test_an_excluded_tool_is_not_run_though_a_model_calls_it(models: ModelServer) -> None:
    agents = {"task_guidance": {"tool_exclusion": ["search_knowledge"]}}
    retriever = FakeRetriever([passage("x")])
    await tool_result(models, SEARCH, None, retriever, agents=agents, **DOCUMENTS)
    assert retriever.searched == []


async def test_a_withheld_handoff_is_not_recorded_though_a_model_calls_it(
    models: ModelServer,
) -> None:
    again = call(HANDOFF, question="q")
    _, outcome = await career(models, again, Text("No."), may_hand_off=False)
    assert outcome.handoff is None
