"""The language of a reply: the request's locale, else the detected one, else the tenant's."""

from __future__ import annotations

from typing import cast

from config.tenants import Locale
from retrieval.languages import UNKNOWN, language_of

CERTAIN = 0.6
"""The certainty from which a detected language decides; below it the tenant's default does."""


def reply_locale(requested: Locale | None, text: str, default: Locale) -> Locale:
    if requested is not None:
        return requested
    detected = language_of(text, CERTAIN)
    return default if detected == UNKNOWN else cast(Locale, detected)
