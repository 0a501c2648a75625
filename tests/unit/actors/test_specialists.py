"""Career chat and task guidance over the scripted model server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_requests import context_of, tenant_of
from fake_roles import FakeRetriever, passage
from model_server import ModelServer
from scripted_replies import Calls, Reply, Status, Text, call

from actors.career_chat import HANDOFF, CareerChat
from actors.task_guidance import TaskGuidance
from config.settings import Settings
from domain.errors import AllowanceExhausted, ModelUnavailable, StoreUnavailable
from domain.events import Activity, TextDelivered, TextDelta
from domain.messages import Message, user
from domain.outcomes import SpecialistOutcome
from providers.openai_protocol import OpenAIModels
from retrieval.directory import FileTaskDirectory, TaskDirectory

pytestmark = pytest.mark.asyncio(loop_scope="session")

CAREER = "manta.career_chat"
TASKS = "manta.task_guidance"
ASKED = (user("How many days?"),)
REPLY = call("reply_to_user")
DOCUMENTS = {"rag": {"enabled": True}}


@asynccontextmanager
async def openai_models(server: ModelServer) -> AsyncIterator[tuple[OpenAIModels, Settings]]:
    settings = Settings.load(provider="compatible", openai_base_url=server.url)
    models = OpenAIModels(settings)
    yield models, settings
    await models.close()


async def run(role: Any, *args: Any, **context: Any) -> tuple[list[Any], SpecialistOutcome]:
    items = [item async for item in role.run(context_of(**context), *args)]
    assert isinstance(items[-1], SpecialistOutcome)
    return items[:-1], items[-1]


async def career(
    server: ModelServer,
    *replies: Reply,
    retriever: FakeRetriever | None = None,
    tenant: Any = None,
    messages: tuple[Message, ...] = ASKED,
    may_hand_off: bool = True,
) -> tuple[list[Any], SpecialistOutcome]:
    server.script(CAREER, *replies)
    async with openai_models(server) as (models, settings):
        role = CareerChat(models, settings, (retriever or FakeRetriever()).handle)
        return await run(role, tenant or tenant_of(**DOCUMENTS), messages, may_hand_off)


def tools_of(body: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in body.get("tools") or ()}


async def test_the_handoff_is_offered_when_there_is_something_to_research(
    models: ModelServer,
) -> None:
    await career(models, REPLY, Text("Hello there."))
    assert tools_of(models.asked(CAREER)[0]) == {HANDOFF, "reply_to_user"}
    assert tools_of(models.asked(CAREER)[1]) == set(), "the public call has no tools"


@pytest.mark.parametrize("readiness", ["empty", "disabled", "unavailable"])
async def test_without_a_source_the_handoff_is_withheld_and_the_reason_is_a_fact(
    models: ModelServer, readiness: Any
) -> None:
    await career(models, Text("Hello."), retriever=FakeRetriever(readiness=readiness))
    (body,) = models.asked(CAREER)
    assert tools_of(body) == set()
    assert f'"knowledge_sources": "{readiness}"' in body["messages"][1]["content"]


async def test_after_a_handoff_readiness_is_not_even_asked(models: ModelServer) -> None:
    retriever = FakeRetriever()
    await career(models, Text("Hello."), retriever=retriever, may_hand_off=False)
    assert retriever.asked == []
    assert tools_of(models.asked(CAREER)[0]) == set()


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


async def test_the_handoff_can_be_excluded_though_it_is_the_only_tool(
    models: ModelServer,
) -> None:
    agents = {"career_chat": {"tool_exclusion": [HANDOFF]}}
    await career(models, Text("Hello."), tenant=tenant_of(agents=agents, **DOCUMENTS))
    assert tools_of(models.asked(CAREER)[0]) == set()


def directory(folder: Path) -> FileTaskDirectory:
    path = folder / "tasks.jsonl"
    tasks = [
        {
            "tenant": "acme",
            "user": "ana",
            "id": "T-1",
            "title": "Mine",
            "due": "2026-12-01",
            "steps": ["s1"],
        },
        {"tenant": "acme", "user": "ben", "id": "T-2", "title": "Theirs"},
        {"tenant": "zoo", "user": "ana", "id": "T-3", "title": "Elsewhere"},
    ]
    path.write_text("\n".join(json.dumps(task) for task in tasks))
    return FileTaskDirectory(path)


class BrokenDirectory:
    """A directory whose store does not answer."""

    async def tasks(self, tenant: str, user: str) -> Any:
        raise StoreUnavailable("the tasks", "timeout")

    async def task(self, tenant: str, user: str, task_id: str) -> Any:
        raise StoreUnavailable("the tasks", "timeout")


async def tool_result(
    server: ModelServer,
    tool_call: Calls,
    tasks: TaskDirectory,
    retriever: FakeRetriever | None = None,
    **chatbot: Any,
) -> tuple[dict[str, Any], list[Any]]:
    """What the tool gave to the model, and the events of the run."""
    server.script(TASKS, tool_call, REPLY, Text("Done."))
    async with openai_models(server) as (models, settings):
        role = TaskGuidance(models, settings, (retriever or FakeRetriever()).handle, tasks)
        events, outcome = await run(role, tenant_of(**chatbot), (user("My tasks?"),))
    assert outcome.text == "Done."
    result: dict[str, Any] = json.loads(next(m.text for m in outcome.messages if m.role == "tool"))
    return result, events


async def test_a_user_sees_only_the_own_tasks(models: ModelServer, tmp_path: Path) -> None:
    result, events = await tool_result(models, call("list_my_tasks"), directory(tmp_path))
    assert [task["id"] for task in result["tasks"]] == ["T-1"]
    assert Activity(code="reading_tasks", agent="task_guidance") in events


async def test_a_task_is_shown_without_its_owner(models: ModelServer, tmp_path: Path) -> None:
    result, _ = await tool_result(models, call("get_task", task_id="T-1"), directory(tmp_path))
    assert result["task"]["steps"] == ["s1"]
    assert result["task"]["due"] == "2026-12-01"
    assert {"tenant", "user"}.isdisjoint(result["task"])


@pytest.mark.parametrize("task_id", ["T-2", "T-3", "T-9", ""])
async def test_the_tasks_of_others_are_unknown(
    models: ModelServer, tmp_path: Path, task_id: str
) -> None:
    asked = call("get_task", task_id=task_id)
    result, _ = await tool_result(models, asked, directory(tmp_path))
    assert result == {"error": "unknown_task"}


@pytest.mark.parametrize("asked", [call("list_my_tasks"), call("get_task", task_id="T-1")])
async def test_a_store_that_fails_is_a_result_not_the_end(
    models: ModelServer, asked: Calls
) -> None:
    result, _ = await tool_result(models, asked, BrokenDirectory())
    assert result == {"error": "store_unavailable"}


SEARCH = call("search_task_knowledge", query="how")


async def test_passages_are_shown_without_ids_and_scores(models: ModelServer) -> None:
    retriever = FakeRetriever([passage("Do it so.")])
    tasks = FileTaskDirectory(None)
    result, _ = await tool_result(models, SEARCH, tasks, retriever, **DOCUMENTS)
    assert result["passages"] == [
        {"title": "Leave", "heading": "Days", "page": 2, "text": "Do it so."}
    ]
    assert retriever.searched == [("acme", "how", 5)]


async def test_without_documents_nothing_is_searched(models: ModelServer) -> None:
    retriever = FakeRetriever([passage("x")])
    result, _ = await tool_result(models, SEARCH, FileTaskDirectory(None), retriever)
    assert result == {"error": "no_documents"}
    assert retriever.searched == []


async def test_a_search_that_fails_is_a_result(models: ModelServer) -> None:
    retriever = FakeRetriever(StoreUnavailable("Milvus", "gone"))
    tasks = FileTaskDirectory(None)
    result, _ = await tool_result(models, SEARCH, tasks, retriever, **DOCUMENTS)
    assert result == {"error": "store_unavailable"}


@pytest.mark.parametrize(("turns", "stops"), [(7, False), (8, True)])
async def test_a_loop_has_eight_model_turns(models: ModelServer, turns: int, stops: bool) -> None:
    models.script(TASKS, *[call("list_my_tasks")] * turns, REPLY, Text("Done."))
    async with openai_models(models) as (built, settings):
        role = TaskGuidance(built, settings, FakeRetriever().handle, FileTaskDirectory(None))
        if stops:
            with pytest.raises(AllowanceExhausted) as caught:
                await run(role, tenant_of(), ASKED)
            assert (caught.value.limit, caught.value.source) == (8, "task_guidance")
        else:
            _, outcome = await run(role, tenant_of(), ASKED)
            assert outcome.text == "Done."
            results = [m.text for m in outcome.messages if m.role == "tool"]
            assert [text == '{"tasks": []}' for text in results] == [True] * 6 + [False]


async def test_excluding_every_business_tool_keeps_them_all(models: ModelServer) -> None:
    names = ["list_my_tasks", "get_task", "search_task_knowledge"]
    agents = {"task_guidance": {"tool_exclusion": names}}
    await tool_result(models, call("list_my_tasks"), FileTaskDirectory(None), agents=agents)
    assert tools_of(models.asked(TASKS)[0]) == {*names, "reply_to_user"}


async def test_an_excluded_tool_is_not_offered(models: ModelServer) -> None:
    agents = {"task_guidance": {"tool_exclusion": ["get_task"]}}
    await tool_result(models, call("list_my_tasks"), FileTaskDirectory(None), agents=agents)
    assert "get_task" not in tools_of(models.asked(TASKS)[0])


async def test_an_excluded_tool_is_not_run_though_a_model_calls_it(models: ModelServer) -> None:
    agents = {"task_guidance": {"tool_exclusion": ["search_task_knowledge"]}}
    retriever = FakeRetriever([passage("x")])
    tasks = FileTaskDirectory(None)
    await tool_result(models, SEARCH, tasks, retriever, agents=agents, **DOCUMENTS)
    assert retriever.searched == []


async def test_a_withheld_handoff_is_not_recorded_though_a_model_calls_it(
    models: ModelServer,
) -> None:
    again = call(HANDOFF, question="q")
    _, outcome = await career(models, again, Text("No."), may_hand_off=False)
    assert outcome.handoff is None
