"""How an answer is written and where it was found: text, numbers, sources, the passage."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.browser


def test_a_document_opens_its_passage_with_the_quote_marked(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(
        *scripted.ended("answered", scripted.ANSWER, scripted.DOCUMENT, scripted.WEB)
    )
    page = open_page(page_server.url)
    ask(page)
    source = page.locator("button.source-way:not(.reference)")
    source.click()
    dialog = page.get_by_role("dialog", name="Travel rates")
    dialog.wait_for()
    assert (
        dialog.locator("mark").inner_text()
        == "The claim needs “the receipt,\nnot only the card slip”."
    )
    assert "Hotels are booked" in dialog.inner_text()
    assert dialog.locator("mark").count() == 1
    assert page.evaluate("document.activeElement.id") == "panel-close"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert source.evaluate("one => one === document.activeElement")
    # The number inside the text opens the same passage; a click beside the panel closes it.
    page.get_by_role("button", name="Source 1: Travel rates").click()
    dialog.wait_for()
    page.mouse.click(20, 300)
    dialog.wait_for(state="hidden")


def test_a_passage_without_the_quote_still_shows_both(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    other = {**scripted.DOCUMENT, "passage": "Something else entirely."}
    bare = {**scripted.DOCUMENT, "number": 2, "title": "Bare", "passage": None}
    page_server.script(*scripted.ended("answered", "See [1] and [2].", other, bare))
    page = open_page(page_server.url)
    ask(page)
    page.locator("button.source-way:not(.reference)").first.click()
    passage = page.locator("#panel-passage")
    assert passage.locator("mark").inner_text() == scripted.DOCUMENT["quote"]
    assert "Something else entirely." in passage.inner_text()
    page.get_by_role("button", name="Close").click()
    page.locator("button.source-way:not(.reference)").last.click()
    assert passage.inner_text() == scripted.DOCUMENT["quote"]


def test_a_web_source_is_a_link_to_the_quoted_words(
    page_server: Any, open_page: Any, scripted: Any, ask: Any
) -> None:
    page_server.script(*scripted.ended("answered", "Within 45 days [2].", scripted.WEB))
    page = open_page(page_server.url)
    ask(page)
    link = page.locator("a.source-way:not(.reference)")
    href = link.get_attribute("href")
    assert href == (
        "http://handbook.tidewater.example/en/overview.html#deadline:~:text="
        "Hand%20in%20your%20claim%20within%2045%20days%2C%20e%2Dmail%20%26%20paper%20alike."
    )
    assert link.get_attribute("target") == "_blank"
    assert "noopener" in link.get_attribute("rel")
    assert "opens in a new tab" in link.inner_text()
    assert page.locator(".source .quote").inner_text() == scripted.WEB["quote"]
    assert page.locator("a.reference").get_attribute("href") == href


FRAGMENTS = {
    "one two three": "one two three",
    " ".join(f"w{n}" for n in range(20)): "w0 w1 w2 w3 w4|w15 w16 w17 w18 w19",
    "First line here\n- second, item": "First line here|second, item",
    "| Lunch | £14 |": "Lunch|£14",
    "\u2013": None,
}


def test_text_fragments(page_server: Any, open_page: Any) -> None:
    page = open_page(page_server.url)
    for quote, directive in FRAGMENTS.items():
        address = page.evaluate(
            "async ([url, quote]) => (await import('/page/quotation.js')).quoteAddress(url, quote)",
            ["https://a.example/b", quote],
        )
        _, _, text = address.partition("#:~:text=")
        if directive is None:
            assert address == "https://a.example/b"
        else:
            assert [unquote(part) for part in text.split(",")] == directive.split("|")
            assert "-" not in text


def test_the_text_fragment_finds_the_quote_in_chromium(page_server: Any, open_page: Any) -> None:
    """The browser itself scrolls to the words, far below the first screen."""
    page = open_page(page_server.url)
    quote = "Hand in your claim - or e-mail it - within 45 days, receipts & all."
    address = page.evaluate(
        "async ([url, quote]) => (await import('/page/quotation.js')).quoteAddress(url, quote)",
        [page_server.url + "guide", quote],
    )
    end = quote.replace("&", "&amp;")
    body = f"<!doctype html><p>Top</p><div style='height:6000px'></div><p>{end}</p>"
    page.context.route("**/guide", lambda route: route.fulfill(body=body, content_type="text/html"))
    guide = page.context.new_page()
    guide.goto(address)
    guide.wait_for_function("scrollY > 4000")


def test_hostile_text_stays_text(page_server: Any, open_page: Any, scripted: Any, ask: Any) -> None:
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    document = {
        **scripted.DOCUMENT,
        "title": evil,
        "quote": evil,
        "heading": evil,
        "passage": f"a {evil} b",
    }
    script = {
        **scripted.WEB,
        "url": "javascript:document.title='owned'",
        "title": evil,
        "quote": evil,
    }
    text = f"{evil} **{evil}** [1] [2] [link](javascript:alert(1))\n- {evil}\n> {evil}\n`{evil}`"
    page_server.config["tenants"][0]["name"] = evil
    page_server.config["tenants"][0]["examples"]["en"] = [evil]
    page_server.script(
        scripted.comment(evil),
        scripted.activity("searching_web"),
        *scripted.ended("answered", text, document, script),
    )
    page_server.refuse(400, evil)
    page = open_page(page_server.url)
    page.get_by_role("button", name="<img").click()
    page.locator(".sources").wait_for()
    page.locator("button.source-way:not(.reference)").click()
    assert page.locator("#panel mark").inner_text() == evil
    page.keyboard.press("Escape")
    ask(page, evil)
    page.locator(".banner.error").wait_for()
    assert page.locator("body img, body script").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0
    assert page.locator(".source.web a").count() == 0
    assert page.title() != "owned"


def test_the_writing_of_answers(page_server: Any, open_page: Any) -> None:
    page = open_page(page_server.url)
    text = (
        "a\nb\n\n3. three\n   more\n4) four\n\n* x\n\n> q\n> - r\n\n2 * 3 ** 4 [9] **b `c`** # no"
    )
    markup = page.evaluate(
        """async (text) => {
          const { write } = await import("/page/writing.js");
          const box = document.createElement("div");
          box.append(...write(text));
          return box.getHTML();
        }""",
        text,
    )
    assert markup == (
        "<p>a<br>b</p>"
        '<ol start="3"><li>three<br>more</li><li>four</li></ol>'
        "<ul><li>x</li></ul>"
        "<blockquote><p>q</p><ul><li>r</li></ul></blockquote>"
        "<p>2 * 3 ** 4 [9] <strong>b <code>c</code></strong> # no</p>"
    )
