"""Files to plain text with its structure, through kept conversion libraries.

Markdown and Word become HTML first, and all HTML is read by the crawler's extraction, so that a
page and a document with the same content give the same text. What is broken is refused with the
file's name, the reason and what to do about it.
"""

from __future__ import annotations

import io
import re
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from config.policy import POLICY
from domain.errors import InvalidInput
from retrieval.languages import UNKNOWN, language_of

if TYPE_CHECKING:
    import pypdfium2

TITLE_CHARS = 200
UNPACKED_FACTOR = 4
"""A Word file is a zip archive: unpacked it may be this many times the limit of a file."""

_PDFIUM = threading.Lock()
"""PDFium is not safe to use from two threads."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, its level from 1 and where it starts in the text, in characters."""

    title: str
    level: int
    offset: int


@dataclass(frozen=True, slots=True)
class ExtractedDocument:
    """What a file says. ``pages`` are the offsets where the pages of a PDF start, else empty."""

    title: str
    text: str
    headings: tuple[Heading, ...]
    pages: tuple[int, ...]
    language: str


def read_document(path: Path) -> ExtractedDocument:
    """Convert one file.

    Raises:
        InvalidInput: the suffix is not known, the file is too large, broken, locked or without
            text; ``field`` is the file's name.
    """
    _converter(path)
    try:
        size = path.stat().st_size
        if size > POLICY.ingest.file_bytes:
            limit = POLICY.ingest.file_bytes // (1024 * 1024)
            raise InvalidInput(path.name, f"is larger than {limit} MiB", "split the file")
        body = path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            path.name, error.strerror or "cannot be read", "check its permissions"
        ) from error
    return convert(path, body)


def convert(path: Path, body: bytes) -> ExtractedDocument:
    """Convert a file's content; only the name of ``path`` is used.

    Raises:
        InvalidInput: as :func:`read_document`.
    """
    document = _converter(path)(path, body)
    if not document.text.strip():
        raise InvalidInput(path.name, "holds no text", "export it with its text, not as images")
    return document


def _converter(path: Path) -> Callable[[Path, bytes], ExtractedDocument]:
    converter = CONVERTERS.get(path.suffix.lower())
    if converter is None:
        known = ", ".join(sorted(suffix.removeprefix(".") for suffix in CONVERTERS))
        raise InvalidInput(path.name, "has a kind that cannot be read", f"use one of {known}")
    return converter


def _from_text(path: Path, body: bytes) -> ExtractedDocument:
    text = _decode(path, body)
    return ExtractedDocument(_title_of_name(path), text, (), (), language_of(text))


def _from_markdown(path: Path, body: bytes) -> ExtractedDocument:
    from markdown_it import MarkdownIt

    # Raw HTML inside Markdown stays HTML, as its author meant it; the extraction drops scripts.
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(_decode(path, body))
    return _from_html(path, _page(html))


def _from_word(path: Path, body: bytes) -> ExtractedDocument:
    import mammoth

    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > UNPACKED_FACTOR * POLICY.ingest.file_bytes:
            raise InvalidInput(path.name, "unpacks to too much", "split the file")
        # Pictures carry no text here, and their data would swell the page.
        without_pictures = mammoth.images.img_element(lambda _image: {})
        html = mammoth.convert_to_html(io.BytesIO(body), convert_image=without_pictures).value
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:  # The library lets through whatever its parsers raise.
        raise _broken(path, "Word") from error
    return _from_html(path, _page(html))


def _from_html(path: Path, body: bytes) -> ExtractedDocument:
    from crawler.extract import extract
    from crawler.limits import PARSE

    # A document is all content: the search for the main part, which a web page needs, would leave
    # out lists and short sections. Menus and footers are recognised without it.
    limits = replace(PARSE, oracle_elements=0, text_chars=POLICY.ingest.file_bytes)
    page = extract(body, "text/html", "http://document.invalid/", limits=limits)
    if page.truncated:
        raise InvalidInput(path.name, "is too long to be read whole", "split the file")
    headings = tuple(Heading(item.title, item.level, item.offset) for item in page.headings)
    first = next((item.title for item in headings if item.level == 1), None)
    title = _clipped(page.title or first or _title_of_name(path))
    language = language_of(page.text)
    if language == UNKNOWN and page.language:
        language = page.language.split("-")[0].lower()
    return ExtractedDocument(title, page.text, headings, (), language)


