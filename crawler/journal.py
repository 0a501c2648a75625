"""The records of a research's browsing: codes, counts, ordinals, opaque ids and hashes.

Nothing else ever enters them: no URL, host, title or text of a page, no exception's text, no id
that a model supplied and that was not found to be ours.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from crawler.windows import PageWindow, SourceOutcome
from domain.errors import PageFailed, PageRejected

logger = logging.getLogger("crawler")


class Journal:
    """Writes the records of one request."""

    def __init__(self, request_id: str) -> None:
        self._request_id = request_id

    def failed(
        self,
        failure: PageFailed | PageRejected,
        source: int,
        attempt: int,
        target: str,
        depth: int,
    ) -> None:
        """A page attempt that gave no page."""
        self._write(
            logging.WARNING,
            "page_failed",
            code=failure.code,
            source=source,
            attempt=attempt,
            error_type=failure.fields.get("error_type"),
            status=failure.fields.get("status"),
            target=target,
            depth=depth,
        )

    def unexpected(self, source: int, error_type: str) -> None:
        """A fault of ours while a source was entered."""
        self._write(
            logging.ERROR,
            "source_failed",
            code="unexpected",
            source=source,
            error_type=error_type,
        )

    def discovered(self, outcomes: Sequence[SourceOutcome], attempts: int) -> None:
        """The end of the entry pages' discovery."""
        self._write(
            logging.INFO,
            "sources_discovered",
            statuses=",".join(f"{one.source}:{one.code or one.status}" for one in outcomes),
            links=sum(len(one.window.links) for one in outcomes if one.window),
            attempts=attempts,
        )

    def read(self, window: PageWindow, target: str, depth: int, attempts: int, reads: int) -> None:
        """A window that was delivered."""
        self._write(
            logging.INFO,
            "page_read",
            outcome="delivered",
            source=window.source,
            page=window.page_id,
            section=window.section_id,
            target=target,
            depth=depth,
            characters=len(window.text),
            continues=window.next_offset is not None,
            attempts=attempts,
            reads=reads,
        )

    def refused(
        self,
        reason: str,
        source: int | None,
        page: str | None,
        attempts: int,
        reads: int,
    ) -> None:
        """A read that a boundary refused."""
        self._write(
            logging.INFO,
            "page_read",
            outcome=reason,
            source=source,
            page=page,
            attempts=attempts,
            reads=reads,
        )

    def _write(self, level: int, event: str, **fields: object) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        text = " ".join(f"{name}={value}" for name, value in given.items())
        logger.log(
            level,
            "%s request_id=%s %s",
            event,
            self._request_id,
            text,
            extra={"event": event, "request_id": self._request_id, **_prefixed(given)},
        )


def _prefixed(fields: dict[str, object]) -> dict[str, object]:
    # A log record has attributes of its own; a prefix keeps ours from colliding with them.
    return {f"crawl_{name}": value for name, value in fields.items()}
