"""Which tasks the offline model lists, in which order and in whose words."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from config.prompt_files import phrase
from providers.embedding import LocalEmbedder
from providers.labelled_data import labelled
from providers.offline_decisions import OfflineDecider
from providers.offline_policies import OfflinePolicies
from providers.offline_tasks import list_text, names_id

TASKS = [
    {"id": "T-1", "title": "Return the key", "due": "2026-11-01", "status": "done"},
    {"id": "T-2", "title": "Paint the door", "due": "2026-12-09", "status": "open"},
    {"id": "T-3", "title": "Order screws", "due": "2026-12-02", "status": "waiting"},
    {"id": "T-4", "title": "Tidy the shed", "due": None, "status": "open"},
]


@pytest.fixture(scope="module")
def policies() -> OfflinePolicies:
    embedder = LocalEmbedder()
    return OfflinePolicies(embedder, OfflineDecider(embedder))


def listed(question: str, locale: str = "en") -> list[str]:
    lines = list_text(TASKS, question, locale).splitlines()
    return [line for line in lines if line.startswith("- ")]


@pytest.mark.parametrize(
    "question",
    ["What are my tasks?", "What still has to be done first?", "Was muss noch erledigt werden?",
     "Quelles tâches doivent être terminées cette semaine ?"],
)  # fmt: skip
def test_what_is_open_comes_by_due_date_and_what_is_finished_is_left_out(question: str) -> None:
    assert [line.split("(")[1][:3] for line in listed(question)] == ["T-3", "T-2", "T-4"]


@pytest.mark.parametrize(
    "question",
    ["Which tasks have I finished?", "Show me the completed tasks",
     "Quelles tâches ai-je terminées ?", "Welche Aufgaben sind schon erledigt?"],
)  # fmt: skip
def test_finished_tasks_on_demand(question: str) -> None:
    [line] = listed(question)
    assert "T-1" in line


def test_all_tasks_end_with_the_finished_ones_in_the_language_of_the_reply() -> None:
    lines = listed("Zeig mir alle meine Aufgaben", "de")
    assert lines[0] == "- Order screws (T-3, wartet, fällig 2026-12-02)"
    assert lines[-1] == "- Return the key (T-1, erledigt, fällig 2026-11-01)"


def test_nothing_of_the_kind_is_said() -> None:
    assert list_text(TASKS[:1], "My tasks?", "en") == phrase("offline_no_open_tasks", "en")
    finished = list_text(TASKS[1:], "Which ones have I finished?", "fr")
    assert finished == phrase("offline_no_finished_tasks", "fr")


def test_an_id_is_no_beginning_of_a_longer_one() -> None:
    assert names_id("Is t-12 done yet?", "T-12")
    assert not names_id("Is T-123 done yet?", "T-12")


async def test_a_greeting_at_task_guidance_is_greeted(policies: OfflinePolicies) -> None:
    messages = [labelled("request", {"language": "en"}), HumanMessage("Hello")]
    tools = frozenset({"list_my_tasks", "get_task", "reply_to_user"})
    assert (await policies.next_step("manta.task_guidance", messages, tools)).call == (
        "reply_to_user"
    )
    step = await policies.next_step("manta.task_guidance", messages, frozenset())
    assert step.text == phrase("offline_greeting", "en")


async def test_a_named_task_is_fetched(policies: OfflinePolicies) -> None:
    call = {"id": "c", "name": "list_my_tasks", "args": {}}
    messages: list[BaseMessage] = [
        labelled("request", {"language": "en"}),
        HumanMessage("Is T-3 done yet?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(json.dumps({"tasks": TASKS}), tool_call_id="c", name="list_my_tasks"),
    ]
    step = await policies.next_step("manta.task_guidance", messages, frozenset({"get_task"}))
    assert (step.call, step.arguments) == ("get_task", {"task_id": "T-3"})
