"""The language of a text, among those that Manta speaks."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lingua import LanguageDetector

UNKNOWN = "und"
"""The code of a text whose language could not be told."""

SAMPLE_CHARS = 1_000


@lru_cache(maxsize=1)
def _detector() -> LanguageDetector:
    from lingua import Language, LanguageDetectorBuilder

    languages = (Language.ENGLISH, Language.FRENCH, Language.GERMAN)
    return LanguageDetectorBuilder.from_languages(*languages).build()


def language_of(text: str, certainty: float = 0.0) -> str:
    """``en``, ``fr`` or ``de`` by the first 1,000 characters, else ``UNKNOWN``.

    Args:
        certainty: the probability in [0, 1] that the best language must reach; short questions
            made of names reach little.
    """
    ranked = _detector().compute_language_confidence_values(text[:SAMPLE_CHARS])
    best = ranked[0]
    if best.value <= 0.0 or best.value < certainty:
        return UNKNOWN
    return str(best.language.iso_code_639_1.name.lower())
