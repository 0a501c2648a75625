"""A turn that needs an answer: its form, what is answered, and what is left unanswered."""

from __future__ import annotations

import threading
from typing import Any

import pytest

pytestmark = pytest.mark.browser
PERSON = {
    "id": "person",
    "text": "Which person do you mean?",
    "options": [
        {"value": "P-1", "label": "Marie, Brest"},
        {"value": "P-2", "label": "Marie, Kiel"},
    ],
}
SINCE = {"id": "since", "text": "Since when?"}
FOCUSED = "document.activeElement.closest('.pause-form') !== null"


@pytest.fixture
def paused(page_server: Any, open_page: Any, scripted: Any, ask: Any) -> Any:
    """A page with an open pause of two questions."""
    page_server.script(scripted.step("person_disambiguation"), *scripted.paused(PERSON, SINCE))
    page = open_page(page_server.url)
    ask(page, "Who is Marie?")
    page.get_by_role("form", name="Manta needs to know").wait_for()
    return page


def resumed(page_server: Any) -> dict[str, Any]:
    body = page_server.runs[-1].body
    assert body["messages"] == [] and body["threadId"] == page_server.runs[0].body["threadId"]
    (answer,) = body["resume"]
    found: dict[str, Any] = answer
    return found


def test_questions_are_answered_with_the_keyboard_in_the_same_turn(
    page_server: Any, paused: Any, scripted: Any
) -> None:
    more = threading.Event()
    page_server.script(
        scripted.delta("It is "), more, *scripted.ended("replied", "It is Marie.")[3:]
    )
    page = paused
    assert page_server.runs[0].body["protocolVersion"] == "1.0"
    assert page.evaluate(FOCUSED), "the focus moves to the questions"
    form = page.get_by_role("form")
    assert form.locator("legend, .ask > label").all_inner_texts() == [
        "Which person do you mean?",
        "Since when?",
    ]
    page.keyboard.press("Enter")
    form.get_by_role("alert").get_by_text("Please answer every question.").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("Since May")
    page.keyboard.press("Enter")
    page.get_by_text("It is", exact=True).wait_for()
    assert page.get_by_role("form", name="Manta needs to know").count() == 0
    assert page.locator(".exchange dt").all_inner_texts() == [PERSON["text"], SINCE["text"]]
    assert page.locator(".exchange dd").all_inner_texts() == ["Marie, Kiel", "Since May"]
    more.set()
    page.locator("#send").wait_for()
    assert page.locator(".text").inner_text() == "It is Marie."
    assert page.locator(".turn").count() == 1
    assert page.evaluate("document.activeElement.id") == "message"
    answers = {"person": "P-2", "since": "Since May"}
    assert resumed(page_server) == {"interruptId": "i1", "status": "resolved", "payload": answers}


def test_one_pause_may_follow_another(page_server: Any, paused: Any, scripted: Any) -> None:
    page_server.script(*scripted.paused(SINCE, interrupt="i2"))
    page_server.script(*scripted.ended("replied", "Done."))
    page = paused
    answer(page)
    page.locator(".pause-form legend").wait_for(state="detached")
    page.get_by_role("textbox", name="Since when?").fill("Always")
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Done.").wait_for()
    assert resumed(page_server)["interruptId"] == "i2"
    assert page.locator(".exchange dd").all_inner_texts() == ["Marie, Brest", "May", "Always"]


def answer(page: Any) -> None:
    page.get_by_label("Marie, Brest").check()
    page.get_by_role("textbox", name="Since when?").fill("May")
    page.get_by_role("button", name="Answer").click()


def test_what_is_left_is_seen_to_be_left(page_server: Any, paused: Any, scripted: Any) -> None:
    cancelled = {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}
    reply = scripted.ended("abandoned", "", agent="")[3]
    left = {"type": "CUSTOM", "name": "manta.pause_abandoned", "value": {"interactionId": "i1"}}
    page_server.script(left, reply, cancelled)
    page = paused
    page.get_by_role("button", name="Leave it").click()
    page.get_by_text("Left unanswered").first.wait_for()
    page.locator("#send").wait_for()
    assert page.locator(".pause-form, .banner, .feedback").count() == 0
    assert resumed(page_server) == {"interruptId": "i1", "status": "cancelled"}


@pytest.mark.parametrize("how", ["refused", "failed", "boundary", "stopped"])
def test_an_answer_that_did_not_get_through_leaves_the_form_open(
    page_server: Any, paused: Any, scripted: Any, how: str
) -> None:
    words = f"This was {how}."
    if how == "refused":
        page_server.refuse(400, words)
    elif how == "failed":
        page_server.script(scripted.delta("Half"), {"type": "RUN_ERROR", "message": words})
    elif how == "boundary":
        page_server.script(*scripted.ended("boundary", words, agent="guardrail"))
    else:
        page_server.script(scripted.step("gate"), threading.Event())
    page_server.script(*scripted.ended("replied", "Now it is known."))
    page = paused
    answer(page)
    if how == "stopped":
        page.get_by_role("button", name="Stop").click()
        page.locator("#send").wait_for()
        assert page.locator(".pause-form .complaint").is_hidden()
    else:
        page.locator(".pause-form").get_by_text(words).wait_for()
    assert page.locator(".answer > *").count() == 0
    assert page.get_by_label("Marie, Brest").is_checked()
    assert page.get_by_role("textbox", name="Since when?").input_value() == "May"
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Now it is known.").wait_for()
    assert page.locator(".pause-form").count() == 0


def test_a_new_message_leaves_the_questions_visibly(
    page_server: Any, paused: Any, scripted: Any, ask: Any
) -> None:
    left = {"type": "CUSTOM", "name": "manta.pause_abandoned", "value": {"interactionId": "i1"}}
    page_server.script(left, {"type": "RUN_ERROR", "message": "Not now."})
    page_server.script(left, *scripted.ended("replied", "Something else."))
    page = paused
    page.get_by_text("Your next message leaves the questions above unanswered.").wait_for()
    ask(page, "Never mind")
    # A turn that failed has closed nothing.
    page.get_by_text("Not now.").wait_for()
    assert page.locator(".pause-form").count() == 1
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Something else.").wait_for()
    first = page.locator(".turn").first
    assert first.get_by_text("Left unanswered").count() == 2
    assert page.locator(".pause-form").count() == 0
    assert not page.locator("#hint-paused").is_visible()
    assert [run.text for run in page_server.runs] == ["Who is Marie?"] + ["Never mind"] * 2


def test_questions_do_not_interrupt_who_is_writing(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    go = threading.Event()
    page_server.script(go, *scripted.paused(SINCE))
    page = open_page(page_server.url)
    ask(page, "Help")
    page.get_by_label("Your message").fill("I am just writ")
    go.set()
    page.locator(".pause-form").wait_for()
    assert page.evaluate("document.activeElement.id") == "message"


def test_hostile_questions_stay_text(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    evil = "<img src=x onerror=\"document.title='owned'\">"
    question = {"id": evil, "text": evil, "options": [{"value": evil, "label": evil}]}
    page_server.script(*scripted.paused(question))
    page_server.script(*scripted.ended("replied", "Fine."))
    page = open_page(page_server.url)
    ask(page)
    page.get_by_role("radio").check()
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Fine.").wait_for()
    assert resumed(page_server)["payload"] == {evil: evil}
    assert page.locator(".exchange dd").inner_text() == evil
    assert page.locator("body img").count() == 0 and page.title() != "owned"
