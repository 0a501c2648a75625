"""Which bodies are read, and how many bytes of them.

A body is refused before it is decoded when its type, its encoding or its announced length says
so. gzip is decoded here, over raw bytes, by a decompressor that can never produce more than the
limit: nothing else is offered to a server, so nothing else is accepted.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Final

from domain.errors import PageFailed

RawHeaders = Sequence[tuple[bytes, bytes]]

_MEDIA_TYPES: Final = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
_GZIP_MAGIC: Final = b"\x1f\x8b"
_SIGNATURES: Final = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\x89PNG\r\n",
    b"GIF87a",
    b"GIF89a",
    b"\xff\xd8\xff",
    _GZIP_MAGIC,
    b"\x7fELF",
    b"%!PS-Adobe-",
    b"OggS",
    b"wOFF",
    b"wOF2",
    b"\xd0\xcf\x11\xe0",
    b"7z\xbc\xaf",
    b"Rar!\x1a\x07",
    b"BZh",
    b"\xfd7zXZ",
)
_BOMS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SNIFFED: Final = 1_024


def header_values(headers: RawHeaders, name: bytes) -> list[bytes]:
    """All values of one header, in order; ``name`` is lower case."""
    return [value for key, value in headers if key.lower() == name]


def content_type(headers: RawHeaders) -> str:
    """The one content type of a response.

    Raises:
        PageFailed: ``unsupported_content_type`` for none, several, or one that is not read.
    """
    values = header_values(headers, b"content-type")
    if len(values) != 1:
        raise PageFailed("unsupported_content_type")
    text = values[0].decode("latin-1")
    if text.split(";", 1)[0].strip().lower() not in _MEDIA_TYPES:
        raise PageFailed("unsupported_content_type")
    return text


def is_gzip(headers: RawHeaders) -> bool:
    """Whether the body is gzip; otherwise it is plain.

    Raises:
        PageFailed: ``unsupported_content_encoding`` for anything else, several included.
    """
    values = header_values(headers, b"content-encoding")
    if len(values) > 1:
        raise PageFailed("unsupported_content_encoding")
    name = values[0].decode("latin-1").strip().lower() if values else ""
    if name in ("", "identity"):
        return False
    if name in ("gzip", "x-gzip"):
        return True
    raise PageFailed("unsupported_content_encoding")


def check_announced_length(headers: RawHeaders, limit: int) -> None:
    """Refuse a body that announces more than ``limit`` bytes, before it is read.

    Raises:
        PageFailed: ``oversized``.
    """
    for value in header_values(headers, b"content-length"):
        digits = value.strip()
        if digits.isdigit() and (len(digits) > 18 or int(digits) > limit):
            raise PageFailed("oversized")


def check_signature(body: bytes, media_type: str) -> None:
    """Refuse a body whose first bytes contradict its text type.

    Raises:
        PageFailed: ``unsupported_content_type``.
    """
    head = body[:_SNIFFED]
    if head.startswith(_BOMS) or "utf-16" in media_type.lower() or "utf-32" in media_type.lower():
        return
    if head.lstrip(b" \t\r\n\x0c").startswith(_SIGNATURES):
        raise PageFailed("unsupported_content_type")
    # A stray control character is a sloppy page; zero bytes or many of them are binary data.
    binary = _BINARY.findall(head)
    if len(binary) * 20 > len(head) or head.count(b"\x00") > 2:
        raise PageFailed("unsupported_content_type")


class BodyReader:
    """Collects a body of at most ``limit`` decoded bytes.

    Args:
        limit: decoded bytes.
        gzip: whether the raw bytes are gzip, of one or several members.

    Raises:
        PageFailed: ``oversized`` or, for broken gzip, ``unsupported_content_encoding``.
    """

    def __init__(self, limit: int, *, gzip: bool) -> None:
        self._limit = limit
        self._out = bytearray()
        self._inflater = _new_inflater() if gzip else None
        self._waiting = b""
        self._members = 0
        self._ignoring = False

    def feed(self, raw: bytes) -> None:
        """Take the next raw bytes."""
        if self._inflater is None:
            self._append(raw)
            return
        if self._ignoring:
            return
        self._inflate(raw)

    def finish(self) -> bytes:
        """The whole body."""
        if self._inflater is not None and not self._ended_cleanly():
            raise PageFailed("unsupported_content_encoding")
        return bytes(self._out)

    def _append(self, data: bytes) -> None:
        self._out += data
        if len(self._out) > self._limit:
            raise PageFailed("oversized")

    def _ended_cleanly(self) -> bool:
        # Between members nothing was fed to the new inflater, so a complete member is enough.
        return self._ignoring or (self._members > 0 and not self._started)

    _started = False

    def _inflate(self, raw: bytes) -> None:
        data = self._waiting + raw
        self._waiting = b""
        while data:
            if not self._started and self._members:
                # After a member comes another one or trailing garbage, which is dropped.
                if len(data) < len(_GZIP_MAGIC) and _GZIP_MAGIC.startswith(data):
                    self._waiting = data
                    return
                if not data.startswith(_GZIP_MAGIC):
                    self._ignoring = True
                    return
            self._started = True
            data = self._inflate_some(data)

    def _inflate_some(self, data: bytes) -> bytes:
        inflater = self._inflater
        assert inflater is not None
        room = self._limit - len(self._out) + 1
        try:
            self._append(inflater.decompress(data, room))
        except zlib.error:
            raise PageFailed("unsupported_content_encoding", error_type="error") from None
        if inflater.eof:
            self._members += 1
            self._started = False
            self._inflater = _new_inflater()
            return inflater.unused_data
        return inflater.unconsumed_tail


def _new_inflater() -> zlib._Decompress:
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
