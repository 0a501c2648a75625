"""What a source allows: its exact host, its path subtrees, and https once it was used.

A :class:`Scope` judges three kinds of text: the operator's source, a link of a page and a
redirect's ``Location``. Each gives one canonical URL, the only text that a client may dial.

Codes, in their order of precedence: ``invalid_url`` for syntax, ``non_public_address`` for a
literal, then scope (``redirect_out_of_scope`` for redirects, ``out_of_scope`` for a link, which
is simply not offered, and for a source outside its own prefixes).
"""

from __future__ import annotations

from dataclasses import dataclass

from crawler.urls import (
    HTML_SPACE,
    Base,
    Url,
    canonical_path,
    is_absolute,
    parse_url,
    resolve,
    resolve_base,
)
from domain.errors import PageRejected


@dataclass(frozen=True)
class WebSource:
    """An operator's source: its entry page and the path subtrees that may be read.

    Without prefixes the subtree is the entry page's parent directory.
    """

    url: str
    allowed_path_prefixes: tuple[str, ...] = ()


class Scope:
    """The rules of one source.

    Args:
        source: as configured.
        secure: https was already used for this source in this run, so http URLs of the same host
            become https.

    Raises:
        PageRejected: by every method, with its code.
    """

    def __init__(self, source: WebSource, *, secure: bool = False) -> None:
        self.source = source
        self.secure = secure
        self._seed: Url | None = None
        self._subtrees: tuple[str, ...] = ()
        self._page: tuple[str, Url] | None = None
        self._base: tuple[str, str, Base | PageRejected] | None = None

    def admit_source(self) -> str:
        """The canonical URL of the entry page."""
        seed = self._judged_seed()
        return str(self._admit(seed, "out_of_scope", secure=self.secure))

    def admit_link(self, page_url: str, href: str, base_href: str | None = None) -> str:
        """The canonical URL of a link found in ``page_url``.

        Args:
            page_url: the canonical URL of the page that was read.
            href: the attribute as it stands in the page.
            base_href: the first ``<base href>`` of the page, as it stands there.
        """
        return str(self.link(page_url, href, base_href))

    def link(self, page_url: str, href: str, base_href: str | None = None) -> Url:
        """The same as :meth:`admit_link`, as a judged URL."""
        page = self._judged_page(page_url)
        base = Base(page)
        reference = href.strip(HTML_SPACE)
        # An absolute link does not need the base, so a broken base cannot refuse it.
        if base_href and not is_absolute(reference):
            base = self._judged_base(page_url, page, base_href)
        secure = self.secure or page.scheme == "https"
        return self._admit(resolve(base, reference), "out_of_scope", secure=secure)

    def admit_redirect(self, page_url: str, location: str | None) -> str:
        """The canonical URL that a redirect of ``page_url`` leads to; codes as for links, and
        ``redirect_missing_location`` and ``redirect_out_of_scope``."""
        target = (location or "").strip(HTML_SPACE)
        if not target:
            raise PageRejected("redirect_missing_location")
        page = self._judged_page(page_url)
        secure = self.secure or page.scheme == "https"
        resolved = resolve(Base(page), target)
        return str(self._admit(resolved, "redirect_out_of_scope", secure=secure))

    def _judged_seed(self) -> Url:
        if self._seed is None:
            seed = parse_url(self.source.url)
            prefixes = self.source.allowed_path_prefixes or (seed.path.rpartition("/")[0] + "/",)
            self._subtrees = tuple(_subtree(prefix) for prefix in prefixes)
            self._seed = seed
        return self._seed

    def _judged_page(self, page_url: str) -> Url:
        if self._page is None or self._page[0] != page_url:
            self._page = (page_url, parse_url(page_url))
        return self._page[1]

    def _judged_base(self, page_url: str, page: Url, base_href: str) -> Base:
        # A page has one base and many links: its verdict is kept, a refusal included.
        if self._base is None or self._base[:2] != (page_url, base_href):
            verdict: Base | PageRejected
            try:
                verdict = resolve_base(page, base_href) or Base(page)
            except PageRejected as refusal:
                verdict = refusal
            self._base = (page_url, base_href, verdict)
        kept = self._base[2]
        if isinstance(kept, PageRejected):
            raise PageRejected(kept.code)
        return kept

    def _admit(self, url: Url, scope_code: str, *, secure: bool) -> Url:
        seed = self._judged_seed()
        if not url.host.public:
            raise PageRejected("non_public_address")
        if url.host.text != seed.host.text or not self._contains(url.path):
            raise PageRejected(scope_code)
        return url.secured() if secure or seed.scheme == "https" else url

    def _contains(self, path: str) -> bool:
        return any(path == subtree or path.startswith(f"{subtree}/") for subtree in self._subtrees)


def admit_source(source: WebSource) -> str:
    """The canonical URL of a source's entry page.

    Raises:
        PageRejected: see :class:`Scope`.
    """
    return Scope(source).admit_source()


def admit_link(source: WebSource, page_url: str, href: str, base_href: str | None = None) -> str:
    """The canonical URL of a link of ``page_url``.

    Raises:
        PageRejected: see :class:`Scope`.
    """
    return Scope(source).admit_link(page_url, href, base_href)


def admit_redirect(source: WebSource, page_url: str, location: str | None) -> str:
    """The canonical URL that a redirect of ``page_url`` leads to.

    Raises:
        PageRejected: see :class:`Scope`.
    """
    return Scope(source).admit_redirect(page_url, location)


def _subtree(prefix: str) -> str:
    """A prefix names a subtree with or without its trailing slash; the root's is empty."""
    if not prefix.startswith("/") or "?" in prefix or "#" in prefix or " " in prefix:
        raise PageRejected("invalid_url")
    return canonical_path(prefix).rstrip("/")
