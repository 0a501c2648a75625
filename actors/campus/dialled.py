"""Where a tenant's service is really dialled: the operator's ``connect_to`` map decides."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

_PORTS = {"http": 80, "https": 443}


def dialled(url: str, connect_to: Mapping[str, str]) -> str:
    """``url`` with the address that the operator has put in place of its host and port."""
    parts = urlsplit(url)
    port = parts.port or _PORTS[parts.scheme]
    target = connect_to.get(f"{parts.hostname}:{port}")
    return url if target is None else urlunsplit(parts._replace(netloc=target))
