"""What a person asks on the chat page, and what comes of it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

pytestmark = pytest.mark.browser


def test_an_answer_shows_its_text_its_numbers_and_its_sources(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(
        *scripted.ended("answered", scripted.ANSWER, scripted.DOCUMENT, scripted.WEB)
    )
    page = open_page(page_server.url)
    page.get_by_role("heading", name="What would you like to know?").wait_for()
    ask(page)
    sources = page.locator(".sources")
    sources.wait_for()
    assert page.locator(".question").inner_text() == scripted.QUESTION
    assert not page.locator("#welcome").is_visible()
    assert page.locator(".text strong").inner_text() == "EX-2"
    assert page.locator(".text code").inner_text() == "Ledgerline"
    assert page.locator(".text li").all_inner_texts() == [
        "Photograph each receipt",
        "Pick the cost centre",
    ]
    assert page.locator(".text blockquote sup").inner_text() == "2"
    assert sources.locator("li.source").count() == 2
    place = sources.locator(".place").first.locator("> *")
    assert place.all_inner_texts() == ["Meals on the way", "page 3"]
    run = page_server.runs[0]
    assert (run.text, run.tenant, run.locale) == (scripted.QUESTION, "tidewater", None)
    assert run.body["tools"] == [] and run.body["context"] == [] and run.body["state"] == {}
    assert page.get_by_label("Your message").input_value() == ""


def test_what_happens_now_is_shown_and_vanishes(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    gates = [threading.Event() for _ in range(4)]
    page_server.script(
        gates[0],
        scripted.step("gate"),
        scripted.activity("checking_request"),
        scripted.step("supervisor"),
        gates[1],
        scripted.step("knowledge"),
        scripted.activity("searching_documents"),
        scripted.comment("Looking for the travel guide"),
        gates[2],
        {"type": "SOMETHING_NEW", "value": 1},
        scripted.activity("a_code_of_tomorrow"),
        scripted.activity("comparing_sources"),
        gates[3],
        *scripted.ended("answered", "In the guide [2].", scripted.WEB),
    )
    page = open_page(page_server.url)
    status = page.locator("#now")
    ask(page)
    status.get_by_text("Sending your message").wait_for(timeout=1000)
    gates[0].set()
    status.get_by_text("Choosing who can help").wait_for(timeout=1000)
    assert page.locator("#trail").inner_text().count("Checking the request") == 1
    gates[1].set()
    status.get_by_text("Searching the documents").wait_for(timeout=1000)
    status.get_by_text("Looking for the travel guide").wait_for()
    gates[2].set()
    status.get_by_text("Comparing the sources").wait_for(timeout=1000)
    assert page.get_by_text("Looking for the travel guide").count() == 0
    assert page.locator("#log").get_attribute("aria-busy") == "true"
    gates[3].set()
    page.locator("#send").wait_for()
    assert status.inner_text() == ""
    assert page.locator("#trail li").count() == 0
    assert page.locator("#log").get_attribute("aria-busy") is None


def test_text_appears_while_it_is_written(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    more = threading.Event()
    page_server.script(
        scripted.delta("Let us begin with "),
        more,
        scripted.delta("what you like."),
        *scripted.ended("replied", "")[3:],
    )
    page = open_page(page_server.url)
    ask(page, "Help me think")
    page.locator(".text").get_by_text("Let us begin with").wait_for()
    page.locator("#stop").wait_for()
    more.set()
    page.locator("#send").wait_for()
    assert page.locator(".text").inner_text() == "Let us begin with what you like."
    assert page.locator(".banner").count() == 0


def test_stop_ends_the_run_and_the_same_question_can_be_asked_again(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(scripted.step("knowledge"), scripted.delta("Half an ans"), threading.Event())
    page_server.script(*scripted.ended("answered", "A whole answer [2].", scripted.WEB))
    page = open_page(page_server.url)
    ask(page)
    page.get_by_text("Half an ans").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped", exact=True).wait_for(timeout=1000)
    stops = [path for method, path, _ in page_server.requests if path.endswith("/stop")]
    assert stops == [f"/v1/runs/{page_server.runs[0].body['runId']}/stop"]
    assert page.locator("#now").inner_text() == ""
    assert page.evaluate("document.activeElement.id") == "message"
    page.get_by_role("button", name="Try again").click()
    page.locator(".sources").wait_for()
    first, second = (run.body for run in page_server.runs)
    assert first["threadId"] == second["threadId"] and first["runId"] != second["runId"]
    assert first["messages"] == second["messages"]
    assert page.locator(".turn").count() == 1
    assert page.get_by_text("Stopped", exact=True).count() == 0


def test_a_miss_is_plain_to_see_and_has_no_source(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(
        *scripted.ended("miss", "Which trip do you mean?", scripted.DOCUMENT, agent="career_chat")
    )
    page = open_page(page_server.url)
    ask(page)
    page.locator(".banner.miss").wait_for()
    page.get_by_text("I could not find this").wait_for()
    page.get_by_text("Which trip do you mean?").wait_for()
    assert page.locator(".sources, .source").count() == 0


def test_an_unavailable_search_is_no_miss_and_can_be_asked_again(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("unavailable", "I could not look it up."))
    page_server.script(*scripted.ended("answered", "Now it works [2].", scripted.WEB))
    page = open_page(page_server.url)
    ask(page)
    page.locator(".banner.unavailable").get_by_role("button", name="Try again").click()
    page.locator(".sources").wait_for()
    # That turn did end, so this is a second one and not a repetition of the first.
    assert page.locator(".turn").count() == 2
    first, second = (run.body["messages"][0] for run in page_server.runs)
    assert first["content"] == second["content"] and first["id"] != second["id"]


def test_a_boundary_reply_has_a_look_of_its_own(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("boundary", "I cannot help with that.", agent="guardrail"))
    page = open_page(page_server.url)
    ask(page)
    page.locator(".banner.boundary").wait_for()
    assert page.locator(".sources, .banner.miss, .again").count() == 0


def test_a_run_error_shows_its_message_and_a_retry(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(
        scripted.step("gate"),
        {"type": "RUN_ERROR", "message": "The check timed out.", "code": "timeout"},
    )
    page_server.script(*scripted.ended("replied", "Hello again."))
    page = open_page(page_server.url)
    ask(page)
    page.locator(".banner.error").get_by_text("The check timed out.").wait_for()
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Hello again.").wait_for()
    assert page.locator(".banner").count() == 0


def test_a_refused_request_shows_the_servers_message(
    page_server: Any, open_page: Any, ask: Any
) -> None:
    page_server.refuse(400, "messages[0].content: at most 16000 characters.")
    page_server.answer_plainly(502, "<h1>Bad gateway</h1>")
    page = open_page(page_server.url)
    ask(page)
    page.get_by_text("messages[0].content: at most 16000 characters.").wait_for()
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("HTTP 502").wait_for()


@pytest.mark.parametrize("how", ["CUT", "END"])
def test_a_broken_stream_is_an_error(
    page_server: Any, open_page: Any, how: str, scripted: Any, ask: Any
) -> None:
    # What arrives together with the break is lost to the page, so the break comes a little later.
    page_server.script(
        scripted.step("gate"), scripted.delta("Half"), 0.2, getattr(page_server, how)
    )
    page = open_page(page_server.url)
    ask(page)
    page.get_by_text("The connection was lost before the reply was complete.").wait_for()
    page.get_by_text("Half").wait_for()
    page.get_by_role("button", name="Try again").wait_for()


def test_an_unreachable_server_is_an_error(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page = open_page(page_server.url)
    page.context.set_offline(True)
    ask(page)
    page.locator(".banner").get_by_text("The server could not be reached.").wait_for()
    page.context.set_offline(False)
    page_server.script(*scripted.ended("replied", "Back."))
    page.locator(".banner").get_by_role("button", name="Try again").click()
    page.get_by_text("Back.").wait_for()


def test_a_new_conversation_leaves_the_old_one_to_its_run(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    more = threading.Event()
    page_server.script(*scripted.ended("replied", "One."))
    page_server.script(scripted.step("gate"), more, *scripted.ended("replied", "Two."))
    page_server.script(*scripted.ended("replied", "Three."))
    page = open_page(page_server.url)
    ask(page, "one")
    page.locator("#send").wait_for()
    ask(page, "two")
    page.locator("#now").get_by_text("Checking the request").wait_for()
    thread = page_server.runs[1].body["threadId"]
    page_server.records.keep(thread, {"role": "user", "text": "one"})
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("heading", name="What would you like to know?").wait_for()
    assert page.locator(".turn").count() == 0
    assert page.locator("#now").inner_text() == ""
    ask(page, "three")
    page.get_by_text("Three.").wait_for()
    threads = [run.body["threadId"] for run in page_server.runs]
    assert threads[0] == threads[1] != threads[2]
    # The old conversation is shown again with what is written there now.
    page.locator(".past.busy .past-open").click()
    page.locator("#now").get_by_text("Checking the request").wait_for()
    assert page.locator(".question").all_inner_texts() == ["one", "two"]
    more.set()
    page.get_by_text("Two.").wait_for()
    assert page.get_by_text("Three.").count() == 0
    assert page.locator(".past.busy").count() == 0


def test_a_stream_may_come_in_any_pieces(page_server: Any, open_page: Any) -> None:
    """Lines, characters and events are cut anywhere, with either kind of line end."""
    page = open_page(page_server.url)
    text = (
        'id: 7\r\ndata: {"type":"A","t":"é😀"}\r\n\r\n: note\r\nevent: x\n'
        'data: {"type":\ndata: "B"}\nid:8\n\n\ndata:{"type":"C"}\n\n'
    )
    got = page.evaluate(
        """async (text) => {
          const { sentEvents } = await import("/page/stream.js");
          const bytes = new TextEncoder().encode(text);
          const seen = [];
          for (const size of [1, 2, 3, 7, 1000]) {
            const body = new ReadableStream({
              start(control) {
                for (let at = 0; at < bytes.length; at += size) {
                  control.enqueue(bytes.slice(at, at + size));
                }
                control.close();
              },
            });
            const events = [];
            for await (const event of sentEvents(body)) events.push(event);
            seen.push(JSON.stringify(events));
          }
          return seen;
        }""",
        text,
    )
    assert len(set(got)) == 1
    assert json.loads(got[0]) == [
        {"id": 7, "event": {"type": "A", "t": "é😀"}},
        {"id": 8, "event": {"type": "B"}},
        {"id": None, "event": {"type": "C"}},
    ]


def test_a_message_sent_before_the_settings_came_is_not_lost(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "It came."))
    page = open_page("about:blank")
    held: list[Any] = []
    page.context.route("**/page-config", lambda route: held.append(route))
    page.goto(page_server.url)
    ask(page, "early")
    assert page.get_by_label("Your message").input_value() == "early"
    assert page_server.runs == []
    held[0].continue_()
    page.get_by_text("It came.").wait_for()
    assert [run.text for run in page_server.runs] == ["early"]
