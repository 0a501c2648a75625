"""The research policy over tool results as the researcher gives them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from providers.embedding import LocalEmbedder
from providers.labelled_data import labelled
from providers.offline_delivery import delivery_of
from providers.offline_research import ResearchPolicy

TOOLS = frozenset({"search_knowledge", "read_knowledge_page", "StructuredAnswer"})
PARKING = "Parking\n\nA parking space costs 12 euros a month and is paid with the salary."


@pytest.fixture(scope="module")
def policy() -> ResearchPolicy:
    return ResearchPolicy(LocalEmbedder())


def page(page_id: str, source_id: str, text: str, title: str, **more: Any) -> dict[str, Any]:
    whole = {
        "page_id": page_id, "source_id": source_id, "source": 1, "title": title, "text": text,
        "offset": 0, "next_offset": None, "headings": [], "links": [], "language": "en",
    }  # fmt: skip
    return whole | more


def link(page_id: str, label: str, context: str) -> dict[str, Any]:
    path = f"/en/{label.lower().replace(' ', '-')}.html"
    return {"page_id": page_id, "label": label, "path": path, "context": context}


ENTRY = page(
    "e1", "w1", "Handbook\n\n- Parking: what a parking space costs a month.\n- Lunch: the menu.",
    "Handbook",
    links=[
        link("p1", "Lunch", "- Lunch: the menu."),
        link("p2", "Parking", "- Parking: what a parking space costs a month."),
    ],
)  # fmt: skip


def budget(remaining: int = 5, reads: int = 4, source: int = 2) -> dict[str, Any]:
    per_source = [{"source": 1, "used": 1, "remaining": source}]
    return {"used": 1, "remaining": remaining, "per_source": per_source, "remaining_reads": reads}


def asked(question: str, *results: tuple[str, dict[str, Any], dict[str, Any]]) -> list[BaseMessage]:
    messages: list[BaseMessage] = [labelled("request", {"language": "en"}), HumanMessage(question)]
    for number, (name, arguments, result) in enumerate(results):
        call = {"id": f"c{number}", "name": name, "args": arguments}
        messages += [
            AIMessage("", tool_calls=[call]),
            ToolMessage(json.dumps(result), tool_call_id=f"c{number}", name=name),
        ]
    return messages


def searched(
    pages: list[dict[str, Any]], **more: Any
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    result = {
        "documents": {"status": "empty", "passages": []},
        "pages": pages,
        "failed_sources": [],
        "web_budget": budget(),
    }
    return "search_knowledge", {"query": "q"}, result | more


def read(page_id: str, result: dict[str, Any], **more: Any) -> Any:
    answer = {"page": result, "web_budget": budget()} | more
    return "read_knowledge_page", {"page_id": page_id}, answer


async def test_it_searches_first(policy: ResearchPolicy) -> None:
    name, arguments = await policy.next_call(asked("What does parking cost?"), TOOLS)
    assert name == "search_knowledge"
    assert arguments["query"] == "What does parking cost?"


async def test_it_reads_the_link_that_promises_most(policy: ResearchPolicy) -> None:
    messages = asked("What does a parking space cost?", searched([ENTRY]))
    name, arguments = await policy.next_call(messages, TOOLS)
    assert (name, arguments["page_id"]) == ("read_knowledge_page", "p2")


async def test_link_lines_are_never_quoted(policy: ResearchPolicy) -> None:
    messages = asked("What does a parking space cost?", searched([ENTRY]))
    name, arguments = await policy.next_call(messages, frozenset({"StructuredAnswer"}))
    assert (name, arguments["status"]) == ("StructuredAnswer", "unanswerable")


async def test_the_quote_is_verbatim_and_of_its_source(policy: ResearchPolicy) -> None:
    parking = page("p2", "w2", PARKING, "Parking")
    messages = asked("What does a parking space cost?", searched([ENTRY]), read("p2", parking))
    _, arguments = await policy.next_call(messages, frozenset({"StructuredAnswer"}))
    assert arguments["status"] == "answered"
    [citation] = arguments["citations"]
    assert citation["source_id"] == "w2"
    assert citation["quote"] in PARKING
    assert citation["quote"] in arguments["answer"]


async def test_an_absent_answer_is_a_miss(policy: ResearchPolicy) -> None:
    parking = page("p2", "w2", PARKING, "Parking")
    messages = asked("Who designed the logo of the firm?", searched([ENTRY]), read("p2", parking))
    _, arguments = await policy.next_call(messages, frozenset({"StructuredAnswer"}))
    assert arguments == {"status": "unanswerable", "answer": "", "citations": []}


async def test_nothing_delivered_after_failures_is_unavailable(policy: ResearchPolicy) -> None:
    failed = searched([], failed_sources=[{"source": 1, "code": "timeout"}])
    _, arguments = await policy.next_call(asked("What does parking cost?", failed), TOOLS)
    assert arguments["status"] == "unavailable"


async def test_a_section_beyond_the_window_is_read(policy: ResearchPolicy) -> None:
    headings = [
        {"section_id": "s1", "title": "Gates", "level": 2},
        {"section_id": "s2", "title": "Strong wind and cranes", "level": 2},
        {"section_id": "s3", "title": "Visitors", "level": 2},
    ]
    long = page("p1", "w2", "Gates\n\nShow your badge at every gate.", "Quay rules",
                headings=headings, next_offset=6000)  # fmt: skip
    entry = page("e1", "w1", "Handbook", "Handbook", links=[link("p1", "Quay rules", "")])
    question = "At which wind do cranes have to stop?"
    messages = asked(question, searched([entry]), read("p1", long))
    name, arguments = await policy.next_call(messages, TOOLS)
    assert name == "read_knowledge_page"
    assert (arguments["page_id"], arguments["section_id"]) == ("p1", "s2")


def test_links_of_an_exhausted_source_are_not_offered() -> None:
    spent = searched([ENTRY], web_budget=budget(source=0))
    assert delivery_of(asked("q", spent)).unread_links() == []
    assert len(delivery_of(asked("q", searched([ENTRY]))).unread_links()) == 2


def test_a_refused_read_is_not_tried_again() -> None:
    refused = ("read_knowledge_page", {"page_id": "p2"}, {"error": "deadline"})
    state = delivery_of(asked("q", searched([ENTRY]), refused))
    assert "p2" in state.read
    assert state.reads_left == 0
