"""The text of the block that is being read, and the links whose labels stand in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawler.blocks import RawLink, squeeze

_OWN_CONTENT = ("mailto:", "tel:", "#")


@dataclass(slots=True)
class InlineText:
    """Collects pieces of text and folds their white space, so that offsets are exact at once."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    links: list[RawLink] = field(default_factory=list)
    linked: int = 0
    _breaks: int = 0
    _anchor: RawLink | None = None
    _anchor_part: int = 0

    def add(self, text: str) -> None:
        """Prose: white space is folded, and dropped where there is some already."""
        parts = self.parts
        spaced = not parts or parts[-1][-1:] in (" ", "\n")
        # Most pieces of a page are the white space between its elements.
        if text.isspace():
            if spaced:
                return
            text = " "
        else:
            text = squeeze(text)
            if spaced:
                text = text.lstrip(" ")
            if not text:
                return
        self._breaks = 0
        parts.append(text)
        self.length += len(text)

    def add_code(self, text: str) -> None:
        """Code: every character counts."""
        if text:
            self.parts.append(text)
            self.length += len(text)

    def break_line(self) -> bool:
        """A line break; true at the second in a row, which is how old pages write paragraphs."""
        self._breaks += 1
        if self._breaks > 1:
            return True
        if self.parts[-1].endswith(" "):
            self.parts[-1] = self.parts[-1][:-1]
            self.length -= 1
        self.parts.append("\n")
        self.length += 1
        return False

    @property
    def in_anchor(self) -> bool:
        return self._anchor is not None

    def open_anchor(self, href: str) -> None:
        """A link begins here."""
        self._anchor = RawLink(href, self.length)
        self._anchor_part = len(self.parts)

    def close_anchor(self) -> None:
        """The link ends; without a label it is forgotten."""
        self._collect_label()
        self._anchor = None

    def take(self) -> tuple[str, list[RawLink], int]:
        """The block's text, its links and how much of it is labels; a link goes on in the next
        block when it is still open."""
        self._collect_label()
        self._anchor_part = 0
        if self._anchor is not None and not self._anchor.label:
            self._anchor.place = 0
        taken = "".join(self.parts), self.links, self.linked
        self.parts, self.links = [], []
        self.length = self.linked = self._breaks = 0
        return taken

    def _collect_label(self) -> None:
        anchor = self._anchor
        if anchor is None:
            return
        piece = "".join(self.parts[self._anchor_part :])
        # A mail address or an anchor of the same page is content that happens to be a link.
        if not anchor.href.startswith(_OWN_CONTENT):
            self.linked += len(piece)
        piece = squeeze(piece).strip(" ")
        if not piece:
            return
        if anchor.label:
            anchor.rest = f"{anchor.rest} {piece}".strip()
        else:
            anchor.label = piece
            self.links.append(anchor)
