"""The page around the conversation: languages, themes, sizes, keyboard, organisations."""

from __future__ import annotations

import re
import threading
from typing import Any, get_args

import pytest
from page_server import PAGE

from config.tenants import SPECIALISTS
from domain.events import ActivityCode

pytestmark = pytest.mark.browser


def test_the_language_switch_changes_every_text_and_the_request(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("miss", "Nothing found."))
    page_server.script(*scripted.ended("answered", "Voilà [1].", scripted.DOCUMENT))
    page = open_page(page_server.url)
    ask(page)
    page.locator(".banner.miss").wait_for()
    page.get_by_label("Language").select_option("fr")
    assert page.locator("html").get_attribute("lang") == "fr"
    page.get_by_text("Je n’ai pas trouvé cette information").wait_for()
    assert page.get_by_label("Votre message").get_attribute("placeholder") == "Posez une question"
    page.get_by_label("Votre message").fill("Et en français ?")
    page.keyboard.press("Enter")
    page.locator(".sources").wait_for()
    assert [run.locale for run in page_server.runs] == [None, "fr"]
    page.get_by_label("Langue").select_option("de")
    page.get_by_role("heading", name="Quellen").wait_for()
    assert "Seite 3" in page.locator(".source .place").inner_text()
    page.reload()
    page.get_by_role("heading", name="Was möchten Sie wissen?").wait_for()
    page.get_by_role("button", name="Wie melde ich mich krank?").wait_for()


def test_the_browsers_language_is_the_first_one(page_server: Any, open_page: Any) -> None:
    page = open_page(page_server.url, locale="fr-CA")
    page.get_by_role("heading", name="Que souhaitez-vous savoir ?").wait_for()


def test_every_phrase_exists_in_every_language(page_server: Any, open_page: Any) -> None:
    page = open_page(page_server.url)
    keys = page.evaluate(
        """async () => {
          const { english } = await import("/page/english.js");
          const { french } = await import("/page/french.js");
          const { german } = await import("/page/german.js");
          return [english, french, german].map((table) => Object.keys(table));
        }"""
    )
    english, french, german = keys
    assert english == french == german and len(english) > 100
    agents = {f"agent.{name}" for name in (*SPECIALISTS, "knowledge")}
    activities = {f"activity.{code}" for code in get_args(ActivityCode)}
    nodes = ("gate", "memory", "supervisor", *SPECIALISTS, "knowledge", "await_answers")
    assert agents | activities | {f"step.{name}" for name in nodes} <= set(english)
    named = set(
        re.findall(
            r'data-phrase[\w-]*="([\w.]+)"', page.evaluate("document.documentElement.outerHTML")
        )
    )
    assert named <= set(english)


def test_dark_mode_follows_the_system_until_it_is_chosen(page_server: Any, open_page: Any) -> None:
    light = "getComputedStyle(document.body).backgroundColor === 'rgb(251, 252, 252)'"
    page = open_page(page_server.url, color_scheme="dark")
    toggle = page.get_by_role("button", name="Dark mode")
    assert toggle.get_attribute("aria-pressed") == "true"
    assert not page.evaluate(light)
    toggle.click()
    assert toggle.get_attribute("aria-pressed") == "false"
    assert page.evaluate(light)
    page.reload()
    assert page.evaluate(light)


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_nothing_is_wider_than_a_phone(
    page_server: Any, open_page: Any, language: str, scripted: Any
) -> None:
    long = {
        **scripted.DOCUMENT,
        "title": "Reisekostenabrechnungsverordnung" * 3,
        "passage": "x" * 500 + scripted.DOCUMENT["quote"],
    }
    web = {**scripted.WEB, "url": "https://" + "a" * 60 + ".example/" + "b" * 200}
    page_server.script(
        *scripted.ended("answered", "w" * 300 + " `" + "c" * 200 + "` [1]", long, web)
    )
    page_server.script(scripted.comment("d" * 240), threading.Event())
    page = open_page(
        page_server.url, viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True
    )
    wide = "document.documentElement.scrollWidth > 360"
    page.locator("#language").select_option(language)
    assert not page.evaluate(wide)
    page.locator("#message").fill("x" * 400)
    page.keyboard.press("Enter")
    page.locator(".sources").wait_for()
    assert not page.evaluate(wide)
    page.locator("button.source-way:not(.reference)").click()
    assert not page.evaluate(wide)
    assert page.locator("#panel").bounding_box()["width"] <= 360
    page.locator("#panel-close").click()
    page.locator("#message").fill("again")
    page.keyboard.press("Enter")
    page.locator(".comment").wait_for()
    assert not page.evaluate(wide)
    small = page.evaluate(
        "() => Array.from(document.querySelectorAll('header button, header select, footer button'))"
        ".filter(one => one.offsetParent && one.offsetHeight < 36).length"
    )
    assert small == 0


