"""Foreign loggers that would print what must never be logged.

httpcore logs hosts and headers, httpx whole URLs, the MCP client (also as ``client``) its messages,
trafilatura and its friends text of pages. They are shut at the logger that emits, so a root logger
at DEBUG, or a level set on a parent, cannot open them again. Our own records of a failure carry
codes and hashes only.
"""

from __future__ import annotations

import hashlib
import logging
from typing import Final

_EMITTERS: Final = (
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
    "httpx",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.proxy",
    "httpcore2.socks",
    "httpx2",
    "mcp.client.client",
    "mcp.client.streamable_http",
    "client",
)
_PAGE_READERS: Final = (
    "trafilatura",
    "htmldate",
    "justext",
    "courlan",
    "charset_normalizer",
    "readability",
)


def _drop(record: logging.LogRecord) -> bool:
    return False


def silence_foreign_loggers() -> None:
    """Shut the loggers of the libraries that see URLs, headers and page text; repeatable."""
    for name in _EMITTERS:
        logger = logging.getLogger(name)
        if _drop not in logger.filters:
            logger.addFilter(_drop)
    for name in _PAGE_READERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def url_hash(url: str) -> str:
    """Eight bytes of a URL's SHA-256, as 16 hex digits: correlates records, discloses nothing."""
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:16]
