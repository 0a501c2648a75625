"""Which blocks of a page are its main content.

The oracle finds the article; our own rules keep what it is known to lose inside it (collapsed
panels, definition lists, asides, contact tables, short pages) and the headings over what is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from lxml import html

from crawler import oracle
from crawler.blocks import Block, comparable, squeeze
from crawler.limits import ParseLimits
from crawler.regions import Region
from crawler.retention import retain
from crawler.walk import Walk

_SHORT_PAGE = 250
_LARGE = 1_500
_MAIN_SHARE = 0.75
_MAIN_LINKS = 0.15
_SHORT_LINE = 120
_LINES_BETWEEN = 2
_FAR = 1_000
_LOWEST = 7
_STANDFIRST = 2
_SENTENCE = 20
_LISTED = frozenset({"heading", "item", "row", "term"})


def choose(walk: Walk, root: html.HtmlElement, limits: ParseLimits) -> None:
    """Set ``main`` on the blocks of ``walk``."""
    blocks = walk.blocks
    visible = sum(len(block.text) - block.linked for block in blocks)
    if _trusts_main(blocks, visible, root):
        _choose_alone(blocks)
        _drop_link_lines(blocks)
        _keep_headings(blocks)
        _keep_title(blocks)
        return
    article = _is_declared_article(root)
    asked = walk.elements <= limits.oracle_elements and walk.depth <= limits.oracle_depth
    answer = oracle.ask(root) if asked else None
    keys = [comparable(block.text) for block in blocks]
    covered = oracle.mark(blocks, keys, answer.text) if answer else 0
    if answer and covered * 3 < len(answer.text) and len(answer.text) >= _SHORT_PAGE:
        # The oracle read what scripts would have shown: text that stands in no element.
        _embed(walk, answer)
    elif covered == 0 or visible < _SHORT_PAGE:
        _choose_alone(blocks)
    else:
        retain(walk, keys, article)
    _keep_headings(blocks)
    _keep_title(blocks)
    if not article:
        _keep_standfirst(blocks)


def _trusts_main(blocks: list[Block], visible: int, root: html.HtmlElement) -> bool:
    """Whether the page itself says well enough what its content is: most of its text stands in
    its main element, with few links. News articles put teasers there, so they are not believed.

    The oracle costs most of the time that a page takes and loses sections of such pages.
    """
    content = [block for block in blocks if block.inside_main and block.region == Region.CONTENT]
    size = sum(len(block.text) for block in content)
    linked = sum(block.linked for block in content)
    if size < _LARGE or size < _MAIN_SHARE * visible or linked > _MAIN_LINKS * size:
        return False
    if next(root.iter("main"), None) is None and not root.xpath("boolean(.//*[@role='main'])"):
        return False
    return not _is_declared_article(root)


def _is_declared_article(root: html.HtmlElement) -> bool:
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or ""
        if name == "og:type" and "article" in (meta.get("content") or ""):
            return True
    return any(
        "NewsArticle" in (script.text or "")
        for script in root.iter("script")
        if script.get("type") == "application/ld+json"
    )


def _drop_link_lines(blocks: list[Block]) -> None:
    """A line that is mostly links is furniture of the main element; a list of links is not."""
    for block in blocks:
        if block.main and block.linked * 2 > len(block.text):
            block.main = (
                block.kind in ("heading", "item", "row", "term")
                or len(block.text) - block.linked >= 20
            )


def _embed(walk: Walk, answer: oracle.Answer) -> None:
    for block in walk.blocks:
        block.main = False
    for paragraph in answer.paragraphs:
        text = squeeze(paragraph).strip()
        if text:
            walk.blocks.append(Block("text", text, Region.CONTENT, True, 0, "p", main=True))


def _choose_alone(blocks: list[Block]) -> None:
    """Without an oracle: what stands in the page's main element, else what is no furniture."""
    rules: tuple[Callable[[Block], bool], ...] = (
        lambda block: block.inside_main and block.region == Region.CONTENT,
        lambda block: block.region == Region.CONTENT,
        lambda block: block.region == Region.ASIDE,
        lambda block: block.kind != "item" or block.linked * 2 < len(block.text),
    )
    for rule in rules:
        for block in blocks:
            block.main = rule(block)
        if any(block.main for block in blocks):
            return


def _keep_headings(blocks: list[Block]) -> None:
    """A heading is kept when it stands right above something kept, a short line between them
    (a date, an author) and headings of lower rank allowed."""
    gap = _FAR
    rank = _LOWEST
    for block in reversed(blocks):
        if block.kind == "heading":
            if block.main or (gap <= _LINES_BETWEEN and block.level < rank and _is_title(block)):
                block.main = True
                gap, rank = 0, block.level
            else:
                gap += 1
        elif block.main:
            gap, rank = 0, _LOWEST
        else:
            gap += 1 if len(block.text) < _SHORT_LINE else _FAR


def _keep_title(blocks: list[Block]) -> None:
    """The page's own title is kept over whatever stands between it and the text, a table of
    contents for example."""
    first = next((number for number, block in enumerate(blocks) if block.main), 0)
    titles = [block for block in blocks[:first] if block.kind == "heading" and _is_title(block)]
    if titles:
        highest = min(block.level for block in titles)
        if all(block.level > highest for block in blocks[first:] if block.kind == "heading"):
            [*_, title] = (block for block in titles if block.level == highest)
            title.main = True


def _keep_standfirst(blocks: list[Block]) -> None:
    """What the page's main element says right below its title: who owns the page, when it was
    reviewed, what it is about."""
    first = next((number for number, block in enumerate(blocks) if block.main), None)
    if first is None or blocks[first].kind != "heading" or blocks[first].level > 1:
        return
    lines = list(takewhile(lambda block: not block.main, blocks[first + 1 :]))
    if len(lines) <= _STANDFIRST and all(_is_prose(line) for line in lines):
        for line in lines:
            line.main = True


def _is_prose(block: Block) -> bool:
    """A piece of the main element's own text."""
    inside = block.inside_main and block.region == Region.CONTENT
    return inside and block.linked * 2 < len(block.text)


def _is_title(block: Block) -> bool:
    """A heading that is a link to another page is a teaser of that page."""
    if block.region == Region.FURNITURE:
        return False
    leading_away = any(not link.href.startswith("#") for link in block.links)
    return block.level == 1 or not leading_away