def test_the_page_works_with_the_keyboard_alone(
    page_server: Any, open_page: Any, scripted: Any
) -> None:
    page_server.script(
        *scripted.ended("answered", scripted.ANSWER, scripted.DOCUMENT, scripted.WEB)
    )
    page_server.script(threading.Event())
    page_server.script(*scripted.ended("replied", "Good."))
    page = open_page(page_server.url)
    page.locator("#message:focus").wait_for()
    page.keyboard.type("First line")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second line")
    page.keyboard.press("Enter")
    page.locator(".sources").wait_for()
    assert page_server.runs[0].text == "First line\nsecond line"
    # Backwards from the message box: attaching, two thumbs, the web source, then the document's.
    for _ in range(5):
        page.keyboard.press("Shift+Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    # The focus stays inside the panel.
    for _ in range(4):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.getElementById('panel').contains(document.activeElement) "
            "|| document.activeElement === document.body"
        )
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    for _ in range(5):
        page.keyboard.press("Tab")
    page.keyboard.type("Wait")
    page.keyboard.press("Enter")
    page.locator("#stop").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Stopped", exact=True).wait_for()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Good.").wait_for()


def test_the_skip_link_leads_to_the_message_box(page_server: Any, open_page: Any) -> None:
    page = open_page(page_server.url, has_touch=True, is_mobile=True)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "message"


def test_an_enter_that_ends_a_composition_does_not_send(page_server: Any, open_page: Any) -> None:
    page = open_page(page_server.url)
    page.get_by_label("Your message").fill("にほん")
    page.evaluate(
        "document.getElementById('message').dispatchEvent(new KeyboardEvent('keydown', "
        "{key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))"
    )
    assert page.get_by_label("Your message").input_value() == "にほん"
    assert page_server.runs == []


def test_too_long_a_message_is_said_and_not_sent(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.config["message_chars"] = 10
    page_server.script(*scripted.ended("replied", "Fine."))
    page = open_page(page_server.url)
    ask(page, "x" * 1250)
    page.get_by_text("1,250 of at most 10 characters.").wait_for()
    assert page.locator("#send").is_disabled()
    assert page_server.runs == []
    # Ten characters are ten, however many units they take.
    ask(page, "😀" * 10)
    page.get_by_text("Fine.").wait_for()


def test_another_organisation_is_another_conversation(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "One."))
    page_server.script(*scripted.ended("replied", "Two."))
    page = open_page(page_server.url)
    ask(page, "one")
    page.get_by_text("One.").wait_for()
    page.get_by_label("Organisation").select_option("blank")
    page.get_by_role("button", name="Help me think about my next career step.").click()
    page.get_by_text("Two.").wait_for()
    assert [run.tenant for run in page_server.runs] == ["tidewater", "blank"]
    assert page_server.runs[0].body["threadId"] != page_server.runs[1].body["threadId"]


def test_one_organisation_needs_no_choice(page_server: Any, open_page: Any) -> None:
    del page_server.config["tenants"][1]
    page = open_page(page_server.url)
    page.get_by_role("heading", name="Tidewater Cooperative").wait_for()
    assert not page.locator("#organisation").is_visible()


def test_missing_settings_are_an_error_with_a_retry(
    page_server: Any, open_page: Any, scripted: Any
) -> None:
    page_server.config_status = 503
    page = open_page(page_server.url)
    page.get_by_text("The page could not load its settings.").wait_for()
    page_server.config_status = 200
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("button", name=scripted.QUESTION).wait_for()
    assert page.locator(".banner").count() == 0


def test_nothing_comes_from_elsewhere(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(
        *scripted.ended("answered", scripted.ANSWER, scripted.DOCUMENT, scripted.WEB)
    )
    page = open_page("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_server.url)
    ask(page)
    page.locator(".sources").wait_for()
    assert asked and all(url.startswith(page_server.url) for url in asked)


def test_all_modules_are_fetched_in_one_wave() -> None:
    markup = (PAGE / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:href|src)="page/([^"]+)"', markup))
    assert named == {file.name for file in PAGE.iterdir() if file.name != "index.html"}


def test_the_page_works_below_a_prefix(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("replied", "Below."))
    page = open_page("about:blank")

    def shortened(route: Any) -> None:
        route.continue_(url=route.request.url.replace("/desk/manta/", "/"))

    page.context.route("**/desk/manta/**", shortened)
    page.goto(page_server.url + "desk/manta/")
    ask(page)
    page.get_by_text("Below.").wait_for()
