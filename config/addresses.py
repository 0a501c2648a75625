"""Addresses: of services that a tenant names, and of its pages as people can open them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _protected(url: str) -> str:
    """A token or a key may travel to it: encrypted, or not over a network at all."""
    parts = urlsplit(url)
    if parts.port == 0 or parts.username or parts.password or parts.fragment:
        raise ValueError("write scheme, host, port and path only")
    encrypted = parts.scheme == "https" and parts.hostname
    if not encrypted and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ValueError("write an https URL, or an http one of this machine")
    return url


def _without_query(url: str) -> str:
    if urlsplit(url).query:
        raise ValueError("write scheme, host, port and path only")
    return url


TemplateUrl = Annotated[str, AfterValidator(_protected)]
ServiceUrl = Annotated[TemplateUrl, AfterValidator(_without_query)]


def shown_url(url: str, urls: Mapping[str, str]) -> str:
    """A page's address as people open it, by the operator's ``shown_urls``."""
    begins = next((one for one in urls if url.startswith(one)), None)
    return url if begins is None else urls[begins] + url[len(begins) :]
