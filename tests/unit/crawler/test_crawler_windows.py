"""What a window offers of a page's links and headings, when there are more than it may."""

from __future__ import annotations

import pytest
from fake_web import A, Web, entry, session

from crawler.extract import Link

pytestmark = pytest.mark.asyncio


async def test_a_window_offers_a_bounded_choice_of_links_and_headings() -> None:
    web = Web()
    titles = tuple(f"Heading {n}" for n in range(300))
    web.add(A, *(f"{A}{n}" for n in range(500)), headings=titles, text="prose " * 4000)
    page = web.pages[A]
    links = [
        link.model_copy(update={"context": "Some prose around it."}) if n % 5 == 0 else link
        for n, link in enumerate(page.links)
    ]
    headings = [
        heading.model_copy(update={"level": 1}) if n in (150, 299) else heading
        for n, heading in enumerate(page.headings)
    ]
    web.pages[A] = page.model_copy(update={"links": tuple(links), "headings": tuple(headings)})
    window = await entry(session(web))
    assert (len(window.links), window.links_left_out) == (120, 380)
    assert (len(window.headings), window.headings_left_out) == (120, 180)
    # Every link with prose is there, and the page's order is kept.
    assert sum(1 for link in window.links if link.context) == 100
    places = [int(link.path.rsplit("/", 1)[1]) for link in window.links]
    assert places == sorted(places)
    assert [entry.section_id for entry in window.headings][-1] == "s300"
    assert "s151" in [entry.section_id for entry in window.headings]


async def test_a_later_window_offers_its_own_headings_and_links() -> None:
    web = Web()
    web.add(A, A + "x", *(f"{A}{n}" for n in range(500)))
    web.add(A + "x", headings=tuple(f"Heading {n}" for n in range(300)))
    browsing = session(web, reads=10, max_depth=2)
    window = await entry(browsing)
    target = window.links[0].page_id
    page = web.pages[A + "x"]
    # Two thousand characters of prose under every heading.
    text, headings = "", []
    for heading in page.headings:
        headings.append(heading.model_copy(update={"offset": len(text)}))
        text += f"{heading.title}\n\n{'prose ' * 300}\n\n"
    many = tuple(
        Link(label=f"Topic {n}", url=f"{A}topic/{n}", context=f"All about Topic {n}.")
        for n in range(300)
    )
    text += "All about Topic 277."
    web.pages[A + "x"] = page.model_copy(
        update={"text": text, "headings": tuple(headings), "links": many}
    )
    await browsing.read(target)
    last = await browsing.read(target, section_id="s300")
    assert "s300" in [entry.section_id for entry in last.headings]
    assert "Topic 277" in [link.label for link in last.links]


async def test_nothing_is_left_out_of_an_ordinary_page() -> None:
    web = Web()
    web.add(A, A + "1", A + "2", headings=("One",))
    window = await entry(session(web))
    assert (window.links_left_out, window.headings_left_out) == (0, 0)
