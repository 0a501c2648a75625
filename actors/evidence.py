"""What a research has delivered to its model: the only text that may be cited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from domain.answers import Citation

_FOLD = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u201b": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u201f": '"',
        "\u00ab": '"',
        "\u00bb": '"',
        "\u2039": "'",
        "\u203a": "'",
        "\u00a0": " ",
        "\u202f": " ",
        "\u00ad": None,
    }
)
PASSAGE_CHARS = 1_500


def folded(text: str) -> str:
    """White space and typographic quotes folded; nothing else is forgiven in a quote."""
    return "".join(letter for letter, _ in _folding(text))


def _folding(text: str) -> list[tuple[str, int]]:
    """The folded letters, each with its place in ``text``.

    White space becomes one space, and none at the ends and beside double quotation marks, because
    French sets its own inside them.
    """
    kept: list[tuple[str, int]] = []
    for place, letter in enumerate(text):
        plain = letter.translate(_FOLD)
        if not plain:
            continue
        if plain.isspace():
            if kept and kept[-1][0] not in (" ", '"'):
                kept.append((" ", place))
            continue
        if plain == '"' and kept and kept[-1][0] == " ":
            kept.pop()
        kept.append((plain, place))
    if kept and kept[-1][0] == " ":
        kept.pop()
    return kept


@dataclass(slots=True)
class Source:
    """One document passage or public page, with the excerpts that were delivered of it."""

    kind: Literal["document", "web"]
    title: str
    url: str | None = None
    heading: str | None = None
    page: int | None = None
    excerpts: list[str] = field(default_factory=list)

    def excerpt_with(self, quote: str) -> str | None:
        """The delivered excerpt that holds ``quote``; ``None`` when there is none."""
        wanted = folded(quote)
        return next((text for text in self.excerpts if wanted in folded(text)), None)


class Evidence:
    """The sources of one run by id: ``d1``, ``d2``... for documents, ``w1``... for pages."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._ids: dict[tuple[str, str], str] = {}

    def deliver(self, key: str, source: Source, excerpt: str) -> str:
        """Register ``excerpt`` of the source that ``key`` identifies; returns its id."""
        known = self._ids.get((source.kind, key))
        if known is None:
            letter = "d" if source.kind == "document" else "w"
            ordinal = 1 + sum(1 for kind, _ in self._ids if kind == source.kind)
            known = f"{letter}{ordinal}"
            self._ids[(source.kind, key)] = known
            self._sources[known] = source
        kept = self._sources[known].excerpts
        if excerpt not in kept:
            kept.append(excerpt)
        return known

    def get(self, source_id: str) -> Source | None:
        return self._sources.get(source_id)

    def __len__(self) -> int:
        return len(self._sources)


def citation(number: int, source: Source, quote: str, excerpt: str) -> Citation:
    """A citation as a user may see it, with the passage around the quote for the panel."""
    return Citation(
        number=number,
        kind=source.kind,
        title=source.title,
        quote=quote.strip(),
        url=source.url,
        heading=source.heading,
        page=source.page,
        passage=_around(excerpt, quote),
    )


def _around(excerpt: str, quote: str) -> str:
    if len(excerpt) <= PASSAGE_CHARS:
        return excerpt
    folding = _folding(excerpt)
    at = "".join(letter for letter, _ in folding).find(folded(quote))
    start = max(0, folding[at][1] - PASSAGE_CHARS // 3)
    return excerpt[start : start + PASSAGE_CHARS]
