"""Process logging: one line a record, with the fields that the record carries.

Records of ours carry codes, counts and ids, never a question, a URL, a title or page text; this
module only writes them, it does not hide anything.
"""

from __future__ import annotations

import logging
import os
import sys

_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {
    "message",
    "asctime",
    "taskName",
}
OURS = ("manta", "crawler", "retrieval")


class FieldFormatter(logging.Formatter):
    """``time level logger event key=value ...``."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        fields = {k: v for k, v in record.__dict__.items() if k not in _STANDARD}
        return " ".join([line, *(f"{key}={value}" for key, value in fields.items())])


def configure_logging() -> None:
    """Send our records to standard error at ``MANTA_LOG_LEVEL`` (default INFO); idempotent."""
    level = os.environ.get("MANTA_LOG_LEVEL", "INFO").upper()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FieldFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in OURS:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.propagate = False
        logger.handlers = [handler]
