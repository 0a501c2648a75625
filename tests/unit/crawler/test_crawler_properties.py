"""Rules that hold for every input, not only for the handed-over cases."""

from __future__ import annotations

import ipaddress
import re
import string
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.addresses import is_public
from crawler.extract import extract
from crawler.fetch import dialled
from crawler.scope import Scope, WebSource
from crawler.windows import cut
from domain.errors import PageRejected

SEED = "https://www.example.org/policies/index.html"
PAGE = "https://www.example.org/policies/a/b"
CANONICAL = re.compile(
    r"https?://[a-z0-9._\-\[\]:]+/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})*"
)

pieces = st.sampled_from(
    [
        "https://", "http://", "//", "/", "\\", "..", ".", "%2e", "%2F", "%252e", "%", "@", ":",
        "?", "#", ";", "www.example.org", "evil.example", "policies", "policies-other", "127.0.0.1",
        "0x7f.1", "[::1]", ":443", ":80", ":8443", " ", "\t", "\n", "\x00", "é", "／", "。", "％",
        "javascript:", "data:", "x", "index.html", "xn--a", "\ud800", "%c0%ae", "%E2%80%A5", "K",
    ]
)  # fmt: skip
references = st.one_of(st.lists(pieces, max_size=8).map("".join), st.text(max_size=30))


@settings(max_examples=600, deadline=None)
@given(reference=references, base=st.one_of(st.none(), references), redirect=st.booleans())
def test_nothing_outside_the_host_and_the_subtree_is_admitted(
    reference: str, base: str | None, redirect: bool
) -> None:
    scope = Scope(WebSource(SEED))
    try:
        if redirect:
            url = scope.admit_redirect(PAGE, reference)
        else:
            url = scope.admit_link(PAGE, reference, base)
    except PageRejected:
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == (
        "https",
        "www.example.org",
        "",
        "",
    )
    assert parts.path == "/policies" or parts.path.startswith("/policies/")
    assert CANONICAL.fullmatch(url)
    segments = parts.path.split("/")
    assert not {".", ".."} & set(segments)
    assert "" not in segments[1:-1]
    # A canonical URL admits to itself, and it is what a client dials.
    assert scope.admit_link(url, url) == url
    target = dialled(url)
    assert (target.host, target.port) == (b"www.example.org", None)
    assert target.target == parts.path.encode()


@settings(max_examples=300, deadline=None)
@given(url=references, prefix=st.one_of(st.none(), references))
def test_a_source_is_admitted_to_itself_or_refused(url: str, prefix: str | None) -> None:
    source = WebSource(url, (prefix,) if prefix is not None else ())
    try:
        canonical = Scope(source).admit_source()
    except PageRejected:
        return
    assert Scope(source).admit_link(canonical, canonical) == canonical
    assert Scope(WebSource(canonical)).admit_source() == canonical


@given(st.text(alphabet=string.printable, max_size=40))
def test_an_address_is_public_only_in_canonical_form(text: str) -> None:
    if is_public(text):
        assert ipaddress.ip_address(text).is_global


@given(st.ip_addresses(v=4))
def test_no_special_ipv4_address_is_public(address: ipaddress.IPv4Address) -> None:
    special = (
        address.is_private
        or address.is_multicast
        or address.is_reserved
        or address.is_loopback
        or address.is_link_local
        or address.is_unspecified
    )
    if special:
        assert not is_public(str(address))


@given(st.ip_addresses(v=6))
def test_only_global_unicast_ipv6_is_public(address: ipaddress.IPv6Address) -> None:
    if is_public(str(address)):
        assert address in ipaddress.ip_network("2000::/3")
        assert address.sixtofour is None
        assert address.teredo is None
        assert address.ipv4_mapped is None


@given(st.text(alphabet="ab \n", max_size=400), st.integers(1, 50))
def test_windows_join_to_the_text(text: str, limit: int) -> None:
    parts, offset = [], 0
    while True:
        piece, following = cut(text, offset, limit)
        assert len(piece) <= limit
        parts.append(piece)
        if following is None:
            break
        assert following > offset
        offset = following
    assert "".join(parts) == text


tags = st.sampled_from(
    [
        "p", "div", "h1", "h2", "h3", "a", "ul", "li", "table", "tr", "td", "pre", "br", "dl", "dt",
        "dd", "span", "b", "details", "summary", "section", "main", "nav", "button", "form",
        "style",
    ]
)  # fmt: skip
snippets = st.one_of(
    tags.map(lambda tag: f"<{tag} id={tag}1 class=nav>"),
    tags.map(lambda tag: f"<{tag}>"),
    tags.map(lambda tag: f"</{tag}>"),
    st.sampled_from(
        ["<a href=x>", "<a href='#x'>", "<a href='//evil.example/'>", "&#1;", "<!--", "]]>"]
    ),
    st.text(max_size=30),
    st.just("Some words of prose that are long enough to be content of the page. "),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(snippets, max_size=40).map("".join))
def test_any_markup_gives_a_consistent_page(markup: str) -> None:
    body = markup.encode("utf-8", "surrogatepass")
    page = extract(body, "text/html", PAGE, scope=Scope(WebSource(SEED)))
    page.model_dump_json()
    for heading in page.headings:
        assert page.text[heading.offset : heading.offset + len(heading.title)] == heading.title
        assert heading.title.strip() == heading.title != ""
    for link in page.links:
        assert link.url.startswith("https://www.example.org/policies")
        assert link.label
        assert len(link.context) <= 240


@pytest.mark.parametrize("length", [65_536, 65_537])
def test_a_url_is_bounded(length: int) -> None:
    start = "https://www.example.org/"
    source = WebSource(start + "x" * (length - len(start)))
    if length > 65_536:
        with pytest.raises(PageRejected):
            Scope(source).admit_source()
    else:
        assert Scope(source).admit_source() == source.url
