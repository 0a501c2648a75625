"""Which parts of a page are furniture: navigation, headers, footers, asides.

The verdict never overrules the oracle of main content; it decides what is kept besides, and which
links have prose around them.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from typing import Final

from lxml import etree

from crawler.markup import HEADINGS


class Region(IntEnum):
    """How far a block is from being content."""

    CONTENT = 0
    ASIDE = 1
    FURNITURE = 2


_ROLES: Final = {
    "navigation": Region.FURNITURE,
    "banner": Region.FURNITURE,
    "contentinfo": Region.FURNITURE,
    "search": Region.FURNITURE,
    "menu": Region.FURNITURE,
    "menubar": Region.FURNITURE,
    "dialog": Region.FURNITURE,
    "alertdialog": Region.FURNITURE,
    "complementary": Region.ASIDE,
}
_TAGS: Final = {
    "nav": Region.FURNITURE,
    "dialog": Region.FURNITURE,
    "search": Region.FURNITURE,
    "menu": Region.FURNITURE,
    "footer": Region.FURNITURE,
    "aside": Region.ASIDE,
    "header": Region.ASIDE,
}
_NAMES: Final = re.compile(
    r"""(?<!has-)(?<!with-)(?<!no-)(?:^|[\s_-])(?:
    nav(?:bar|igation|links?)?|breadcrumbs?|menu|mega-?menu|cookies?|consent|gdpr|skip-?(?:link|nav)
    |pagination|pager|prev-?next|site-?(?:header|footer)|page-?footer|footer|masthead|sidenav|sidebar
    |side-?bar|sphinxsidebar|related|share|sharing|social|newsletter|subscribe|signup|promo|advert
    |advertisement|ads?|banner|comments?|disqus|toc|table-of-contents|popup|modal|overlay|toolbar
    |feedback|tags?|author-?(?:bio|box)|byline|meta|recommended|trending|popular|widget
    )(?:$|[\s_-])""",
    re.IGNORECASE | re.VERBOSE,
)
_PANELS: Final = re.compile(
    r"(?:^|[\s_-])(?:accordion|collapse|collapsible|tab-?(?:pane|panel|content)|faq|admonition|callout"
    r"|note|tip|warning)(?:$|[\s_-])",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 300
_NEVER: Final = frozenset({"html", "body", "main", "article"})


def region_of(element: etree._Element, tag: str, outer: Region, inside_main: bool) -> Region:
    """The region that an element opens, never nearer to content than ``outer``."""
    if tag in _NEVER or outer == Region.FURNITURE:
        return outer
    attributes = element.attrib
    found = _TAGS.get(tag, Region.CONTENT)
    if inside_main and tag in ("footer", "header"):
        found = Region.ASIDE if tag == "footer" else Region.CONTENT
    if attributes:
        role = attributes.get("role")
        if role:
            found = max(found, _ROLES.get(role.strip().lower(), Region.CONTENT))
        names = attributes.get("class") or ""
        # A section's id is made of its title: "related-packages" says nothing about its place.
        if "id" in attributes and not _is_headed(element):
            names = f"{names} {attributes.get('id', '')}"
        if len(names) > 1 and _is_furniture(names[:400]) and not _holds_the_content(element):
            found = Region.FURNITURE
    return max(outer, found)


def is_panel(element: etree._Element, tag: str, inside_main: bool) -> bool:
    """Whether an element is a part of the content that a reader opens or that stands beside it:
    an accordion's or a tab's panel, a note. Extractors take those for furniture."""
    if tag == "details" or (tag == "aside" and inside_main):
        return True
    attributes = element.attrib
    if attributes.get("role") == "tabpanel" or ("hidden" in attributes and inside_main):
        return True
    names = attributes.get("class")
    return names is not None and _names_a_panel(names[:200])


def _is_headed(element: etree._Element) -> bool:
    return any(child.tag in HEADINGS for child in islice(element, 2))


# A page repeats few names very often.
@lru_cache(maxsize=4_096)
def _is_furniture(names: str) -> bool:
    return _NAMES.search(names) is not None


@lru_cache(maxsize=4_096)
def _names_a_panel(names: str) -> bool:
    return _PANELS.search(names) is not None


def _holds_the_content(element: etree._Element) -> bool:
    """A class on a wrapper says what the wrapper has somewhere, not what it is."""
    first = islice(element.iterdescendants(), _LOOKED_AT)
    return any(inner.tag in ("main", "h1", "article") for inner in first)