def _page(content: str) -> bytes:
    """Converted content as a whole page, without a title: the first heading is the title."""
    return f'<!doctype html><meta charset="utf-8"><body><main>{content}</main>'.encode()


def _from_pdf(path: Path, body: bytes) -> ExtractedDocument:
    import pypdfium2

    try:
        with _PDFIUM, pypdfium2.PdfDocument(body) as pdf:
            texts = [_page_text(pdf, number) for number in range(len(pdf))]
            outline = [
                (item.get_title(), item.level + 1, dest.get_index())
                for item in pdf.get_toc()
                if (dest := item.get_dest()) is not None
            ]
            named = pdf.get_metadata_value("Title")
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise InvalidInput(path.name, "is locked by a password", "save it unlocked") from error
        raise _broken(path, "PDF") from error
    pages, offset = [], 0
    for text in texts:
        pages.append(offset)
        offset += len(text) + 2
    whole = "\n\n".join(texts)
    headings = []
    for title, level, number in outline:
        start = pages[number] if number is not None and number < len(pages) else None
        found = (
            -1 if start is None else whole.find(title.strip(), start, start + len(texts[number]))
        )
        if found >= 0 and title.strip():
            headings.append(Heading(title.strip(), level, found))
    headings.sort(key=lambda item: item.offset)
    title = _clipped(named) if named and named.strip() else _first_line(whole, path)
    return ExtractedDocument(title, whole, tuple(headings), tuple(pages), language_of(whole))


def _page_text(pdf: pypdfium2.PdfDocument, number: int) -> str:
    """The text of one page; words that a line end had hyphenated are joined again."""
    page = pdf[number]
    reader = page.get_textpage()
    try:
        text: str = reader.get_text_bounded()
    finally:
        reader.close()
        page.close()
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return re.sub("[\ufffe\x02]\n?", "", text).strip()


def _decode(path: Path, body: bytes) -> str:
    """UTF-8 (with or without a mark), UTF-16 with one, or what Windows wrote before.

    Detection by statistics took short German texts for Baltic ones, so the likeliest 8-bit
    encoding of the three languages is tried first.
    """
    marked = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252"):
        try:
            text = body.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        text = _guessed(path, body)
    if "\x00" in text:
        raise InvalidInput(path.name, "is not text", "check that the file is what its name says")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _guessed(path: Path, body: bytes) -> str:
    from charset_normalizer import from_bytes

    guess = None if b"\x00" in body else from_bytes(body).best()
    if guess is None:
        raise InvalidInput(path.name, "is not text in a known encoding", "save it as UTF-8")
    return str(guess)


def _broken(path: Path, kind: str) -> InvalidInput:
    return InvalidInput(path.name, f"is not a readable {kind} file", "open it and save it again")


def _first_line(text: str, path: Path) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if 3 <= len(line) <= TITLE_CHARS else _title_of_name(path)


def _title_of_name(path: Path) -> str:
    words = re.sub(r"[-_\s]+", " ", path.stem).strip() or path.stem
    return _clipped(words[:1].upper() + words[1:])


def _clipped(title: str) -> str:
    return " ".join(title.split())[:TITLE_CHARS]


CONVERTERS: dict[str, Callable[[Path, bytes], ExtractedDocument]] = {
    ".md": _from_markdown,
    ".markdown": _from_markdown,
    ".txt": _from_text,
    ".html": _from_html,
    ".htm": _from_html,
    ".pdf": _from_pdf,
    ".docx": _from_word,
}
