"""What is read from a page: its text, its headings with exact offsets, and its links."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from lxml import etree, html
from pydantic import BaseModel, ConfigDict

from config.policy import POLICY
from crawler import linking, main_content, rendering
from crawler.blocks import Block, squeeze
from crawler.decoding import decode
from crawler.documents import parse
from crawler.limits import PARSE, ParseLimits
from crawler.quiet import silence_foreign_loggers
from crawler.regions import Region
from crawler.scope import Scope
from crawler.urls import HTML_SPACE
from crawler.walk import Walker
from domain.errors import PageRejected

_REFRESH = re.compile(r"\s*0*(?:\.0*)?\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']*)", re.IGNORECASE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")

silence_foreign_loggers()


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Heading(_Frozen):
    """A heading of the text: ``text[offset : offset + len(title)] == title``.

    ``level`` is 1 to 6; ``ids`` are the page's anchors that lead here; ``section_id`` is opaque
    and valid within this page.
    """

    title: str
    level: int
    offset: int
    ids: tuple[str, ...]
    section_id: str


class Link(_Frozen):
    """A link of the page. ``url`` is canonical and in scope when the page was read with a scope,
    else absolute as found; ``fragment`` names an anchor of the target; ``context`` is at most
    240 characters of the prose around it, empty for a link that only stood in a menu."""

    label: str
    url: str
    context: str
    fragment: str = ""


class ExtractedPage(_Frozen):
    """What was read. ``truncated``: a part of the page was left out; ``language`` is the page's
    own declaration, a primary tag such as ``fr``."""

    title: str
    text: str
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    truncated: bool
    language: str | None


def extract(
    body: bytes,
    content_type: str | None,
    url: str,
    *,
    scope: Scope | None = None,
    limits: ParseLimits = PARSE,
) -> ExtractedPage:
    """Read one page.

    Args:
        body: the decoded body's bytes.
        content_type: the header's value, with its charset.
        url: the page's canonical URL; relative links resolve against it.
        scope: the source's rules; with them only links that may be followed are returned.

    Never raises for what a page contains; memory and time are the caller's to limit.
    """
    text = decode(body, content_type)
    media_type = (content_type or "").split(";", 1)[0].strip().lower()
    if media_type == "text/plain":
        return _plain(text, limits)
    document = parse(text)
    if document is None:
        return ExtractedPage(
            title="", text="", headings=(), links=(), truncated=False, language=None
        )
    root = document.root
    walk = Walker(root).walk()
    title, base_href, refresh = _title(root), _base_href(root), _refresh(root)
    main_content.choose(walk, root, limits)
    rendered, sections, cut = rendering.render(walk.blocks, limits.text_chars)
    blocks = walk.blocks
    if refresh is not None:
        blocks = [*blocks, _refresh_block(refresh)]
    found = linking.collect(
        blocks,
        url,
        lambda reference: _resolve(scope, url, reference, base_href),
        limits,
        POLICY.page.link_context_chars,
    )
    if not title:
        title = next((section.title for section in sections if section.level == 1), "")
    return ExtractedPage(
        title=title[: limits.title_chars],
        text=rendered,
        headings=tuple(
            Heading(
                title=section.title,
                level=section.level,
                offset=section.offset,
                ids=section.ids,
                section_id=f"s{number}",
            )
            for number, section in enumerate(sections, 1)
        ),
        links=tuple(
            Link(
                label=link.label,
                url=link.url,
                context=link.context,
                fragment=link.fragment,
            )
            for link in found
        ),
        truncated=document.truncated or cut,
        language=_language(root),
    )


def _plain(text: str, limits: ParseLimits) -> ExtractedPage:
    cut = len(text) > limits.text_chars
    kept = text[: limits.text_chars].replace("\r\n", "\n").strip()
    first = next((line.strip() for line in kept.splitlines() if line.strip()), "")
    return ExtractedPage(
        title=first[: limits.title_chars],
        text=kept,
        headings=(),
        links=(),
        truncated=cut,
        language=None,
    )


def _resolve(scope: Scope | None, url: str, reference: str, base_href: str | None) -> str:
    if scope is not None:
        return scope.admit_link(url, reference, base_href)
    try:
        base = urljoin(url, base_href.strip(HTML_SPACE)) if base_href else url
        return urljoin(base, reference.strip(HTML_SPACE))
    except ValueError:
        raise PageRejected("invalid_url") from None


def _title(root: html.HtmlElement) -> str:
    for element in root.iter("title"):
        return squeeze("".join(element.itertext())).strip()
    return ""


def _base_href(root: html.HtmlElement) -> str | None:
    for element in root.iter("base"):
        href = element.get("href")
        if href is not None:
            return str(href)
    return None


def _refresh(root: html.HtmlElement) -> str | None:
    """The target of a refresh without delay, which is a link here and never followed."""
    for element in root.iter("meta"):
        if (element.get("http-equiv") or "").strip().lower() == "refresh":
            found = _REFRESH.fullmatch(element.get("content") or "")
            if found and found.group(1).strip():
                return found.group(1).strip()
    return None


def _refresh_block(target: str) -> Block:
    from crawler.blocks import RawLink

    label = "This page moved"
    return Block(
        "text",
        label,
        Region.FURNITURE,
        False,
        0,
        "meta",
        links=[RawLink(target, 0, label)],
    )


def _language(root: html.HtmlElement) -> str | None:
    tag = root if isinstance(root, etree._Element) else None
    declared = (tag.get("lang") or tag.get("xml:lang") or "") if tag is not None else ""
    primary = declared.strip().lower().replace("_", "-").split("-")[0]
    return primary if primary.isalpha() and 2 <= len(primary) <= 3 else None
