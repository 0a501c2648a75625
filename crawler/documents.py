"""A page's text as a tree that is safe to walk: bounded, without scripts, truncation known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import dropwhile
from typing import Final

from lxml import etree, html

_DROPPED: Final = (
    "style",
    "svg",
    "template",
    "noscript",
    "iframe",
    "object",
    "embed",
    "canvas",
    "audio",
    "video",
    "map",
    "textarea",
    "datalist",
)
_METADATA: Final = frozenset({"title", "meta", "link", "base", "script", "basefont", "isindex"})
_MAX_CHARS: Final = 4 * 1024 * 1024
# The parser compares every attribute of an element with all others: ten thousands take a minute.
_CROWDED_TAG = re.compile(
    r"<([a-zA-Z][a-zA-Z0-9:-]*+)"
    r"(?>[\s/]*+[^\s/>=\"'<][^\s/>=]*+(?>\s*+=\s*+(?>\"[^\"]*+\"|'[^']*+'|[^\s\"'>]*+))?+){500,}+"
)
_CUTS: Final = ("huge", "excessive depth", "memory", "too long", "too many", "limit")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed page. ``truncated``: the parser, or we, left a part of it out."""

    root: html.HtmlElement
    truncated: bool


def parse(text: str) -> Document | None:
    """Parse a page leniently, as HTML whatever it calls itself: no entity, no DTD, no network.

    ``None`` when there is no element at all.

    Raises:
        MemoryError: the page needs more than the process may have.
    """
    cut = len(text) > _MAX_CHARS
    data = _CROWDED_TAG.sub(r"<\1 ", text[:_MAX_CHARS]).encode("utf-8", "replace")
    parser = html.HTMLParser(
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        no_network=True,
        huge_tree=True,
    )
    try:
        root = html.document_fromstring(data, parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        if any(entry.type == etree.ErrorTypes.ERR_NO_MEMORY for entry in parser.error_log):
            raise MemoryError from None
        return None
    cut = cut or any(
        entry.level >= etree.ErrorLevels.FATAL
        or any(mark in entry.message.lower() for mark in _CUTS)
        for entry in parser.error_log
    )
    etree.strip_elements(root, *_DROPPED, with_tail=False)
    # Spans describe a grid that we do not draw, and a huge one makes the oracle fill it.
    etree.strip_attributes(root, "colspan", "rowspan")
    _close_head(root)
    return Document(root, cut)


def _close_head(root: html.HtmlElement) -> None:
    """Move what is no metadata out of the head: an author may leave both ``</head>`` and
    ``<body>`` away, and the parser does not know the newer elements that end a head."""
    head = root.find("head")
    if head is None:
        return
    strays = list(dropwhile(lambda child: child.tag in _METADATA, head))
    if not strays:
        return
    body = root.find("body")
    if body is None:
        body = etree.SubElement(root, "body")
    text, body.text = body.text, None
    own = list(body)
    body.extend(strays)
    if text:
        strays[-1].tail = (strays[-1].tail or "") + text
    body.extend(own)
