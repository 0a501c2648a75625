"""What HTML's elements mean to the walk: blocks, headings, lists, code, and what is not read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Final

from lxml import etree

BLOCKS: Final = frozenset(
    """address article aside blockquote body caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend
    li listing main menu nav noframes ol optgroup option p plaintext pre search section summary
    table tbody td tfoot th thead tr ul xmp""".split()  # noqa: SIM905 - a table of words reads better
)
SKIPPED: Final = frozenset("script head select input picture progress meter title rp".split())  # noqa: SIM905
HEADINGS: Final[Mapping[str, int]] = {f"h{level}": level for level in range(1, 7)}
LISTS: Final = frozenset({"ul", "ol", "menu", "dir"})
CODE: Final = frozenset({"pre", "listing", "xmp", "plaintext"})
CAPTIONS: Final = frozenset({"caption", "figcaption", "legend", "summary"})
PLAIN: Final = frozenset({"td", "th", "div", "section", "article", "main", "body", "blockquote"})

_LEVELS: Final = frozenset("123456")
_PERMALINK_SIGNS: Final = frozenset(
    {"", "¶", "#", "##", "§", "🔗", "⚓", "∞", "¤", "link", "permalink"}
)
_PERMALINK_CHARS: Final = 20
_PERMALINK_NAMES: Final = re.compile(
    r"header-?link|header-?anchor|anchor-?(?:link|js)|permalink|hash-?link|heading-?(?:anchor|link)"
    r"|mw-editsection",
    re.IGNORECASE,
)
_LINE_NUMBERS: Final = re.compile(
    r"\b(?:linenos?|gutter|line-?numbers?|hljs-ln-numbers)\b", re.IGNORECASE
)
_OPENERS: Final = ("aria-expanded", "data-bs-toggle", "data-accordion")
_CELL_CHARS: Final = 1_500
_CELLS_LOOKED_AT: Final = 50


def text_of(element: etree._Element) -> str:
    """All text inside an element."""
    return "".join(map(str, element.itertext()))


def heading_level(tag: str, attributes: etree._Attrib) -> int | None:
    """The rank of a heading that is written as a role; ``None`` for everything else."""
    if tag in HEADINGS or attributes.get("role") != "heading":
        return None
    level = attributes.get("aria-level", "")
    return int(level) if level in _LEVELS else 2


def is_permalink(anchor: etree._Element) -> bool:
    """Whether a link in a heading only leads to the heading itself."""
    text = text_of(anchor).strip().lower()
    if text in _PERMALINK_SIGNS:
        return bool(text) or "#" in (anchor.get("href") or "")
    named = _PERMALINK_NAMES.search(anchor.get("class") or "") is not None
    return named and len(text) <= _PERMALINK_CHARS


def is_line_numbers(tag: str, attributes: etree._Attrib) -> bool:
    """Whether an element numbers the lines of code beside it."""
    names = attributes.get("class") if tag in ("td", "span", "div") else None
    return names is not None and _names_line_numbers(names[:200])


@lru_cache(maxsize=4_096)
def _names_line_numbers(names: str) -> bool:
    return _LINE_NUMBERS.search(names) is not None


def is_opener(attributes: etree._Attrib) -> bool:
    """Whether a button names a panel: an accordion's or a tab's label."""
    return attributes.get("role") == "tab" or any(name in attributes for name in _OPENERS)


def is_layout(table: etree._Element) -> bool:
    """Whether a table only places things: nested ones, headings or long prose inside."""
    if table.get("role") in ("presentation", "none"):
        return True
    for _ in table.iterdescendants("table", *HEADINGS, "pre"):
        return True
    return any(
        len(text_of(cell)) > _CELL_CHARS
        for cell in islice(table.iterdescendants("td"), _CELLS_LOOKED_AT)
    )
