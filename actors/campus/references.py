"""References that hold no token: scheme, host and path of a public address, and nothing else."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_ADDRESS = re.compile(r"\bhttps?://[^\s<>\"'\\]+", re.IGNORECASE)
_PARAMETERS = re.compile(r";[^/]*")
_TRAILING = ".,;:!?)]}»”’"


def bare(url: str) -> str:
    """The address without its user part, query, fragment and path parameters, any of which may
    hold a token; empty for what is no web address."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    host = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{host}{port}", _PARAMETERS.sub("", parts.path), "", ""))


def with_bare_references(text: str) -> str:
    """``text`` with every web address in it bare."""

    def bared(found: re.Match[str]) -> str:
        address = found[0].rstrip(_TRAILING)
        return bare(address) + found[0][len(address) :]

    return _ADDRESS.sub(bared, text)
