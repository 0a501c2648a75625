"""A run that survives: a broken connection, a reload, and an explicit stop."""

from __future__ import annotations

import threading
from typing import Any

import pytest

pytestmark = pytest.mark.browser


def test_a_broken_connection_is_continued_without_a_repeat(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    """Each time from the last event on."""
    go = threading.Event()
    end = [{"type": "RUN_FINISHED", "outcome": {"type": "success"}}]
    page_server.script(
        scripted.delta("One, "),
        0.2,
        page_server.CUT,
        scripted.delta("two, "),
        0.2,
        page_server.END,
        go,
        scripted.delta("three."),
        *end,
    )
    page = open_page(page_server.url)
    ask(page, "Count")
    page.get_by_text("One, two,").wait_for()
    while page_server.continued != [2, 3]:
        page.wait_for_timeout(20)
    page.locator("#now").get_by_text("Reconnecting").wait_for(state="detached")
    go.set()
    page.locator("#send").wait_for()
    assert page.locator(".text").inner_text() == "One, two, three."
    assert page.locator(".banner").count() == 0 and len(page_server.runs) == 1


def test_a_lost_connection_is_said_quietly(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(
        scripted.delta("One, "),
        0.1,
        page_server.CUT,
        *scripted.ended("replied", "One, two.")[3:],
    )
    page = open_page(page_server.url)
    page.context.route("**/v1/runs/*", lambda route: route.abort())
    ask(page, "Count")
    page.locator("#now").get_by_text("The connection was lost. Reconnecting …").wait_for()
    page.get_by_text("One,").wait_for()
    assert page.locator(".banner").count() == 0
    page.context.unroute("**/v1/runs/*")
    page.get_by_text("One, two.").wait_for()
    assert page.locator("#now").inner_text() == ""


def test_a_reload_goes_on_with_the_run(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    more = threading.Event()
    page_server.script(
        scripted.delta("Half, "), more, scripted.delta("whole."), *scripted.ended("replied", "")[3:]
    )
    page = open_page(page_server.url)
    ask(page, "Count")
    page.get_by_text("Half,").wait_for()
    page.reload()
    page.get_by_text("Half,").wait_for()
    assert page.locator(".question").all_inner_texts() == ["Count"]
    page.locator("#stop").wait_for()
    more.set()
    page.locator("#send").wait_for()
    assert page.locator(".text").inner_text() == "Half, whole."
    assert page_server.continued == [0] and len(page_server.runs) == 1


def test_a_reload_before_the_answer_began_goes_on_with_the_run(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    more = threading.Event()
    page_server.script(more, *scripted.ended("replied", "Here it is."))
    page = open_page(page_server.url)
    page_server.records.keep("old", {"role": "user", "text": "old"})
    ask(page, "Count")
    page.locator("#stop").wait_for()
    while not page_server.runs:
        page.wait_for_timeout(10)
    page.reload()
    page.locator("#stop").wait_for()
    more.set()
    page.get_by_text("Here it is.").wait_for()
    assert page.locator(".question").all_inner_texts() == ["Count"]


def test_a_run_that_ended_meanwhile_is_shown_once(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(threading.Event())
    page = open_page(page_server.url)
    ask(page, "Count")
    page.locator("#stop").wait_for()
    while not page_server.runs:
        page.wait_for_timeout(10)
    run = page_server.runs[0].body
    reply = {"role": "assistant", "text": "Whole.", "run_id": run["runId"], "status": "replied"}
    page_server.records.keep(run["threadId"], {"role": "user", "text": "Count"}, reply)
    page.reload()
    page.get_by_text("Whole.").wait_for()
    assert page.locator(".turn").count() == 1
    assert page.locator("#send").is_visible() and page_server.continued == []


@pytest.mark.parametrize("paused_meanwhile", [False, True])
def test_a_reload_while_an_answer_is_worked_on(
    page_server: Any, open_page: Any, scripted: Any, ask: Any, paused_meanwhile: bool
) -> None:
    more = threading.Event()
    question = {"id": "q", "text": "Since when?"}
    page_server.script(*scripted.paused(question))
    page_server.script(scripted.step("gate"), more, *scripted.ended("replied", "Then so be it."))
    page = open_page(page_server.url)
    ask(page, "Help me")
    page.get_by_role("textbox", name="Since when?").fill("May")
    page.get_by_role("button", name="Answer").click()
    page.locator(".exchange").wait_for()
    thread = page_server.runs[0].body["threadId"]
    other = {"id": "q", "text": "Until when?"}
    page_server.records.keep(
        thread,
        {"role": "user", "text": "Help me"},
        pause=scripted.interrupt(other, name="i2")
        if paused_meanwhile
        else scripted.interrupt(question),
    )
    page.reload()
    if paused_meanwhile:
        page.get_by_role("textbox", name="Until when?").wait_for()
        assert page_server.continued == []
        return
    page.locator(".exchange dd").get_by_text("May").wait_for()
    assert page.locator(".pause-form").count() == 0
    more.set()
    page.get_by_text("Then so be it.").wait_for()
    assert page.locator(".turn").count() == 1


def test_a_message_that_got_through_unnoticed_is_not_sent_twice(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "Once."))
    page = open_page(page_server.url)
    tries: list[Any] = []

    def swallow(route: Any) -> None:
        # The first request reaches the server, and its answer gets lost.
        tries.append(route.fetch() if not tries else None)
        route.abort() if len(tries) == 1 else route.continue_()

    page.context.route("**/v1/runs", swallow)
    ask(page, "Count")
    page.locator(".banner.error").wait_for()
    page_server.runs[0].rest.extend(scripted.ended("replied", "Once.")[-1:])
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Once.").wait_for()
    assert len(page_server.runs) == 1 and len(tries) == 2


def test_a_stop_before_the_run_began_stops_it_when_it_begins(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(scripted.step("gate"), threading.Event())
    page = open_page(page_server.url)
    held: list[Any] = []
    page.context.route("**/v1/runs", lambda route: held.append(route))
    ask(page, "Count")
    page.get_by_role("button", name="Stop").click()
    page.locator("#now").get_by_text("Stopping").wait_for()
    assert page.get_by_role("button", name="Stop").is_disabled()
    held[0].continue_()
    page.get_by_text("Stopped", exact=True).wait_for()
    assert [path for _, path, _ in page_server.requests if path.endswith("/stop")]


def test_a_stop_that_cannot_be_told_ends_the_reading(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(scripted.step("gate"), threading.Event())
    page = open_page(page_server.url)
    page.context.route("**/stop", lambda route: route.abort())
    ask(page, "Count")
    page.locator("#now").get_by_text("Checking the request").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped", exact=True).wait_for()
    assert page_server.runs[0].gone.wait(3)
