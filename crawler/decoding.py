"""Bytes of a page as text: byte order mark, strict UTF-8, labels, then detection.

Only labels of the WHATWG Encoding Standard count, so that a page cannot choose a codec that
browsers do not know. Control characters, and numeric references to them, are removed here: one of
them is enough to make an extractor return nothing.
"""

from __future__ import annotations

import re
from typing import Final

import charset_normalizer
import webencodings  # type: ignore[import-untyped]

_BOMS: Final = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_META = re.compile(
    rb"<meta\b[^>]{0,1000}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:\-]{1,40})",
    re.IGNORECASE,
)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:\-]{1,40})", re.IGNORECASE)
_PRESCANNED: Final = 4_096
_DETECTED: Final = 64 * 1024
_TOLERATED_ERRORS: Final = 0.02
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_REFERENCE = re.compile(r"&#(?:[xX]([0-9A-Fa-f]{1,64})|([0-9]{1,64}));?")


def decode(body: bytes, content_type: str | None) -> str:
    """The page's characters, all of them valid and printable or white space."""
    return _without_controls(_decoded(body, content_type))


def _decoded(body: bytes, content_type: str | None) -> str:
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    labels = _labels(body, content_type)
    # Two encodings look like plain ASCII to a UTF-8 decoder; a label decides about them first.
    if labels and (labels[0].startswith("utf-16") or (b"\x1b" in body and "iso-2022-jp" in labels)):
        return _with_label(body, labels[0])[0]
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        pass
    for label in labels:
        text, wrong = _with_label(body, label)
        if wrong <= _TOLERATED_ERRORS:
            return text
    best = charset_normalizer.from_bytes(body[:_DETECTED]).best()
    return body.decode(best.encoding if best is not None else "cp1252", "replace")


def _labels(body: bytes, content_type: str | None) -> list[str]:
    """Names of the encodings that header and page announce, the header's first."""
    found = []
    in_header = _HEADER.search(content_type or "")
    if in_header:
        found.append(in_header.group(1))
    in_page = _META.search(body[:_PRESCANNED])
    if in_page:
        found.append(in_page.group(1).decode("ascii"))
    known = (webencodings.lookup(label) for label in found)
    names = [encoding.name for encoding in known if encoding is not None]
    # A page that can be read far enough to find its label in ASCII is not UTF-16.
    if in_page and not in_header and names and names[0].startswith("utf-16"):
        names[0] = "utf-8"
    return names


def _with_label(body: bytes, label: str) -> tuple[str, float]:
    """The text, and the share of its non-ASCII characters that could not be decoded."""
    encoding = webencodings.lookup(label)
    assert encoding is not None
    text, _ = encoding.codec_info.decode(body, "replace")
    wrong = text.count("\ufffd")
    foreign = len(text) - len(text.encode("ascii", "ignore")) if wrong else 1
    return text, wrong / max(1, foreign)


def _without_controls(text: str) -> str:
    text = _CONTROLS.sub("", text)
    return _REFERENCE.sub(_judged_reference, text) if "&#" in text else text


def _judged_reference(match: re.Match[str]) -> str:
    digits = match.group(1) or match.group(2)
    if len(digits.lstrip("0")) > 8:
        return ""
    number = int(digits, 16 if match.group(1) else 10)
    # HTML reads these references as windows-1252, which the parser does not know.
    if 0x80 <= number <= 0x9F:
        return bytes([number]).decode("cp1252", "ignore")
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF or number & 0xFFFE == 0xFFFE:
        return ""
    if number == 0x7F or (number < 0x20 and number not in (0x09, 0x0A, 0x0D)):
        return ""
    return match.group()
