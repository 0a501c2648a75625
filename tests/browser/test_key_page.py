"""A deployment that asks who its people are: the key, its refusal, another person, signing out."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def guarded(page_server: Any, open_page: Any) -> Any:
    page_server.keys = {"manta_ana": "ana", "manta_ana_2": "ana", "manta_louis": "louis"}
    page_server.records.keep("c", {"role": "user", "text": "Ana's question"})
    page = open_page(page_server.url)
    page.get_by_role("dialog", name="Your key, please").wait_for()
    return page


def enter(page: Any, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")


def test_nothing_is_asked_for_before_there_is_a_key(
    page_server: Any, guarded: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "Welcome."))
    page = guarded
    assert page.evaluate("document.activeElement.id") == "key"
    assert page.get_by_label("API key").get_attribute("type") == "password"
    assert [path for _, path, _ in page_server.requests] == ["/page-config"]
    for _ in range(2):
        page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Your key, please").wait_for()
    enter(page, "no key: ü")
    page.get_by_text("This cannot be a key").wait_for()
    enter(page, "manta_wrong")
    page.get_by_text("the API key is not valid").wait_for()
    enter(page, "manta_ana")
    page.get_by_text("Ana's question").wait_for()
    assert not page.locator("#credentials").is_visible()
    assert page.locator("#person").inner_text() == "ana"
    ask(page)
    page.get_by_text("Welcome.").wait_for()
    assert page_server.runs[0].tenant is None, "the key names the organisation"
    served = [bearer for _, path, bearer in page_server.requests if path.startswith("/v1/")]
    assert set(served) == {"Bearer manta_ana"}
    kept = page.evaluate("JSON.stringify([Object.keys(localStorage), document.cookie])")
    assert kept == '[[],""]', "a key lives in the tab only"
    page.reload()
    page.get_by_text("Ana's question").wait_for()
    assert not page.locator("#credentials").is_visible()


def test_a_key_that_expires_is_asked_for_again_and_the_question_goes_on(
    page_server: Any, guarded: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "Still you."))
    page = guarded
    enter(page, "manta_ana")
    page.get_by_text("Ana's question").wait_for()
    del page_server.keys["manta_ana"]
    ask(page, "And now?")
    dialog = page.get_by_role("dialog", name="Your key, please")
    dialog.get_by_text("the API key is not valid").wait_for()
    enter(page, "manta_ana_2")
    page.get_by_text("Still you.").wait_for()
    assert page_server.runs[0].text == "And now?"
    assert not dialog.is_visible()


def test_another_person_sees_nothing_of_the_former_one(
    page_server: Any, guarded: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "For Ana."))
    page = guarded
    enter(page, "manta_ana")
    page.get_by_text("Ana's question").wait_for()
    ask(page, "Mine")
    page.get_by_text("For Ana.").wait_for()
    page_server.records.conversations.clear()
    del page_server.keys["manta_ana"]
    ask(page, "Still mine?")
    enter(page, "manta_louis")
    page.locator("#person").get_by_text("louis").wait_for()
    page.get_by_role("heading", name="What would you like to know?").wait_for()
    page.get_by_text("Your conversations will be listed here.").wait_for()
    assert page.locator(".turn, .past").count() == 0
    assert len(page_server.runs) == 1, "nobody's question is asked in another name"


def test_signing_out_forgets_the_key_and_the_conversation(
    page_server: Any, guarded: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "For Ana."))
    page = guarded
    enter(page, "manta_ana")
    page.get_by_text("Ana's question").wait_for()
    ask(page, "Mine")
    page.get_by_text("For Ana.").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("dialog", name="Your key, please").wait_for()
    assert page.locator(".turn, .past").count() == 0
    assert "manta_ana" not in page.evaluate("JSON.stringify({...sessionStorage})")
    assert "thread" not in page.evaluate("JSON.stringify({...sessionStorage})")
