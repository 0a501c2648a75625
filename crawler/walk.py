"""The one walk over a page's tree: every block of text, with its headings, ids and links.

The walk keeps everything that a reader could see, hidden and collapsed panels included; which
blocks are main content is decided afterwards, by number, without touching the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lxml import etree, html

from crawler import markup
from crawler.blocks import Block, BlockKind
from crawler.inline import InlineText
from crawler.regions import Region, is_panel, region_of


@dataclass(slots=True)
class Walk:
    """What one walk found; ``parents`` gives each container's own container, always a lower
    number; ``depth`` is the deepest nesting."""

    blocks: list[Block]
    parents: list[int]
    elements: int
    depth: int


class _State(NamedTuple):
    """What the innermost open block element says about the text in it."""

    kind: BlockKind
    level: int
    region: Region
    inside_main: bool
    container: int
    indent: int
    tag: str
    whole: bool
    """Block elements inside do not end the block (headings, table rows, terms, code)."""
    code: bool
    panel: bool


_OUTSIDE = _State("text", 0, Region.CONTENT, False, 0, 0, "body", False, False, False)


class Walker:
    """Walks one tree; use :meth:`walk` once."""

    def __init__(self, root: html.HtmlElement) -> None:
        self._root = root
        self._blocks: list[Block] = []
        self._parents = [0]
        self._state = _OUTSIDE
        self._stack: list[tuple[_State, bool]] = []
        self._items: list[bool] = []
        self._layouts: list[bool] = []
        self._pending: list[str] = []
        self._inline = InlineText()
        self._anchor_depth = 0

    def walk(self) -> Walk:
        elements = depth = deepest = 0
        events = etree.iterwalk(self._root, events=("start", "end"))
        for event, element in events:
            tag = element.tag
            if not isinstance(tag, str):
                continue
            if event == "start":
                elements += 1
                depth += 1
                deepest = max(deepest, depth)
                if not self._start(element, tag):
                    events.skip_subtree()
                    self._stack.append((self._state, False))
                elif element.text:
                    self._emit(element.text)
            else:
                depth -= 1
                self._end()
                if element.tail:
                    self._emit(element.tail)
        self._flush()
        return Walk(self._blocks, self._parents, elements, deepest)

    def _start(self, element: etree._Element, tag: str) -> bool:
        """Open an element; false when its content is not read."""
        attributes = element.attrib
        if tag in markup.SKIPPED or (tag == "button" and not self._is_label(attributes)):
            return False
        level = None
        if attributes:
            self._note_ids(attributes, tag)
            if tag == "a" and self._state.kind == "heading" and markup.is_permalink(element):
                return False
            if markup.is_line_numbers(tag, attributes):
                return False
            level = markup.heading_level(tag, attributes)
        if tag in markup.BLOCKS or level is not None:
            self._open_block(element, tag, level)
            return True
        self._stack.append((self._state, False))
        if tag == "br":
            self._break()
        elif tag == "a" and not self._inline.in_anchor and "href" in attributes:
            self._inline.open_anchor(str(attributes["href"]))
            self._anchor_depth = len(self._stack)
        return True

    def _is_label(self, attributes: etree._Attrib) -> bool:
        state = self._state
        if state.kind in ("heading", "term") or state.tag == "summary":
            return True
        return markup.is_opener(attributes)

    def _note_ids(self, attributes: etree._Attrib, tag: str) -> None:
        """Keep an element's ids until it is known whether a heading is what follows them."""
        identifier = attributes.get("id")
        if identifier:
            self._pending.append(identifier)
        if tag == "a":
            name = attributes.get("name")
            if name and name != identifier:
                self._pending.append(name)

    def _open_block(self, element: etree._Element, tag: str, level: int | None) -> None:
        state = self._state
        ids, self._pending = self._pending, []
        if state.kind == "row" and state.whole and tag in ("td", "th") and self._inline.parts:
            self._emit(" | ")
        self._boundary()
        self._pending += ids
        self._stack.append((state, True))
        if state.whole:
            return
        attributes = element.attrib
        self._parents.append(state.container)
        inside = state.inside_main or tag in ("main", "article") or attributes.get("role") == "main"
        opened = _State(
            state.kind,
            state.level,
            region_of(element, tag, state.region, state.inside_main),
            inside,
            len(self._parents) - 1,
            state.indent,
            tag,
            False,
            state.code,
            state.panel or is_panel(element, tag, inside),
        )
        self._state = self._special(opened, element, tag, level)

    def _special(
        self, state: _State, element: etree._Element, tag: str, level: int | None
    ) -> _State:
        """What the element itself says about the text in it."""
        level = level or markup.HEADINGS.get(tag)
        if level is not None:
            return state._replace(kind="heading", level=level, tag=f"h{level}", whole=True)
        if tag == "li":
            self._items.append(False)
            return state._replace(kind="item", indent=max(1, state.indent))
        if tag in markup.LISTS:
            return state._replace(indent=state.indent + 1)
        if tag == "dt":
            return state._replace(kind="term", whole=True)
        if tag == "dd":
            return state._replace(kind="text", indent=state.indent + 1)
        if tag == "table":
            self._layouts.append(markup.is_layout(element))
            return state._replace(kind="text")
        if tag == "tr" and self._layouts and not self._layouts[-1]:
            return state._replace(kind="row", whole=True)
        if tag in markup.CODE:
            return state._replace(kind="code", code=True, whole=True)
        if tag in markup.CAPTIONS:
            return state._replace(kind="caption")
        if tag in markup.PLAIN and state.kind not in ("item", "text"):
            return state._replace(kind="text")
        return state

    def _end(self) -> None:
        state, is_block = self._stack.pop()
        if self._inline.in_anchor and len(self._stack) < self._anchor_depth:
            self._inline.close_anchor()
        if not is_block:
            return
        if self._state is state:
            self._boundary()
            return
        self._flush()
        if self._state.tag == "li":
            self._items.pop()
        elif self._state.tag == "table":
            self._layouts.pop()
        self._state = state

    def _emit(self, text: str) -> None:
        if self._state.code:
            self._inline.add_code(text)
        else:
            self._inline.add(text)

    def _break(self) -> None:
        if self._state.code:
            self._inline.add_code("\n")
        elif not self._inline.parts:
            return
        elif self._state.whole:
            self._inline.add(" ")
        elif self._inline.break_line():
            self._flush()

    def _boundary(self) -> None:
        """A block element begins or ends: so does the block, unless it is read as a whole."""
        if not self._state.whole:
            self._flush()
        elif not self._state.code:
            self._inline.add(" ")
        elif self._inline.parts and not self._inline.parts[-1].endswith("\n"):
            self._inline.add_code("\n")

    def _flush(self) -> None:
        """End the block: what was collected becomes one, if there is text in it."""
        text, links, linked = self._inline.take()
        state = self._state
        text = text.strip("\n").rstrip() if state.code else text.strip()
        if not text.strip(" |\n"):
            return
        ids = tuple(dict.fromkeys(self._pending)) if state.kind in ("heading", "term") else ()
        self._pending.clear()
        self._blocks.append(
            Block(
                self._kind(),
                text.replace("\n", " ") if state.kind == "heading" else text,
                state.region,
                state.inside_main,
                state.container,
                state.tag,
                level=state.level,
                indent=state.indent,
                ids=ids,
                links=links,
                linked=linked,
                panel=state.panel,
            )
        )

    def _kind(self) -> BlockKind:
        """Only the first block of a list item carries its mark."""
        if self._state.kind != "item":
            return self._state.kind
        if self._items and not self._items[-1]:
            self._items[-1] = True
            return "item"
        return "text"
