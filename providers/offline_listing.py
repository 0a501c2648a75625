"""Messages about what was shown: more of a list, one entry of it, a person; the same elsewhere."""

from __future__ import annotations

import re

CONTINUATION_WORDS = 6
PRONOUN_WORDS = 9

_MORE = re.compile(
    r"""\b(?:(?:show|give|find|any|some|list|see)\s+(?:me\s+)?(?:some\s+|any\s+)?(?:more|others?)
      |more\s+(?:of\s+(?:them|these|those)|results|please)|what\s+else|anything\s+else|others?\s*\?
      |(?:are|is)\s+there\s+(?:any\s+)?(?:more|others?)
      |(?:montre|donne|trouve|affiche)\S*\s+(?:m'en|en|moi)?\s*(?:d'autres|plus|davantage)
      |d'autres|voir\s+plus|y\s+en\s+a-t-il\s+d'autres
      |(?:zeig|gib|finde?)\w*\s+(?:mir\s+)?(?:noch\s+)?(?:mehr|weitere|andere)
      |noch\s+(?:mehr|weitere|andere|welche)|gibt\s+es\s+(?:noch\s+)?(?:mehr|weitere|andere))\b
      |m['’]en\s+(?:plus|d'autres)\b
      |\b(?:more|mehr|weitere)\s+(?:bitte|anzeigen|ergebnisse|treffer|einträge|zeigen)\b
      |\b(?:afficher|voir)\s+(?:la\s+suite|plus|d'autres|davantage)\b|\bplus\s+de\s+résultats\b
      |^\s*(?:show\s+)?(?:(?:the|la|les|die)\s+)?(?:more|encore|plus|mehr|weitere|suite|next|weiter|continue
        |(?:next|nächste)\s+(?:ones|page|results|seite|ergebnisse)|(?:page|résultats)\s+suivante?s?
        |suivante?s?|nächste)(?:,?\s+(?:please|bitte|s'il\s+(?:te|vous)\s+plaît))?\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_ORDINALS = (
    r"(?:first|1st|première?|premier|1ère|1er|erste[nrsm]?)",
    r"(?:second|2nd|deuxième|2e|2ème|seconde?|zweite[nrsm]?)",
    r"(?:third|3rd|troisième|3e|3ème|dritte[nrsm]?)",
    r"(?:fourth|4th|quatrième|4e|4ème|vierte[nrsm]?)",
    r"(?:fifth|5th|cinquième|5e|5ème|fünfte[nrsm]?)",
)
_LAST = r"(?:last|dernière?|dernier|letzte[nrsm]?)"
_NUMBER = re.compile(r"\b(?:number|no\.?|numéro|nº|nr\.?|nummer)\s*([1-9])\b", re.IGNORECASE)
_ABOUT_ONE = re.compile(
    r"""\b(?:(?:tell|say)\s+me\s+(?:more\s+)?about|more\s+about|more\s+on|details?|describe|open
      |(?:what|how)\s+about|(?:parle|dis|raconte)\S*\s+(?:m'en\s+)?(?:moi\s+)?(?:plus\s+)?(?:de|du|sur)
      |en\s+savoir\s+plus|plus\s+sur|détails?|décris
      |(?:erzähl|sag)\w*\s+(?:mir\s+)?(?:mehr|etwas)|mehr\s+(?:über|zu[mr]?)|einzelheiten
      |was\s+ist\s+mit|beschreib\w*)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_BARE = re.compile(
    rf"""^\s*(?:and\s+|et\s+|und\s+)?(?:show\s+(?:me\s+)?|montre\S*\s+(?:moi\s+)?|zeig\w*\s+(?:mir\s+)?)?
      (?:the|le|la|les|der|die|das|den)\s+(?:{"|".join((*_ORDINALS, _LAST))})
      (?:\s+(?:one|entry|result|offer|job|course|person|offre|poste|formation|personne
        |stelle|kurs|eintrag))?(?:\s+please|\s+s'il\s+te\s+plaît|\s+bitte)?\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_ELSEWHERE = re.compile(
    r"""^\s*(?:and|et|und|or|ou|oder|(?:and\s+)?(?:what|how)\s+about|was\s+ist\s+mit)\s+
      (?:in|at|near|à|au|aux|en|dans|près\s+de|im|bei|from|ab|dès)\s+\S""",
    re.IGNORECASE | re.VERBOSE,
)
_ID = re.compile(r"(?<![\w-])[A-Za-z]{1,5}-\d{1,7}(?![\w-])")
_THEM = re.compile(
    r"""\b(?i:she|he|her|him|his|elle|lui)\b
      |\b(?i:quel\w*|où|comment)\s(?:est|sont)\s(?:sa|son|ses)\b
      |(?<!\ba-t)(?<!faut)(?<!temps\sfait)-il\b|^\W*(?:[Ee]t\s+)?[Ii]l\s(?!y\b|faut\b|fait\b)
      |\b(?:sie|er|ihm|ihn|seine?[nmrs]?)\b|\b(?:ist|sind)\s(?:ihre?|seine?)\b|^\W*(?:Sie|Er)\s""",
    re.VERBOSE,
)
"""Speaks of one person. A German capital inside a sentence addresses the assistant."""
_ASKS_WHO = re.compile(r"^\W*(?:who|qui|wer)\b", re.IGNORECASE)
_NO_LIMIT = 99


def asks_for_more(text: str) -> bool:
    """Whether a message wants more of what was listed before."""
    return bool(_MORE.search(text.replace("’", "'")))


def is_about_one(text: str) -> bool:
    """Whether a message wants to know more about one entry of a list, named by its place."""
    return position(text, _NO_LIMIT) is not None


def is_about_them(text: str) -> bool:
    """Whether a short message asks something of the person who was shown: "When is she free?"."""
    plain = text.replace("’", "'")
    short = len(plain.split()) <= PRONOUN_WORDS
    return short and bool(_THEM.search(plain)) and not _ASKS_WHO.match(plain)


def searches_elsewhere(text: str) -> bool:
    """Whether a short message asks for the same in another place or time: "and in Brest?"."""
    return len(text.split()) <= CONTINUATION_WORDS and bool(_ELSEWHERE.match(text))


def position(text: str, count: int) -> int | None:
    """The place in a list of ``count`` entries that a message speaks of, from 0."""
    plain = text.replace("’", "'")
    if not _ABOUT_ONE.search(plain) and not _BARE.match(plain):
        return None
    number = _NUMBER.search(plain)
    if number:
        place = int(number[1]) - 1
        return place if place < count else None
    for place, ordinal in enumerate(_ORDINALS[:count]):
        if re.search(rf"\b{ordinal}(?!\w)", plain, re.IGNORECASE):
            return place
    if count and re.search(rf"\b{_LAST}\b", plain, re.IGNORECASE):
        return count - 1
    return None


def is_named(text: str, record_id: str, title: str) -> bool:
    """Whether a message names this record, by its id or by its whole title."""
    plain = text.casefold()
    ids = rf"(?<![\w-]){re.escape(record_id.casefold())}(?![\w-])"
    return bool(re.search(ids, plain)) or title.casefold() in plain


def ids_in(text: str) -> list[str]:
    """What a message holds that looks like an id: letters, a dash, digits."""
    return [one if re.search(r"[A-Z]", one) else one.upper() for one in _ID.findall(text)]


def letters_of(record_id: str) -> str:
    """What the ids of one catalogue begin with."""
    return record_id.rpartition("-")[0].casefold()
