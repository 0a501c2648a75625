"""The chat page in a real browser: the browser, the scripted server, and events to script."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from page_server import PageServer

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: needs Chromium")


class Scripted:
    """The events of a run as the server sends them, and an answer with its two sources."""

    QUESTION = "How do I claim back what I paid on a trip?"
    ANSWER = (
        "Use form **EX-2** in `Ledgerline` [1].\n\n"
        "- Photograph each receipt\n- Pick the cost centre\n\n"
        "> Hand in your claim within 45 days of the purchase. [2]"
    )
    PASSAGE = (
        "Meals on the way\n\nA lunch costs up to £14.\n\n"
        "The claim needs “the receipt,\nnot only the card slip”. "
        "Anything above £10 needs one.\n\nHotels are booked by the Compass Desk."
    )
    DOCUMENT = {
        "number": 1,
        "kind": "document",
        "title": "Travel rates",
        "quote": 'The claim needs "the receipt, not only the card slip".',
        "url": None,
        "heading": "Meals on the way",
        "page": 3,
        "passage": PASSAGE,
    }
    WEB = {
        "number": 2,
        "kind": "web",
        "title": "Claiming expenses",
        "quote": "Hand in your claim within 45 days, e-mail & paper alike.",
        "url": "http://handbook.tidewater.example/en/overview.html#deadline",
        "heading": "Deadlines",
        "page": None,
        "passage": None,
    }

    @staticmethod
    def step(name: str) -> dict[str, Any]:
        return {"type": "STEP_STARTED", "stepName": name}

    @staticmethod
    def activity(code: str) -> dict[str, Any]:
        content = {"code": code, "agent": "knowledge"}
        return {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "a1",
            "activityType": "manta.activity",
            "content": content,
        }

    @staticmethod
    def comment(text: str) -> dict[str, Any]:
        content = {"text": text, "agent": "knowledge"}
        return {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "a2",
            "activityType": "manta.comment",
            "content": content,
        }

    @staticmethod
    def delta(text: str) -> dict[str, Any]:
        return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": text}

    @staticmethod
    def written(text: str) -> list[dict[str, Any]]:
        return [
            {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
            Scripted.delta(text),
            {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
        ]

    @staticmethod
    def ended(
        status: str, text: str, *citations: dict[str, Any], agent: str = "knowledge"
    ) -> list[dict[str, Any]]:
        """A whole reply and the end of its run."""
        reply = {
            "status": status,
            "agent": agent,
            "text": text,
            "citations": citations,
            "locale": "en",
            "spent": {},
        }
        return [
            *Scripted.written(text),
            {"type": "CUSTOM", "name": "manta.reply", "value": reply},
            {"type": "RUN_FINISHED", "result": None},
        ]

    @staticmethod
    def paused(*questions: dict[str, Any], interrupt: str = "i1") -> list[dict[str, Any]]:
        """The end of a run that waits for answers; each question has an ``id`` and a ``text``."""
        asked = [{"options": [], **question} for question in questions]
        text = "\n".join(question["text"] for question in questions)
        reply = {"status": "paused", "agent": "career_chat", "text": text, "citations": []}
        outcome = {"type": "interrupt", "interrupts": [Scripted.interrupt(*asked, name=interrupt)]}
        return [
            {"type": "CUSTOM", "name": "manta.reply", "value": {**reply, "locale": "en"}},
            {"type": "RUN_FINISHED", "outcome": outcome},
        ]

    @staticmethod
    def interrupt(*questions: dict[str, Any], name: str = "i1") -> dict[str, Any]:
        """An open pause as a run and the history show it."""
        asked = [{"options": [], **question} for question in questions]
        return {
            "id": name,
            "reason": "clarification",
            "message": "\n".join(question["text"] for question in questions),
            "responseSchema": {"type": "object", "properties": {}},
            "metadata": {"questions": asked},
        }


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture
def ask() -> Callable[..., None]:
    """``ask(page)``: the example question, or another one, written and sent with Enter."""

    def ask(page: Any, text: str = Scripted.QUESTION) -> None:
        page.get_by_label("Your message").fill(text)
        page.keyboard.press("Enter")

    return ask


@pytest.fixture
def page_server() -> Iterator[PageServer]:
    """The scripted server of one test."""
    server = PageServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for the tests of a module.

    It does not live longer: the synchronous driver keeps an event loop running in this thread, in
    which no asynchronous test of another folder could start its own.
    """
    if not Path(CHROMIUM).exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{CHROMIUM} is missing")
        pytest.skip(f"{CHROMIUM} is missing")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Any]:
    """``open_page(url, **context_options)``: a page in a fresh context.

    Any script error or policy violation that it reports fails the test.
    """
    contexts: list[Any] = []
    complaints: list[str] = []

    def console(message: Any) -> None:
        # The browser itself reports every refused or broken request; tests cause those on purpose.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            complaints.append(message.text)

    def make(url: str, **options: Any) -> Any:
        context = chromium.new_context(**{"locale": "en-GB", "reduced_motion": "reduce", **options})
        contexts.append(context)
        context.set_default_timeout(5000)
        page = context.new_page()
        page.on("console", console)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []
