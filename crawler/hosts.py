"""Hosts of URLs in one canonical form.

A host is an IPv6 literal in brackets, a dotted IPv4 literal, or a name. Names follow IDNA2008
after lower-casing only: a host that would need any other mapping (full-width letters, ideographic
dots, decomposed accents, symbols) is refused, because parsers disagree about what it names.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import idna

from crawler.addresses import is_public_ip
from domain.errors import PageRejected

_ASCII_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_V6_TEXT = re.compile(r"[0-9A-Fa-f:.]+")


@dataclass(frozen=True, slots=True)
class Host:
    """``text`` is canonical; ``public`` is false for a literal that may not be dialled.

    A non-canonical IPv4 text that names a closed address has ``public`` false as well, so that
    the whole URL's syntax can be judged before the address is.
    """

    text: str
    public: bool = True


def parse_host(raw: str) -> Host:
    """Canonicalise the host part of an authority, without its port.

    Raises:
        PageRejected: ``invalid_url``.
    """
    if raw.startswith("["):
        return _bracketed(raw)
    if not raw or len(raw) > 1_024 or "%" in raw or "[" in raw or "]" in raw:
        raise PageRejected("invalid_url")
    labels = raw.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _numeric(raw)
    name = ".".join(_label(label) for label in labels)
    if len(name) > 253 or _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise PageRejected("invalid_url")
    return Host(name)


def _bracketed(raw: str) -> Host:
    if not raw.endswith("]") or not _V6_TEXT.fullmatch(raw[1:-1]):
        raise PageRejected("invalid_url")
    try:
        address = IPv6Address(raw[1:-1])
    except AddressValueError:
        raise PageRejected("invalid_url") from None
    return Host(f"[{address.compressed}]", is_public_ip(address))


def _numeric(raw: str) -> Host:
    """A host whose last label is a number is an IPv4 address or nothing."""
    try:
        address = IPv4Address(raw)
    except AddressValueError:
        legacy = _legacy_ipv4(raw)
        if legacy is None or is_public_ip(legacy):
            raise PageRejected("invalid_url") from None
        return Host(str(legacy), public=False)
    return Host(str(address), is_public_ip(address))


def _legacy_ipv4(raw: str) -> IPv4Address | None:
    """The value that C libraries and browsers read in a short, octal or hexadecimal form."""
    parts = raw.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    values: list[int] = []
    for part in parts:
        if len(part) > 64:
            return None
        try:
            if part[:2] in ("0x", "0X"):
                values.append(int(part[2:] or "0", 16))
            elif len(part) > 1 and part[0] == "0":
                values.append(int(part, 8))
            else:
                values.append(int(part))
        except ValueError:
            return None
    *leading, last = values
    room = 4 - len(leading)
    if any(value > 255 for value in leading) or last >= 256**room:
        return None
    number = last
    for place, value in enumerate(leading):
        number += value << (8 * (3 - place))
    return IPv4Address(number)


def _label(raw: str) -> str:
    lowered = raw.lower() if raw.isascii() else _lower(raw)
    if lowered.isascii() and not lowered.startswith("xn--"):
        if len(lowered) > 63 or not _ASCII_LABEL.fullmatch(lowered):
            raise PageRejected("invalid_url")
        return lowered
    try:
        encoded = idna.alabel(lowered).decode("ascii")
        # An A-label has to be the encoding of its own U-label, or two spellings name one host.
        if idna.alabel(idna.ulabel(encoded)).decode("ascii") != encoded:
            raise PageRejected("invalid_url")
    except (idna.IDNAError, UnicodeError):
        raise PageRejected("invalid_url") from None
    return encoded


def _lower(raw: str) -> str:
    # Lower-casing is done by character, so that no context rule applies, and it may not turn a
    # foreign character into ASCII (the Kelvin sign into k) or into several characters.
    if unicodedata.normalize("NFC", raw) != raw:
        raise PageRejected("invalid_url")
    lowered: list[str] = []
    for character in raw:
        small = character.lower()
        if len(small) != 1 or (small.isascii() and not character.isascii()):
            raise PageRejected("invalid_url")
        lowered.append(small)
    return "".join(lowered)
