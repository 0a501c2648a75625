"""What is remembered about the person, and what the person thinks of a reply."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser
FACTS = [
    {"text": "I work part-time.", "language": "en", "since": "2026-03-01"},
    {"text": "Je préfère le matin.", "language": "fr", "since": "2026-04-02"},
]


@pytest.fixture
def remembered(page_server: Any, open_page: Any) -> Any:
    page_server.records.facts = [dict(fact) for fact in FACTS]
    page = open_page(page_server.url)
    page.get_by_role("button", name="What Manta remembers").click()
    page.get_by_role("dialog", name="What Manta remembers").wait_for()
    page.get_by_text("I work part-time.", exact=True).wait_for()
    return page


def test_facts_are_shown_corrected_added_and_deleted(page_server: Any, remembered: Any) -> None:
    page, records = remembered, page_server.records
    assert page.locator(".fact-text > p:first-child").all_inner_texts() == [
        "I work part-time.",
        "Je préfère le matin.",
    ]
    assert page.locator(".fact-since").first.inner_text() == "since 1 Mar 2026"
    page.get_by_role("button", name="Correct: I work part-time.").click()
    page.get_by_role("textbox", name="Correct: I work part-time.").fill("I work full-time.")
    # A turn has remembered something meanwhile, which must not get lost.
    learned = {"text": "I like boats.", "language": "en", "since": "2026-05-01"}
    records.facts.append(learned)
    page.get_by_role("button", name="Save").click()
    page.get_by_text("I work full-time.", exact=True).wait_for()
    corrected = {**FACTS[0], "text": "I work full-time."}
    assert records.facts == [corrected, FACTS[1], learned]

    page.get_by_label("Something to remember").fill("  I dive. ")
    page.keyboard.press("Enter")
    page.get_by_text("I dive.", exact=True).wait_for()
    assert records.facts[-1]["text"] == "I dive." and records.facts[-1]["language"] == "en"
    assert page.get_by_label("Something to remember").input_value() == ""

    page.get_by_role("button", name="Delete: Je préfère le matin.").click()
    page.get_by_text("Je préfère le matin.", exact=True).wait_for(state="detached")
    assert [fact["text"] for fact in records.facts] == [
        "I work full-time.",
        "I like boats.",
        "I dive.",
    ]


def test_everything_is_deleted_only_after_a_question(page_server: Any, remembered: Any) -> None:
    page = remembered
    page.get_by_role("button", name="Delete all").click()
    question = page.get_by_role("alertdialog", name="Delete everything?")
    question.get_by_role("button", name="Cancel").click()
    assert len(page_server.records.facts) == 2
    page.get_by_role("button", name="Delete all").click()
    question.get_by_role("button", name="Delete all for good").click()
    page.get_by_text("Nothing is remembered about you.").wait_for()
    assert page_server.records.facts == []
    assert not page.get_by_role("button", name="Delete all").is_visible()


def test_a_refused_fact_stays_in_its_field(page_server: Any, remembered: Any) -> None:
    page = remembered
    page_server.records.refuse_next("PUT", "/v1/preferences", 400, "facts.2.text: is too long")
    page.get_by_label("Something to remember").fill("x" * 600)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("facts.2.text: is too long").wait_for()
    assert page.get_by_label("Something to remember").input_value() == "x" * 600
    page.get_by_role("button", name="Correct: I work part-time.").click()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog", name="What Manta remembers").is_visible()
    page.get_by_text("I work part-time.", exact=True).wait_for()


def test_a_reply_is_rated_with_or_without_words(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("answered", "In the guide [2].", scripted.WEB))
    page = open_page(page_server.url)
    ask(page)
    down = page.get_by_role("button", name="Not helpful")
    page_server.records.refuse_next("POST", "/v1/feedback", 400, "conversation: has 500 ratings")
    down.click()
    page.get_by_text("conversation: has 500 ratings").wait_for()
    assert down.get_attribute("aria-pressed") == "false"
    down.click()
    page.get_by_text("Thank you for telling us.").wait_for()
    assert down.get_attribute("aria-pressed") == "true"
    run = page_server.runs[0].body
    given = {"conversation": run["threadId"], "run_id": run["runId"], "rating": "down"}
    assert page_server.records.ratings == [given]
    page.get_by_label("What was wrong or missing?").fill("The deadline")
    page.locator(".feedback").get_by_role("button", name="Send").click()
    page.get_by_label("What was wrong or missing?").wait_for(state="detached")
    assert page_server.records.ratings[1] == {**given, "comment": "The deadline"}
    page.get_by_role("button", name="Helpful", exact=True).click()
    page.get_by_label("What was helpful?").wait_for()
    assert page_server.records.ratings[2] == {**given, "rating": "up"}
    assert down.get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("status", ["failed", "stopped"])
def test_what_is_no_reply_is_not_rated(
    page_server: Any, open_page: Any, scripted: Any, ask: Any, status: str
) -> None:
    end = (
        {"type": "RUN_ERROR", "message": "No."}
        if status == "failed"
        else {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}
    )
    page_server.script(scripted.delta("Half"), end)
    page = open_page(page_server.url)
    ask(page)
    page.locator(".banner").wait_for()
    assert page.locator(".feedback").count() == 0
