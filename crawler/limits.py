"""Bounds of reading one body, and of what one window of it offers to a model.

The page's own limits (seconds, bytes, redirects) are the execution policy's.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Bounds of one parse. Seconds of wall clock and of CPU, bytes of address space, counts.

    A process that grew beyond ``retired_bytes`` is replaced after its page, so that one large
    page does not hold memory for the rest of the day.
    """

    seconds: float = 5.0
    cpu_seconds: int = 3
    memory_bytes: int = 1024 * 1024 * 1024
    workers: int = 2
    retired_bytes: int = 400 * 1024 * 1024
    oracle_elements: int = 20_000
    oracle_depth: int = 200
    text_chars: int = 2_000_000
    links: int = 2_000
    label_chars: int = 120
    title_chars: int = 300


PARSE = ParseLimits()


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """How many of a page's links and headings one window offers."""

    links: int = 120
    headings: int = 120


WINDOW = WindowLimits()
