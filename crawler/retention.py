"""What is kept besides the oracle's choice, because extractors are known to lose it.

Collapsed panels, definition lists, table rows, code and short list items go missing inside pages
that are otherwise read well, and pages that are no articles (services, catalogues, contact lists)
lose most of their text. The values were chosen on two public benchmarks together; see
``benchmarks/extraction.py``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from crawler.blocks import Block
from crawler.regions import Region
from crawler.walk import Walk

_ROOT_SHARE: Final = 0.95
_TRUSTED_SHARE: Final = 0.85
_GAP_BLOCKS: Final = 30
_GAP_KINDS: Final = frozenset({"item", "row", "code", "term", "heading"})
_LIST_KINDS: Final = frozenset({"item"})
_REPEATED: Final = 15


def retain(walk: Walk, keys: list[str], article: bool) -> None:
    """Mark further blocks as main; ``keys`` are the comparable texts of the blocks, ``article``
    whether the page calls itself one."""
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
    _fill_gaps(blocks, inside, set(missing), article)


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


def _fill_gaps(blocks: list[Block], inside: list[bool], missing: set[int], article: bool) -> None:
    """What stands between two chosen blocks and belongs to them is chosen as well."""
    levels = {
        block.level
        for block, following in pairwise(blocks)
        if block.kind == "heading" and (block.main or following.main)
    }
    number = 1
    while number < len(blocks):
        if blocks[number].main or not blocks[number - 1].main:
            number += 1
            continue
        start = number
        while number < len(blocks) and not blocks[number].main:
            number += 1
        if number == len(blocks):
            _keep_last_sections(blocks, start, missing, levels)
            return
        gap = blocks[start:number]
        if all(place in missing for place in range(start, number)):
            wanted = _is_small_print(gap) or _is_section(gap[0], levels)
        else:
            wanted = all(
                inside[block.container] and block.region == Region.CONTENT for block in gap
            ) and (_is_sibling(gap, levels) or _is_list(gap, article))
        if wanted:
            for block in gap:
                block.main = True


def _is_small_print(gap: list[Block]) -> bool:
    """A short run of rows, items, terms and code."""
    return len(gap) <= _GAP_BLOCKS and all(
        block.kind in _GAP_KINDS or block.indent > 0 for block in gap
    )


def _is_section(first: Block, levels: set[int]) -> bool:
    """A whole section of the page's main element."""
    return first.kind == "heading" and (bool(first.ids) or first.level in levels)


def _is_sibling(gap: list[Block], levels: set[int]) -> bool:
    """Lists of links under headings that have kept ones of their rank beside them."""
    first = gap[0]
    return first.kind == "heading" and bool(first.ids) and first.level in levels


def _keep_last_sections(
    blocks: list[Block], start: int, missing: set[int], levels: set[int]
) -> None:
    """Sections after the last chosen block that have kept ones of their rank before them."""
    first = blocks[start]
    if first.kind != "heading" or not first.ids or first.level not in levels:
        return
    for number in range(start, len(blocks)):
        if number not in missing:
            return
        blocks[number].main = True


def _is_list(gap: list[Block], article: bool) -> bool:
    """A list between two chosen blocks, of links or not; news put teasers of other pages there
    as headings and rows."""
    kinds = _LIST_KINDS if article else _GAP_KINDS
    return len(gap) <= _GAP_BLOCKS and all(block.kind in kinds for block in gap)
