"""What is kept besides the oracle's choice, because extractors are known to lose it.

Collapsed panels, definition lists, table rows, code and short list items go missing inside pages
that are otherwise read well, and pages that are no articles (services, catalogues, contact lists)
lose most of their text. The values were chosen on two public benchmarks together; see
``benchmarks/extraction.py``.
"""

from __future__ import annotations

from typing import Final

from crawler.blocks import Block
from crawler.regions import Region
from crawler.walk import Walk

_ROOT_SHARE: Final = 0.95
_TRUSTED_SHARE: Final = 0.85
_GAP_BLOCKS: Final = 30
_GAP_KINDS: Final = frozenset({"item", "row", "code", "term", "heading"})
_REPEATED: Final = 15


def retain(walk: Walk, keys: list[str]) -> None:
    """Mark further blocks as main; ``keys`` are the comparable texts of the blocks."""
    blocks = walk.blocks
    chosen = sum(len(block.text) for block in blocks if block.main)
    if not chosen:
        return
    inside = _inside(walk, _content_root(walk, chosen))
    seen = {key for block, key in zip(blocks, keys, strict=True) if block.main}
    missing = _missing(blocks, keys, inside, seen)
    kept_inside = sum(len(block.text) for block in blocks if block.main and inside[block.container])
    left_out = sum(len(blocks[number].text) for number in missing)
    # An oracle that took little of the content's own region did not understand the page.
    if kept_inside < _TRUSTED_SHARE * (kept_inside + left_out):
        for number in missing:
            blocks[number].main = True
    else:
        for number in missing:
            blocks[number].main = blocks[number].panel
        _fill_gaps(blocks, set(missing))


def _content_root(walk: Walk, chosen: int) -> int:
    """The innermost container that holds nearly all of the chosen text."""
    inner = [0] * len(walk.parents)
    for block in walk.blocks:
        if block.main:
            inner[block.container] += len(block.text)
    # A container's number is higher than its parent's, so one pass from the end adds them up,
    # and the highest number that holds enough is the innermost.
    for number in range(len(inner) - 1, 0, -1):
        inner[walk.parents[number]] += inner[number]
    return max(number for number, size in enumerate(inner) if size >= _ROOT_SHARE * chosen)


def _inside(walk: Walk, root: int) -> list[bool]:
    inside = [False] * len(walk.parents)
    inside[root] = True
    for number in range(root + 1, len(inside)):
        inside[number] = inside[walk.parents[number]]
    return inside


def _missing(blocks: list[Block], keys: list[str], inside: list[bool], seen: set[str]) -> list[int]:
    """Numbers of content blocks that were not chosen; text that is there already is skipped."""
    missing = []
    for number, block in enumerate(blocks):
        if block.main or not inside[block.container] or not _is_content(block):
            continue
        key = keys[number]
        if len(key) > _REPEATED:
            if key in seen:
                continue
            seen.add(key)
        missing.append(number)
    return missing


def _is_content(block: Block) -> bool:
    if block.tag == "figcaption" or block.linked * 2 >= len(block.text):
        return False
    return block.region == Region.CONTENT or (block.region == Region.ASIDE and block.inside_main)


def _fill_gaps(blocks: list[Block], missing: set[int]) -> None:
    """Rows, items, terms and code between two chosen blocks belong to them."""
    number = 1
    while number < len(blocks):
        if blocks[number].main or not blocks[number - 1].main:
            number += 1
            continue
        start = number
        while number < len(blocks) and not blocks[number].main:
            number += 1
        gap = range(start, number)
        if number < len(blocks) and _belongs(blocks, gap, missing):
            for place in gap:
                blocks[place].main = True


def _belongs(blocks: list[Block], gap: range, missing: set[int]) -> bool:
    """A short gap of rows, items, terms and code, or whole sections of the page's main element."""
    if any(place not in missing for place in gap):
        return False
    if len(gap) <= _GAP_BLOCKS and all(blocks[place].kind in _GAP_KINDS for place in gap):
        return True
    first = blocks[gap[0]]
    return first.kind == "heading" and bool(first.ids) and first.inside_main
