"""URLs of pages: the raw text is judged first, and only a canonical form leaves this module.

Nothing here asks a URL library, because they disagree with each other and with browsers about
back slashes, empty authorities, missing slashes, dot segments, ports and white space. A text on
which they could disagree is refused. A canonical URL is ASCII, has a lower-case scheme and host,
no port, no user, no query and no fragment, and percent-encodings with upper-case hex digits.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from config.policy import POLICY
from crawler.hosts import Host, parse_host
from domain.errors import PageRejected

Scheme = Literal["http", "https"]

HTML_SPACE: Final = " \t\n\r\f"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_FORBIDDEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\\\\\ud800-\\udfff]")
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_~!$&'()*+,=:@\-][A-Za-z0-9._~!$&'()*+,=:@\-]*)*/?")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNSAFE = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@%]")
_PORT = re.compile(r"[0-9]*")
_DEFAULT_PORT: Final[dict[Scheme, str]] = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Url:
    """A judged URL; ``str()`` is its canonical form."""

    scheme: Scheme
    host: Host
    path: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host.text}{self.path}"

    def secured(self) -> Url:
        return self if self.scheme == "https" else Url("https", self.host, self.path)


@dataclass(frozen=True, slots=True)
class Base:
    """What relative references resolve against; an empty one is refused when it had a query."""

    url: Url
    query: bool = False


def parse_url(raw: str) -> Url:
    """Judge an absolute URL as an operator writes it: white space is refused.

    Raises:
        PageRejected: ``invalid_url``.
    """
    text = _without_fragment(raw)
    if " " in text:
        raise PageRejected("invalid_url")
    return _absolute(text)


def resolve(base: Base, raw: str) -> Url:
    """Judge a reference as it stands in a page or a header, relative to ``base``.

    Relative-path references are resolved by RFC 3986 before the path rules; dot segments in
    absolute references are refused, because servers and proxies disagree about them.

    Raises:
        PageRejected: ``invalid_url``.
    """
    text = _without_fragment(raw)
    if not text:
        if base.query:
            raise PageRejected("invalid_url")
        return base.url
    if "?" in text:
        raise PageRejected("invalid_url")
    if _SCHEME.match(text):
        return _absolute(text)
    if text.startswith("//"):
        return _absolute(f"{base.url.scheme}:{text}")
    if text.startswith("/"):
        return Url(base.url.scheme, base.url.host, canonical_path(text))
    if ":" in text.split("/", 1)[0] or "//" in text:
        raise PageRejected("invalid_url")
    merged = _remove_dot_segments(base.url.path.rpartition("/")[0] + "/" + text)
    return Url(base.url.scheme, base.url.host, canonical_path(merged))


def resolve_base(page: Url, raw: str) -> Base | None:
    """The base that ``<base href=raw>`` gives a page; ``None`` for one that HTML ignores.

    Raises:
        PageRejected: ``invalid_url``; links that need the base are refused with it.
    """
    text = raw.strip(HTML_SPACE)
    scheme = _SCHEME.match(text)
    if scheme and scheme.group(1).lower() in ("javascript", "data"):
        return None
    before_fragment = text.split("#", 1)[0]
    plain, mark, _ = before_fragment.partition("?")
    return Base(resolve(Base(page), plain), query=bool(mark))


def is_absolute(raw: str) -> bool:
    """Whether a reference names its own scheme and so needs no base."""
    return _SCHEME.match(raw.strip(HTML_SPACE)) is not None


def canonical_path(raw: str) -> str:
    """A path with its encodings judged and everything outside RFC 3986's ``pchar`` encoded.

    Raises:
        PageRejected: ``invalid_url`` for empty or dot segments, encoded slashes, back slashes,
            percent signs and control characters, malformed or non-UTF-8 encodings, and
            characters that compatibility normalisation turns into path syntax.
    """
    if _PLAIN_PATH.fullmatch(raw):
        return raw or "/"
    if not raw.startswith("/"):
        raise PageRejected("invalid_url")
    _first, *segments = raw.split("/")
    if any(not segment for segment in segments[:-1]):
        raise PageRejected("invalid_url")
    return "/" + "/".join(_segment(segment) for segment in segments)


def _without_fragment(raw: str) -> str:
    if not isinstance(raw, str) or len(raw) > POLICY.page.url_chars:
        raise PageRejected("invalid_url")
    text = raw.split("#", 1)[0]
    if _FORBIDDEN.search(text):
        raise PageRejected("invalid_url")
    return text


def _absolute(text: str) -> Url:
    found = _SCHEME.match(text)
    name = found.group(1).lower() if found else ""
    if name not in ("http", "https") or "?" in text:
        raise PageRejected("invalid_url")
    scheme: Scheme = "https" if name == "https" else "http"
    rest = text[len(name) + 1 :]
    if not rest.startswith("//"):
        raise PageRejected("invalid_url")
    authority, slash, path = rest[2:].partition("/")
    return Url(scheme, _authority(authority, scheme), canonical_path(slash + path))


@lru_cache(maxsize=512)
def _authority(raw: str, scheme: Scheme) -> Host:
    if not raw or "@" in raw or " " in raw:
        raise PageRejected("invalid_url")
    if raw.startswith("["):
        host, bracket, port_text = raw.partition("]")
        host += bracket
        colon, port = port_text[:1], port_text[1:]
        if colon not in ("", ":"):
            raise PageRejected("invalid_url")
    else:
        host, _, port = raw.partition(":")
    if not _PORT.fullmatch(port):
        raise PageRejected("invalid_url")
    # The port has to be the scheme's own: http on 443 and https on 80 are refused.
    if port and port.lstrip("0") != _DEFAULT_PORT[scheme]:
        raise PageRejected("invalid_url")
    return parse_host(host)


def _segment(raw: str) -> str:
    escapes = _ESCAPE.findall(raw)
    if "" in escapes:
        raise PageRejected("invalid_url")
    try:
        decoded = _decode(raw) if escapes else raw
    except UnicodeDecodeError:
        raise PageRejected("invalid_url") from None
    if any(character in decoded for character in "/\\%") or _FORBIDDEN.search(decoded):
        raise PageRejected("invalid_url")
    # Java servers strip everything after a semicolon before they read dots.
    if decoded.split(";", 1)[0] in (".", ".."):
        raise PageRejected("invalid_url")
    if not decoded.isascii():
        for character in decoded:
            if character > "\x7f" and any(
                syntax in unicodedata.normalize("NFKC", character) for syntax in "/\\.%"
            ):
                raise PageRejected("invalid_url")
    encoded = _UNSAFE.sub(_quote, raw)
    return _ESCAPE.sub(lambda match: match.group().upper(), encoded)


def _decode(raw: str) -> str:
    # Strict UTF-8 refuses overlong forms, surrogates and lone continuation bytes.
    parts = _ESCAPE.split(raw.encode("utf-8").decode("latin-1"))
    plain = (part.encode("latin-1") for part in parts[::2])
    hexes = (bytes.fromhex(part) for part in parts[1::2])
    out = bytearray(next(plain))
    for byte, text in zip(hexes, plain, strict=True):
        out += byte
        out += text
    return out.decode("utf-8")


def _quote(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8"))


def _remove_dot_segments(path: str) -> str:
    """RFC 3986, section 5.2.4, for a path that starts with a slash and has no empty segment."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for place, segment in enumerate(segments):
        last = place == len(segments) - 1
        if segment == "..":
            if kept:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
            continue
        if last:
            kept.append("")
    return "/" + "/".join(kept)
