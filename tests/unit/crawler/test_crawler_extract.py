"""What is read from a page: text, headings with offsets and ids, links with their contexts."""

from __future__ import annotations

import pytest
from lxml.html import fromstring

from crawler.extract import ExtractedPage, extract
from crawler.regions import Region, region_of
from crawler.scope import Scope, WebSource

URL = "https://www.example.org/policies/index.html"
SCOPE = Scope(WebSource(URL))
LONG = "Every member of the cooperative may ask for leave two weeks ahead of the first day. "


def read(body: str, head: str = "", content_type: str = "text/html") -> ExtractedPage:
    page = f"<!DOCTYPE html><html lang='en-GB'><head><title>Leave | Demo</title>{head}</head>"
    return extract(f"{page}<body>{body}</body></html>".encode(), content_type, URL, scope=SCOPE)


def article(inner: str) -> str:
    nav = (
        "<nav><ul><li><a href='/policies/a'>Travel</a></li><li><a href='b'>Pay</a></li></ul></nav>"
    )
    prose = "".join(f"<p>{LONG} Paragraph {n} says a little more about it.</p>" for n in range(6))
    return f"{nav}<main><h1>Leave</h1>{prose}{inner}{prose.replace('ahead', 'before')}</main>" + (
        "<footer><p>Imprint and privacy of the cooperative</p></footer>"
    )


def assert_offsets(page: ExtractedPage) -> None:
    for heading in page.headings:
        end = heading.offset + len(heading.title)
        assert page.text[heading.offset : end] == heading.title


def test_main_content_title_and_language() -> None:
    page = read(article(""))
    assert page.title == "Leave | Demo"
    assert page.language == "en"
    assert "Paragraph 3" in page.text
    assert "Imprint" not in page.text
    assert "Travel" not in page.text
    assert not page.truncated


def test_headings_carry_their_ids_and_those_that_wrap_and_precede_them() -> None:
    page = read(
        article(
            f"<section id=who><h2 id=applies>Who may ask"
            "<a class=headerlink href='#applies'>¶</a></h2>"
            f"<p>{LONG}</p></section><a name=old></a><h2><span id=inner>How</span> to ask</h2>"
            f"<p>{LONG}</p><div role=heading aria-level=3 id=aria>Exceptions</div><p>{LONG}</p>"
        )
    )
    found = {heading.title: heading for heading in page.headings}
    assert found["Who may ask"].ids == ("who", "applies")
    assert found["How to ask"].ids == ("old", "inner")
    assert found["Exceptions"].ids == ("aria",)
    assert found["Exceptions"].level == 3
    assert [heading.level for heading in page.headings][:1] == [1]
    assert len({heading.section_id for heading in page.headings}) == len(page.headings)
    assert_offsets(page)


@pytest.mark.parametrize("sign", ["¶", "#", "§", "🔗"])
def test_a_permalink_sign_is_not_part_of_a_title(sign: str) -> None:
    page = read(article(f"<h2 id=x>Sick leave <a href='#x'>{sign}</a></h2><p>{LONG}</p>"))
    assert "Sick leave" in [heading.title for heading in page.headings]


def test_accordions_details_tabs_and_hidden_panels_are_kept_with_their_labels() -> None:
    page = read(
        article(
            "<details><summary>Can I carry days over?</summary><p>Yes, five days until March"
            " of the year that follows.</p></details>"
            "<h3><button aria-expanded=false>Who signs the form?</button></h3>"
            "<div hidden><p>The team's own coordinator signs it within three days.</p></div>"
            "<div role=tablist><button role=tab>Full time</button></div>"
            "<div role=tabpanel style='display:none'><p>Full-time members have thirty days"
            " of leave in a year.</p></div>"
        )
    )
    for wanted in (
        "Can I carry days over?",
        "five days until March",
        "Who signs the form?",
        "own coordinator signs",
        "thirty days",
    ):
        assert wanted in page.text


def test_definition_lists_with_ids_become_sections() -> None:
    page = read(
        article(
            "<dl><dt id=term-ot>Overtime</dt><dd>Hours beyond forty in a week, paid or taken.</dd>"
            "<dt id=term-oc>On call</dt><dd>Being reachable within thirty minutes at home.</dd>"
            "</dl>"
        )
    )
    found = {heading.title: heading.ids for heading in page.headings}
    assert found["Overtime"] == ("term-ot",)
    assert "reachable within thirty" in page.text
    assert_offsets(page)


def test_tables_keep_rows_cells_and_captions() -> None:
    page = read(
        article(
            "<table><caption>Days by year</caption><tr><th>Year</th><th>Days</th></tr>"
            "<tr><td>First</td><td>25</td></tr><tr><td>Fifth</td><td>30</td></tr></table>"
        )
    )
    assert "Year | Days\nFirst | 25\nFifth | 30" in page.text
    assert "Days by year" in page.text


def test_contact_tables_of_mail_links_are_kept() -> None:
    rows = "".join(
        f"<tr><td>Office {n}</td>"
        f"<td><a href='mailto:o{n}@example.org'>o{n}@example.org</a></td></tr>"
        for n in range(4)
    )
    page = read(article(f"<table>{rows}</table>"))
    assert "Office 2 | o2@example.org" in page.text
    assert all("mailto" not in link.url for link in page.links)


