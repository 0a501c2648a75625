"""The picture of the advisor's graph in the documentation is the compiled graph's."""

from __future__ import annotations

from pathlib import Path

from actors.campus.graph import drawing

ARCHITECTURE = Path(__file__).resolve().parents[3] / "docs" / "architecture.md"


def test_the_documented_graph_is_the_compiled_one() -> None:
    assert f"```mermaid\n{drawing()}\n```" in ARCHITECTURE.read_text(encoding="utf-8")
