"""JSON Lines files of operators: their lines with numbers."""

from __future__ import annotations

from pathlib import Path

from domain.errors import InvalidConfiguration


def numbered_lines(path: Path, named_by: str) -> list[tuple[int, str]]:
    """The lines that are not blank. A line ends at a newline only: JSON may hold other separators.

    Args:
        named_by: the setting or argument that named the file.

    Raises:
        InvalidConfiguration: the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"{path} cannot be read"
        raise InvalidConfiguration(named_by, reason, "name a JSON Lines file in UTF-8") from error
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