def test_code_keeps_its_lines_and_lists_nest() -> None:
    page = read(
        article(
            "<pre><code>def ask():\n    return 2 &lt; 3\n</code></pre>"
            "<ul><li>First choice of the year<ul><li>Nested choice of the month</li></ul></li>"
            "<li>Second choice of the year</li></ul>"
        )
    )
    assert "def ask():\n    return 2 < 3" in page.text
    assert "- First choice of the year\n  - Nested choice of the month\n- Second" in page.text


def test_an_aside_inside_main_is_kept() -> None:
    page = read(article("<aside><p>Note: parental leave has a page of its own rules.</p></aside>"))
    assert "parental leave has a page" in page.text


def test_a_short_page_is_its_main_element_and_not_a_dump() -> None:
    page = read(
        "<nav><ul><li><a href=a>Travel</a></li></ul></nav><main><h1>Office hours</h1>"
        "<p>Open from nine to five.</p></main><footer>Imprint of the cooperative</footer>"
    )
    assert page.text == "Office hours\n\nOpen from nine to five."


def test_links_have_labels_targets_and_the_nearest_context() -> None:
    page = read(
        article(
            "<p>Expenses are explained in the <a href='exp.html#claim'>Overview</a> of the finance"
            " team, with examples.</p><p><a href='#top'>Top</a> <a href='icon'><img src=x></a>"
            " <a href='https://evil.example/x'>Elsewhere</a> <a href='q?x=1'>Query</a></p>"
            "<div><h3><a href=card>Childcare</a></h3><p>Places, prices and how to apply.</p></div>"
        )
    )
    found = {link.label: link for link in page.links}
    assert set(found) == {"Travel", "Pay", "Overview", "Childcare"}
    assert found["Overview"].url == "https://www.example.org/policies/exp.html"
    assert found["Overview"].fragment == "claim"
    assert found["Overview"].context.startswith("Expenses are explained")
    assert found["Childcare"].context == "Places, prices and how to apply."
    assert found["Travel"].context == ""


def test_a_later_context_enriches_a_menu_link_and_is_bounded() -> None:
    page = read(
        article(f"<p>{LONG * 5} See <a href='/policies/a'>travel rules</a>. {LONG * 5}</p>")
    )
    (link,) = [link for link in page.links if link.url.endswith("/policies/a")]
    assert link.label == "travel rules"
    assert "travel rules" in link.context
    assert len(link.context) <= 240


def test_a_base_moves_links_and_a_refresh_is_a_link() -> None:
    head = (
        "<base target=x><base href='/policies/sub/'><meta http-equiv=refresh content='0;url=moved'>"
    )
    page = read(article("<p>More about it <a href='x.html'>here</a> and more.</p>"), head)
    urls = [link.url for link in page.links]
    assert "https://www.example.org/policies/sub/x.html" in urls
    assert "https://www.example.org/policies/sub/moved" in urls


def test_a_delayed_refresh_is_no_link() -> None:
    page = read(article(""), "<meta http-equiv=refresh content='5;url=moved'>")
    assert all("moved" not in link.url for link in page.links)


@pytest.mark.parametrize(
    "reference", ["&#1;", "&#x0;", "\x01", "&#xD800;", "&#xFFFF;", "&#1114112;"]
)
def test_control_characters_do_not_empty_a_page(reference: str) -> None:
    page = read(article(f"<p>Before {reference} after it there is text.</p>"))
    assert "Paragraph 3" in page.text
    page.text.encode("utf-8")


@pytest.mark.parametrize(
    ("body", "content_type", "wanted"),
    [
        ("Congé d'été".encode(), "text/html; charset=windows-1252", "Congé d'été"),
        ("Congé d’été".encode("cp1252"), "text/html; charset=iso-8859-1", "Congé d’été"),
        ("\ufeffCongé".encode("utf-16-le"), "text/html; charset=utf-8", "Congé"),
        ("<meta charset=koi8-r>Отпуск".encode("koi8-r"), "text/html", "Отпуск"),
        ("休暇の申請".encode("shift_jis"), "text/html; charset=Shift_JIS", "休暇の申請"),
        ("休暇の申請".encode("iso-2022-jp"), "text/html; charset=iso-2022-jp", "休暇の申請"),
        (b"it&#146;s &#150; fine", "text/html", "it’s – fine"),
        (b"+ADw-script+AD4-", "text/html; charset=utf-7", "+ADw-script+AD4-"),
        (("é" * 200).encode() + b"\xff caf\xc3\xa9", "text/html; charset=utf-8", "café"),
    ],
)
def test_decoding(body: bytes, content_type: str, wanted: str) -> None:
    page = extract(
        b"<main><p>" + body + b"</p></main>" if body[:2] != b"\xff\xfe" else body, content_type, URL
    )
    assert wanted in page.text


