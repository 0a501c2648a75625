"""Conversations of the past: the list, one of them opened, renamed, downloaded, deleted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser
NAME = "a/b ü?"


def said(text: str, **reply: Any) -> dict[str, Any]:
    return {"role": "assistant", "text": text, **reply}


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "text": text, **more}


def test_the_list_comes_in_pages_the_newest_first(page_server: Any, open_page: Any) -> None:
    for number in range(23):
        page_server.records.keep(f"c{number}", asked(f"Question {number}"))
    page_server.records.conversations["c22"]["updated"] = int(time.time())
    page = open_page(page_server.url)
    titles = page.locator(".past-title")
    page.get_by_text("Question 22", exact=True).wait_for()
    assert titles.all_inner_texts() == [f"Question {number}" for number in range(22, 2, -1)]
    assert page.locator(".past-day:visible").all_inner_texts() == ["Today", "Earlier"]
    page.get_by_role("button", name="Load more").click()
    page.get_by_text("Question 0", exact=True).wait_for()
    assert titles.count() == 23
    assert not page.get_by_role("button", name="Load more").is_visible()


def test_a_conversation_is_opened_with_its_sources_its_pause_and_its_documents(
    page_server: Any, open_page: Any, scripted: Any
) -> None:
    question = {"id": "q1", "text": "Which team?"}
    page_server.records.keep(
        NAME,
        asked("How do I claim?"),
        said(
            "Use the form [1].",
            run_id="r1",
            status="answered",
            agent="knowledge",
            citations=[scripted.DOCUMENT],
        ),
        asked("And abroad?"),
        said("I found nothing.", run_id="r2", status="miss", agent="career_chat"),
        asked("Help me"),
        said("Who?", interaction="i0"),
        asked("The team lead", interaction="i0"),
        said("Since when?", interaction="i0b"),
        asked("Something else"),
        pause=scripted.interrupt(question),
        documents=[{"id": "d1", "name": "rates.pdf", "bytes": 46_000, "characters": 9}],
    )
    page_server.script(*scripted.ended("replied", "Then ask Jory."))
    page = open_page(page_server.url)
    page.locator(".past-open").click()
    page.get_by_text("Use the form").wait_for()
    assert page.locator(".question").all_inner_texts() == [
        "How do I claim?",
        "And abroad?",
        "Help me",
        "Something else",
    ]
    assert page.locator(".turn").nth(1).locator(".banner.miss").count() == 1
    exchanges = page.locator(".turn").nth(2).locator(".exchange")
    assert exchanges.locator("dd").all_inner_texts() == ["The team lead", "Left unanswered"]
    assert page.locator(".chip-name").all_inner_texts() == ["rates.pdf"]
    page.locator("button.source-way:not(.reference)").click()
    page.get_by_role("dialog", name="Travel rates").locator("mark").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Which team?").fill("Payroll")
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Then ask Jory.").wait_for()
    assert page_server.runs[0].body["threadId"] == NAME
    assert page.locator(".past-open[aria-current=true]").count() == 1


def test_after_a_reload_the_conversation_is_still_there(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "One."))
    page_server.script(*scripted.ended("replied", "Two."))
    page = open_page(page_server.url)
    ask(page, "one")
    page.get_by_text("One.").wait_for()
    run = page_server.runs[0].body
    page_server.records.keep(
        run["threadId"], asked("one"), said("One.", run_id=run["runId"], status="replied")
    )
    page.reload()
    page.get_by_text("One.").wait_for()
    assert not page.locator("#welcome").is_visible()
    ask(page, "two")
    page.get_by_text("Two.").wait_for()
    assert page_server.runs[1].body["threadId"] == run["threadId"]
    assert page.locator(".question").all_inner_texts() == ["one", "two"]


def test_a_tab_whose_conversation_is_gone_begins_anew(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "One."))
    page_server.script(*scripted.ended("replied", "Two."))
    page = open_page(page_server.url)
    ask(page, "one")
    page.get_by_text("One.").wait_for()
    page.reload()
    page.locator("#loading").wait_for(state="hidden")
    page.get_by_role("heading", name="What would you like to know?").wait_for()
    assert page.locator(".banner").count() == 0
    ask(page, "two")
    page.get_by_text("Two.").wait_for()
    assert page_server.runs[0].body["threadId"] != page_server.runs[1].body["threadId"]
    assert page.locator(".banner").count() == 0


def test_rename_download_and_delete(page_server: Any, open_page: Any) -> None:
    page_server.records.keep("other", asked("Another"))
    page_server.records.keep(NAME, asked("Old name"), said("Yes.", run_id="r", status="replied"))
    page = open_page(page_server.url)
    page.get_by_role("button", name="Old name", exact=False).first.click()
    page.get_by_text("Yes.").wait_for()
    actions = page.get_by_role("button", name="What to do with “Old name”")
    actions.click()
    assert actions.get_attribute("aria-expanded") == "true"
    page.get_by_role("button", name="Rename").click()
    box = page.get_by_role("textbox", name="New title")
    assert box.input_value() == "Old name"
    page_server.records.refuse_next("PATCH", "/v1/conversations/", 400, "title: is too long")
    box.fill("New name")
    page.keyboard.press("Enter")
    page.get_by_text("title: is too long").wait_for()
    page.keyboard.press("Enter")
    actions = page.get_by_role("button", name="What to do with “New name”")
    actions.wait_for()
    assert page_server.records.conversations[NAME]["title"] == "New name"
    assert actions.evaluate("one => one === document.activeElement")

    actions.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "New name.json"
    kept = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert kept["id"] == NAME and len(kept["messages"]) == 2

    delete = page.get_by_role("button", name="Delete", exact=True)
    question = page.get_by_role("alertdialog", name="Delete this conversation?")
    delete.click()
    assert "New name" in question.inner_text()
    page.keyboard.press("Escape")
    question.wait_for(state="hidden")
    page_server.records.refuse_next("DELETE", "/v1/conversations/", 409, "A turn still runs.")
    delete.click()
    question.get_by_role("button", name="Delete for good").click()
    page.get_by_text("A turn still runs.").wait_for()
    assert NAME in page_server.records.conversations
    delete.click()
    question.get_by_role("button", name="Delete for good").click()
    page.get_by_role("heading", name="What would you like to know?").wait_for()
    assert list(page_server.records.conversations) == ["other"]
    assert page.locator(".past-title").all_inner_texts() == ["Another"]


def test_a_conversation_that_was_deleted_elsewhere_says_so(
    page_server: Any, open_page: Any
) -> None:
    page_server.records.keep("c", asked("Here"))
    page_server.records.keep("d", asked("There"))
    page = open_page(page_server.url)
    page.get_by_text("There", exact=True).wait_for()
    del page_server.records.conversations["c"]
    page.get_by_text("Here", exact=True).click()
    page.locator(".banner").get_by_text("the conversation does not exist").wait_for()
    page.get_by_text("Here", exact=True).wait_for(state="detached")
    page_server.records.refuse_next("GET", "/v1/conversations/d", 503, "Not now.")
    page.get_by_text("There", exact=True).click()
    page.locator(".banner").get_by_text("Not now.").wait_for()
    page.locator(".banner").get_by_role("button", name="Try again").click()
    page.locator(".question").get_by_text("There").wait_for()
    assert page.locator(".banner").count() == 0


def test_a_list_that_does_not_come_says_why(page_server: Any, open_page: Any) -> None:
    page_server.records.keep("c", asked("Here"))
    page_server.records.refuse_next("GET", "/v1/conversations", 403, "history is not allowed")
    page = open_page(page_server.url)
    page.get_by_text("history is not allowed").wait_for()
    page.locator("#history-retry").click()
    page.get_by_text("Here", exact=True).wait_for()
    assert not page.locator("#history-status").is_visible()


def test_the_list_is_a_drawer_on_a_phone(page_server: Any, open_page: Any) -> None:
    page_server.records.keep("c", asked("Here"), said("There.", run_id="r", status="replied"))
    page = open_page(
        page_server.url, viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True
    )
    toggle = page.get_by_role("button", name="List of conversations")
    assert toggle.get_attribute("aria-expanded") == "false"
    assert not page.locator("#history").is_visible()
    toggle.click()
    drawer = page.get_by_role("dialog", name="Conversations")
    drawer.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= 360")
    page.keyboard.press("Escape")
    drawer.wait_for(state="hidden")
    assert toggle.evaluate("one => one === document.activeElement")
    toggle.click()
    page.locator(".past-open").click()
    page.get_by_text("There.").wait_for()
    drawer.wait_for(state="hidden")


def test_the_column_can_be_hidden_and_stays_so(page_server: Any, open_page: Any) -> None:
    page = open_page(page_server.url)
    toggle = page.get_by_role("button", name="List of conversations")
    nav = page.get_by_role("navigation", name="Conversations")
    nav.wait_for()
    assert toggle.get_attribute("aria-expanded") == "true"
    toggle.click()
    nav.wait_for(state="hidden")
    page.reload()
    toggle.wait_for()
    assert not nav.is_visible() and toggle.get_attribute("aria-expanded") == "false"
