"""Delivered text cut into what may be quoted: paragraphs, table rows, list items.

Every unit is an exact piece of the text. Headings, questions and titles are read along as context
and never quoted alone: they say what a text is about and do not answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_UNIT_CHARS = 420
MIN_UNIT_CHARS = 12
MAX_HEADING_CHARS = 110

_BLOCK = re.compile(r"[^\n](?:.|\n(?![ \t]*\n))*")
_SENTENCE = re.compile(r"[^\n.!?…]+(?:[.!?…]+(?!\s)[^\n.!?…]+)*[.!?…]*[»”\")’]*")
_FINAL = re.compile(r"[.!;:…|»”\")]$")
_ITEM = re.compile(r"(?:[-*•·]|\d{1,2}[.)])\s+")
_INSTRUCTION = re.compile(
    r"""(?:ignore|disregard|forget)\s.{0,30}(?:instructions?|prompts?)
      | you\s+are\s+(?:now\s+)?an?\s+(?:ai|assistant|language\s+model|chatbot)
      | (?:tell|inform|ask)\s+the\s+user\b
      | \bas\s+an\s+ai\b | \b(?:system|ai)\s+(?:prompt|assistant)\b
      | (?:ignore|oublie)\w*\s.{0,30}(?:instructions?|consignes)
      | tu\s+es\s+une?\s+(?:ia|assistante?)\b | (?:dis|dites|indique\w*)\s+à\s+l.utilisateur
      | (?:ignorier|vergiss)\w*\s.{0,40}(?:anweisungen|vorgaben)
      | du\s+bist\s+(?:eine?\s+)?(?:ki\b|assistent) | (?:sag|teil)\w*\s+dem\s+(?:be)?nutzer""",
    re.IGNORECASE | re.VERBOSE,
)
"""Text that speaks to an assistant instead of a reader. It is no evidence for anything."""

_METADATA = re.compile(
    r"""[-*•_(\s]*(?:
        last\s+(?:reviewed|updated|modified|changed|revised)
      | (?:page\s+)?(?:owner|owned\s+by|maintained\s+by|reviewed\s+by)\s*:
      | zuletzt\s+(?:geprüft|aktualisiert|geändert|überarbeitet|bearbeitet)
      | (?:zuständig|verantwortlich)\s*:
      | (?:dernière\s+(?:révision|relecture|mise\s+à\s+jour|modification|vérification)
          |mis\s+à\s+jour\s+le)
      | responsable(?:\s+de\s+la\s+page)?\s*:
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A line about the page itself: when it was looked at and whose it is."""
_MAX_METADATA_CHARS = 160

_OUTDATED_TITLE = re.compile(
    r"""\b(?:archived?|archivée?|archiviert|superseded|obsolete|obsolète|outdated|périmée?|veraltet
      |überholt)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_OUTDATED_OPENING = re.compile(
    r"""\b(?:
        archived\s+(?:page|document|version)
      | (?:page|version|document|policy|guide|it)\s+(?:\w+\s+){0,8}(?:was|is|has\s+been)
        \s+(?:superseded|archived|replaced\s+by)
      | (?:page|version|document)\s+(?:archivée?|périmée?|obsolète)
      | (?:page|version|document|guide|elle|il)\s+(?:\w+\s+){0,8}(?:est|a\s+été)\s+remplacée?\s+par
      | (?:archivierte|veraltete)s?\s+(?:seite|fassung|dokument|version)
      | (?:seite|fassung|version|dokument)\s+(?:\w+\s+){0,8}(?:ersetzt|abgelöst|überholt|archiviert)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SUCCESSOR = re.compile(
    r"""\b(?:superseded|replaced)\s+by\s+([^.\n]{3,120})
      | \bremplacée?\s+par\s+([^.\n]{3,120})
      | \b(?:ersetzt|abgelöst)\s+durch\s+([^.\n]{3,120})
      | \bdurch\s+([^.\n]{3,120}?)\s+(?:ersetzt|abgelöst)""",
    re.IGNORECASE | re.VERBOSE,
)
OPENING_CHARS = 400
"""How far into a text it may declare itself outdated."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """Text that tools delivered under one source id.

    ``title`` and ``heading`` are its context; ``language`` its own, if it is known; ``hints`` are
    the lines that only lead to other pages.
    """

    source_id: str
    text: str
    title: str = ""
    heading: str = ""
    language: str | None = None
    hints: frozenset[str] = frozenset()

    @property
    def outdated(self) -> bool:
        """Whether the text says itself, in its title or at its beginning, that it is archived."""
        opening = self.text[:OPENING_CHARS]
        return bool(_OUTDATED_TITLE.search(self.title) or _OUTDATED_OPENING.search(opening))

    @property
    def successor(self) -> str:
        """What an outdated text says it was replaced by; empty when it does not say."""
        found = _SUCCESSOR.search(self.text[:OPENING_CHARS]) if self.outdated else None
        return next((part for part in found.groups() if part), "") if found else ""


@dataclass(frozen=True, slots=True)
class Unit:
    """A quotable piece. ``context`` is the heading above it, for a table row with its columns."""

    source: Delivered
    text: str
    context: str
    sentences: tuple[str, ...]


def units_of(source: Delivered) -> list[Unit]:
    """The quotable pieces of a text in their order."""
    found: list[Unit] = []
    heading = source.heading
    outdated = source.outdated
    for block in _blocks(source.text):
        if not block or _INSTRUCTION.search(block):
            continue
        if outdated and _OUTDATED_OPENING.search(block):
            continue
        if _is_heading(block):
            heading = block
            continue
        found += [
            Unit(source, text, context, _sentences(text))
            for text, context in _pieces(block, heading)
            if len(text) >= MIN_UNIT_CHARS and text != source.title
        ]
    return [unit for unit in found if not _leads_elsewhere(unit)]


def _blocks(text: str) -> Iterator[str]:
    """What stands between empty lines and between lines about the page itself."""
    for match in _BLOCK.finditer(text):
        start = at = 0
        for line in match[0].splitlines(keepends=True):
            if len(line) <= _MAX_METADATA_CHARS and _METADATA.match(line):
                yield match[0][start:at].strip()
                start = at + len(line)
            at += len(line)
        yield match[0][start:].strip()


def _is_heading(block: str) -> bool:
    if "\n" in block or len(block) > MAX_HEADING_CHARS or "|" in block:
        return False
    return block.endswith("?") or not (_FINAL.search(block) or _ITEM.match(block))


def _leads_elsewhere(unit: Unit) -> bool:
    return any(line.strip() in unit.source.hints for line in unit.text.split("\n"))


def _pieces(block: str, heading: str) -> list[tuple[str, str]]:
    """Rows with their columns, and runs of lines or of sentences that are not too long."""
    lines = block.split("\n")
    if len(lines) > 1 and all(" | " in line for line in lines):
        columns = lines[0]
        return [(line.strip(), f"{heading}: {columns}".strip(": ")) for line in lines[1:]]
    parts = [line for line in lines if line.strip()]
    if len(parts) > 1 and sum(bool(_ITEM.match(line)) for line in parts) >= len(parts) - 1:
        return _runs(block, [line.strip() for line in parts], heading)
    if len(block) <= MAX_UNIT_CHARS:
        return [(block, heading)]
    return _runs(block, list(_sentences(block)), heading)


def _runs(block: str, parts: Sequence[str], heading: str) -> list[tuple[str, str]]:
    """Parts that follow each other, joined as they stand in the block while they fit."""
    runs: list[tuple[str, str]] = []
    start = end = -1
    cursor = 0
    for part in parts:
        at = block.find(part, cursor)
        cursor = at + len(part)
        if start >= 0 and cursor - start > MAX_UNIT_CHARS:
            runs.append((block[start:end].strip(), heading))
            start = at
        elif start < 0:
            start = at
        end = cursor
    if start >= 0:
        runs.append((block[start:end].strip(), heading))
    return [run for run in runs if len(run[0]) <= 3 * MAX_UNIT_CHARS]


def _sentences(text: str) -> tuple[str, ...]:
    found = [match[0].strip() for match in _SENTENCE.finditer(text)]
    return tuple(sentence for sentence in found if len(sentence) >= MIN_UNIT_CHARS) or (text,)