def test_windows_of_plain_text_and_of_nothing() -> None:
    page = extract(b"Line one\r\nLine <b>two</b>", "text/plain", URL)
    assert page.text == "Line one\nLine <b>two</b>"
    empty = extract(b"", "text/html", URL)
    assert (empty.text, empty.links, empty.headings) == ("", (), ())


def test_without_a_scope_links_are_absolute_as_found() -> None:
    page = extract(b"<main><p>See <a href='../x?y=1'>that page</a> there.</p>", None, URL)
    assert page.links[0].url == "https://www.example.org/x?y=1"


@pytest.mark.parametrize("identifier", ["related-packages", "authors", "meta-packages", "tags"])
def test_a_section_is_not_judged_by_an_id_made_of_its_title(identifier: str) -> None:
    section = f"<section id={identifier}><h2>Section of that name</h2><p>{LONG}</p></section>"
    page = read(article(section))
    assert "Section of that name" in [heading.title for heading in page.headings]


def test_the_page_title_stays_over_a_table_of_contents() -> None:
    contents = "".join(f"<li><a href=c{n}>Chapter {n}</a></li>" for n in range(12))
    prose = "".join(f"<h2>Part {n}</h2><p>{LONG * 3}</p>" for n in range(5))
    page = read(f"<h1 id=top>Handbook</h1><ul class=toc>{contents}</ul>{prose}")
    assert page.headings[0].title == "Handbook"


@pytest.mark.parametrize(
    "start",
    [
        "<html><title>Leave</title>",
        "<title>Leave</title>",
        "<html><head><title>Leave</title></head>",
        "<html><head><title>Leave</title>",
        "<!DOCTYPE html><meta charset=utf-8><title>Leave</title>",
    ],
)
def test_a_page_whose_author_left_the_body_tag_away(start: str) -> None:
    page = extract(f"{start}<main><h1>Leave</h1><p>{LONG}</p></main> End".encode(), None, URL)
    assert page.title == "Leave"
    assert page.text == f"Leave\n\n{LONG.strip()}"


@pytest.mark.parametrize(
    "identifier",
    ["handling-security-related-bugs", "comments-and-feedback", "meta-data", "share-options"],
)
def test_words_of_a_title_are_no_names_of_furniture(identifier: str) -> None:
    anchors = "<span id=a1></span><span id=a2></span><span id=a3></span><span id=a4></span>"
    section = f"<section id={identifier}>{anchors}<h2>That section</h2><p>{LONG} It.</p></section>"
    page = read(article(section))
    assert "That section" in [heading.title for heading in page.headings]


@pytest.mark.parametrize(
    "names",
    ["related-posts", "post-meta", "article__comments", "enews-signup-form", "l-sidebar-left"],
)
def test_names_of_furniture_are_known(names: str) -> None:
    for attribute in ("class", "id"):
        element = fromstring(f"<div {attribute}={names}><p>{LONG}</p></div>")
        region = region_of(element, "div", Region.CONTENT, False)
        assert region == Region.FURNITURE


@pytest.mark.parametrize("names", ["with-sidebar", "has-footer", "layout-no-sidebar", "news", "-"])
def test_what_an_element_has_or_has_not_is_no_name(names: str) -> None:
    element = fromstring(f"<div class={names}><p>{LONG}</p></div>")
    assert region_of(element, "div", Region.CONTENT, False) == Region.CONTENT


def sections(*inner: str) -> str:
    """A page without a main element, as simple sites and documents have it."""
    parts = "".join(
        f"<h2 id=s{n}>Section {n}</h2>{part}" if part else "" for n, part in enumerate(inner)
    )
    return f"<h1>Card</h1><p>{LONG}</p>{parts}<h2 id=last>Last</h2><p>{LONG} At the end.</p>"


def test_a_section_between_kept_ones_is_kept() -> None:
    items = "".join(f"<li>Do step {n}.</li>" for n in range(4))
    links = "".join(f"<li><a href=/policies/{n}>Form number {n}</a></li>" for n in range(4))
    page = read(
        sections(
            f"<ol>{items}</ol>",
            f"<p>{LONG} In words.</p>",
            f"<ul>{links}</ul>",
            "<p>Ask Ada.</p>",
            f"<p>{LONG} In more words.</p>",
        )
    )
    titles = [heading.title for heading in page.headings]
    assert titles == ["Card", *(f"Section {n}" for n in range(5)), "Last"]
    for wanted in ("- Do step 3.", "- Form number 3", "Ask Ada."):
        assert wanted in page.text


def test_who_owns_a_page_and_what_a_sentence_links_to_are_kept() -> None:
    main = (
        "<main><h1>Leave</h1><p class=meta>Last reviewed: 2 May. Owner: People team.</p>"
        + f"<p>{LONG} Paragraph.</p>" * 3
    )
    assert "Owner: People team." in read(main + "</main>").text
    line = "<p>Read the whole <a href=/policies/a>agreement on flexible working time</a> first.</p>"
    page = read(f"{main}{line}{f'<p>{LONG} Once more.</p>' * 20}<p>{LONG}</p></main>")
    assert "Read the whole agreement" in page.text
