"""The text of a page from its chosen blocks, and the headings with their exact offsets."""

from __future__ import annotations

from dataclasses import dataclass

from crawler.blocks import Block


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the text: ``text[offset : offset + len(title)] == title``."""

    title: str
    level: int
    offset: int
    ids: tuple[str, ...]


def render(blocks: list[Block], limit: int) -> tuple[str, list[Section], bool]:
    """The text of the main blocks, its sections, and whether ``limit`` characters cut it."""
    parts: list[str] = []
    sections: list[Section] = []
    length = 0
    previous: Block | None = None
    for block in blocks:
        if not block.main:
            continue
        gap = _gap(previous, block)
        prefix = _prefix(block)
        room = limit - length - len(gap) - len(prefix)
        if len(block.text) > room:
            if block.kind != "heading" and room > 0:
                parts += (gap, prefix, block.text[:room])
            return "".join(parts), sections, True
        offset = length + len(gap) + len(prefix)
        if block.kind == "heading" or (block.kind == "term" and block.ids):
            sections.append(Section(block.text, block.level or 6, offset, block.ids))
        parts += (gap, prefix, block.text)
        length = offset + len(block.text)
        previous = block
    return "".join(parts), sections, False


def _gap(previous: Block | None, block: Block) -> str:
    if previous is None:
        return ""
    tight = {"item", "row", "term"}
    if block.kind in tight and previous.kind in tight:
        return "\n"
    if (block.kind == "item" and previous.indent) or (previous.kind == "term" and block.indent):
        return "\n"
    return "\n\n"


def _prefix(block: Block) -> str:
    if block.kind == "item":
        return "  " * (block.indent - 1) + "- "
    return ""
