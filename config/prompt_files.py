"""The prompts folder: texts and tables that models read, one file each.

Texts hold reusable instructions only. What belongs to a request (locale, date, summaries,
documents) follows after them as labelled data, so that a provider can cache the prefix.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("prompts")


@cache
def text(name: str) -> str:
    """The instructions of ``<name>.md``, with the shared policy on untrusted data appended."""
    body = (FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()
    policy = (FOLDER / "untrusted.md").read_text(encoding="utf-8").strip()
    return f"{body}\n\n{policy}"


@cache
def table(name: str) -> dict[str, Any]:
    """The parsed content of ``<name>.toml``."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def phrase(name: str, locale: str, file: str = "phrases") -> str:
    """A fixed sentence in ``locale``, English where it has none."""
    entry: dict[str, str] = table(file)[name]
    return entry.get(locale, entry["en"])
