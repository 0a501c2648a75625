"""Which parts of a page are furniture: navigation, headers, footers, asides.

The verdict never overrules the oracle of main content; it decides what is kept besides, and which
links have prose around them.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from itertools import islice, pairwise
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
# Names that say what an element is wherever they stand in a class or an id.
_PLACES: Final = frozenset(
    """nav navbar navigation navlink navlinks breadcrumb breadcrumbs menu megamenu cookie cookies
    consent gdpr skiplink skipnav pagination pager prevnext siteheader sitefooter pagefooter footer
    masthead sidenav sidebar sphinxsidebar toc popup modal overlay toolbar advertisement""".split()  # noqa: SIM905
)
# Words of ordinary language: they name an element at the edge of a class, or before what such an
# element is called. Within a title they say nothing: "handling-security-related-bugs".
_TOPICS: Final = frozenset(
    """related share sharing social newsletter subscribe signup promo advert ad ads banner comment
    comments disqus feedback tag tags byline meta recommended trending popular widget authorbio
    authorbox""".split()  # noqa: SIM905
)
_CALLED: Final = frozenset(
    """article articles post posts story stories content link links form bar box button buttons icon
    icons container wrapper list widget item items slot unit section""".split()  # noqa: SIM905
)
_PAIRS: Final = frozenset(
    {
        ("mega", "menu"),
        ("skip", "link"),
        ("skip", "nav"),
        ("prev", "next"),
        ("site", "header"),
        ("side", "bar"),
        ("author", "bio"),
        ("author", "box"),
    }
)
_TABLE_OF_CONTENTS: Final = "table-of-contents"
_NEGATIONS: Final = frozenset({"has", "with", "no"})
_PARTS: Final = re.compile(r"\s+|__|--")
_SHORT_NAME: Final = 2
_FIRST_CHILDREN: Final = 4
_PANELS: Final = re.compile(
    r"(?:^|[\s_-])(?:accordion|collapse|collapsible|tab-?(?:pane|panel|content)|faq|admonition|callout"
    r"|note|tip|warning)(?:$|[\s_-])",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 300
_NAME_CHARS: Final = 400
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
        if (
            not (tag == "p" and inside_main)
            and _is_named_furniture(element)
            and not _holds_the_content(element)
        ):
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


def _is_named_furniture(element: etree._Element) -> bool:
    attributes = element.attrib
    names = attributes.get("class")
    if names and _is_furniture(names[:_NAME_CHARS], False):
        return True
    identifier = attributes.get("id")
    # A section's id is made of its title: "related-packages" says nothing about its place.
    return (
        identifier is not None
        and _is_furniture(identifier[:_NAME_CHARS], True)
        and not _is_headed(element)
    )


def _is_headed(element: etree._Element) -> bool:
    return any(child.tag in HEADINGS for child in islice(element, _FIRST_CHILDREN))


# A page repeats few names very often.
@lru_cache(maxsize=4_096)
def _is_furniture(names: str, identifier: bool) -> bool:
    return any(_names_furniture(part, identifier) for part in _PARTS.split(names.lower()) if part)


def _names_furniture(part: str, identifier: bool) -> bool:
    """Whether one name, or one part of a compound one, is a name of furniture. Identifiers are
    often made of titles, so ordinary words count in short ones only."""
    words = [word for word in part.replace("_", "-").split("-") if word]
    if not words:
        return False
    pairs = list(pairwise(words))
    if any(
        word in _PLACES and (place == 0 or words[place - 1] not in _NEGATIONS)
        for place, word in enumerate(words)
    ):
        return True
    if _TABLE_OF_CONTENTS in part or any(pair in _PAIRS for pair in pairs):
        return True
    if any(first in _TOPICS and second in _CALLED for first, second in pairs):
        return True
    if identifier:
        return len(words) <= _SHORT_NAME and words[-1] in _TOPICS
    return not _TOPICS.isdisjoint((*words[:1], *words[-1:])) and words[0] not in _NEGATIONS


@lru_cache(maxsize=4_096)
def _names_a_panel(names: str) -> bool:
    return _PANELS.search(names) is not None


def _holds_the_content(element: etree._Element) -> bool:
    """A class on a wrapper says what the wrapper has somewhere, not what it is."""
    first = islice(element.iterdescendants(), _LOOKED_AT)
    return any(inner.tag in ("main", "h1", "article") for inner in first)
