"""Whole documentations through the reader: every page's headings and ids, against the source.

What a page should give is read here with plain lxml and a few lines, from the part of the source
that its generator calls the content.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from lxml import html
from services import require
from sites import folder_site

from crawler.extract import ExtractedPage
from crawler.fetch import PageFetcher
from crawler.pages import PageRequest
from crawler.scope import WebSource

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
HOST = "docs.acme.example"
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
NOT_READ = {"script", "style", "head"}
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))


@dataclass(frozen=True)
class Documentation:
    """A folder of pages; ``content`` finds the part of a page that its author wrote."""

    name: str
    folder: Path
    packages: dict[str, str]
    """Which of Debian's packages brings which folder."""
    content: str
    furniture: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    headings: int = 0
    """The least number of headings in the whole documentation, so that nothing passes empty."""

    def pages(self) -> list[str]:
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*.html"))
        return sorted(str(path) for path in found if path.name not in self.left_out)


DOCUMENTATIONS = [
    Documentation(
        "faq",
        Path("/usr/share/doc/debian/FAQ"),
        {".": "debian-faq", "de": "debian-faq-de", "fr": "debian-faq-fr"},
        "//body",
        furniture=("navheader", "navfooter"),
        headings=400,
    ),
    Documentation(
        "reference",
        Path("/usr/share/developers-reference"),
        {
            ".": "developers-reference",
            "de": "developers-reference-de",
            "fr": "developers-reference-fr",
        },
        "//div[@role='main']",
        left_out=("developers-reference.html", "search.html"),
        headings=800,
    ),
    Documentation("demo", ROOT / "demo/site", {}, "//main", headings=250),
    Documentation("documents", ROOT / "demo/documents", {}, "//body", headings=8),
]


@dataclass(frozen=True)
class Titled:
    """A heading as the source has it."""

    title: str
    level: int
    ids: tuple[str, ...]
    permalink: str | None


def source_headings(path: Path, documentation: Documentation) -> list[Titled]:
    """The headings of a page's content with the anchors that lead to them: those inside, and
    those that stand between the text before and the heading."""
    root = html.parse(str(path), html.HTMLParser(encoding="utf-8")).getroot()
    (content,) = root.xpath(documentation.content)
    found: list[Titled] = []
    pending: list[str] = []
    for element, text in _steps(content, documentation.furniture):
        if text:
            pending.clear()
        elif element.tag in HEADINGS:
            inner = [piece for inside in element.iter() for piece in _anchors(inside)]
            permalink = _cut_permalink(element)
            title = _squeezed("".join(element.itertext()))
            if title:
                ids = tuple(dict.fromkeys([*pending, *inner]))
                found.append(Titled(title, int(element.tag[1]), ids, permalink))
                pending.clear()
        else:
            pending += _anchors(element)
    return found


def _steps(
    element: html.HtmlElement, furniture: tuple[str, ...]
) -> Iterator[tuple[html.HtmlElement, bool]]:
    """Elements as they begin, and texts, in the page's order; a heading's own text is its own."""
    if not isinstance(element.tag, str) or element.tag in NOT_READ:
        return
    if element.get("class") in furniture:
        return
    yield element, False
    if element.tag in HEADINGS:
        return
    if (element.text or "").strip():
        yield element, True
    for child in element:
        yield from _steps(child, furniture)
        if (child.tail or "").strip():
            yield element, True


def _anchors(element: html.HtmlElement) -> list[str]:
    names = [element.get("id"), element.get("name") if element.tag == "a" else None]
    return [name for name in names if name]


def _cut_permalink(heading: html.HtmlElement) -> str | None:
    for anchor in heading.iter("a"):
        if "headerlink" in (anchor.get("class") or ""):
            target = anchor.get("href").removeprefix("#")
            anchor.drop_tree()
            return target
    return None


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text.translate(INVISIBLE)).strip()


async def read_all(address: str, names: list[str]) -> dict[str, ExtractedPage]:
    """Every page, through the real fetcher with its parser processes."""
    fetcher = PageFetcher(connect_to={f"{HOST}:80": address})
    source = WebSource(f"http://{HOST}/")
    pages: dict[str, ExtractedPage] = {}
    waiting = iter(names)

    async def worker() -> None:
        for name in waiting:
            fetched = await fetcher.fetch(PageRequest(source=source, url=f"http://{HOST}/{name}"))
            assert fetched.page is not None
            pages[name] = fetched.page

    try:
        await asyncio.gather(worker(), worker())
    finally:
        await fetcher.close()
    return pages


@pytest.mark.parametrize("documentation", DOCUMENTATIONS, ids=lambda one: one.name)
async def test_every_page_has_its_headings_and_ids(documentation: Documentation) -> None:
    for folder, package in documentation.packages.items():
        require(documentation.folder / folder, package)
    names = documentation.pages()
    with folder_site(documentation.folder) as address:
        pages = await read_all(address, names)
    assert sorted(pages) == names
    count = 0
    for name in names:
        expected = source_headings(documentation.folder / name, documentation)
        page = pages[name]
        # Terms of definition lists that carry an id are sections too; the source has no h6.
        headings = [one for one in page.headings if one.level < 6]
        assert [one.title for one in headings] == _titles(expected), name
        assert [one.level for one in headings] == [one.level for one in expected], name
        assert [set(one.ids) for one in headings] == [set(one.ids) for one in expected], name
        for heading, source in zip(headings, expected, strict=True):
            assert source.permalink is None or source.permalink in heading.ids
        count += len(expected)
        assert_readable(page, name)
    assert count >= documentation.headings


def _titles(headings: list[Titled]) -> list[str]:
    return [heading.title for heading in headings]


def assert_readable(page: ExtractedPage, name: str) -> None:
    """Offsets are exact and in order, ids and sections are unique, links stay in scope."""
    for heading in page.headings:
        end = heading.offset + len(heading.title)
        assert page.text[heading.offset : end] == heading.title, name
    assert all(first.offset < second.offset for first, second in pairwise(page.headings))
    assert len({heading.section_id for heading in page.headings}) == len(page.headings)
    ids = [identifier for heading in page.headings for identifier in heading.ids]
    assert len(ids) == len(set(ids)), name
    assert not page.truncated
    assert all(link.url.startswith(f"http://{HOST}/") and link.label for link in page.links)
