"""What the offline model does with the documents of a conversation: read them and quote them.

It summarises nothing. Whoever asks what a document says, gets its beginning word for word; whoever
asks something of it, gets the passages that answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from config.prompt_files import phrase
from providers.embedding import Embedder
from providers.extractive import Finding, findings
from providers.extractive_units import Delivered, units_of
from providers.extractive_verdict import ANSWER, SURE, chance, quotable
from providers.labelled_data import read_labelled
from providers.offline_follow_ups import earlier_questions, is_continuation
from providers.offline_steps import (
    REPLY,
    Step,
    earlier_results,
    language_of,
    questions,
    results_of,
)
from providers.offline_vectors import RememberedVectors

READ = "analyze_document"

WINDOWS = 3
"""Windows that are read for one answer, of one document or of several."""

MAY_ANSWER = 0.28
"""The chance from which a passage of a document that was asked for is quoted. What a user points at
holds an answer more often than what a search delivers; passages beside the point stay below 0.2."""

BEGINNING_CHARS = 1_200
"""How much of a document is quoted where its beginning stands for the whole."""

_OWN = r"""(?:(?:the|my|this|that|these|those|your|our|le|la|les|mon|ma|mes|ce|cet|cette|ces|votre
  |ton|das|dem|den|der|die|des|mein(?:e[nmrs]?)?|dies(?:e[nmrs]?|es)?)\s+|l')(?:\w+\s+)?"""
_NOUN = r"""(?:documents?|files?|uploads?|attachments?|pdf|cv|résumé|resume
  |curriculum(?:\s+vit(?:a|ae))?|fichiers?|pièces?\s+jointes?|dokument(?:e[ns]?|s)?|datei(?:en)?
  |anhang|anlage|lebenslauf\w*)"""
_MENTION = re.compile(rf"\b{_OWN}{_NOUN}\b|\bcv\b|\blebenslauf\b", re.IGNORECASE | re.VERBOSE)
_ADDED = re.compile(
    r"""\b(?:uploaded|attached|attachment|(?:pièces?|fichiers?|documents?)\s+joint\w*|télévers\w*
      |ci-joint\w*|hochgeladen\w*|angehängt\w*|beigefügt\w*|im\s+anhang)\b
      |\b[\w-]+\.(?:pdf|docx?|odt|txt|md|html?|pptx?|csv|xlsx?)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WHERE = re.compile(
    rf"""\b(?:in|from|according\s+to|dans|selon|d'après|laut|aus|im|nach)\s+
      (?:{_OWN})?{_NOUN}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_GIST = re.compile(
    r"""\b(?:summar\w+|overview|what\s+(?:does|do|is|are)\b.*\b(?:say|contain|about|in)
      |(?:here\s+is|here's|read|look\s+at|open|show\s+me)
      |résume[rz]?|résumé\s+de|que\s+(?:dit|disent|contient)|de\s+quoi\s+parle|qu'y\s+a-t-il|qu'est-ce\s+qu
      |voici|lis|lisez|lire|regarde[rz]?|aperçu
      |zusammen|zusammenfass\w*|was\s+(?:steht|sagt)|worum\s+geht|inhalt|überblick
      |hier\s+ist|lies|lesen|schau\w*)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_TOPIC = re.compile(
    rf"""\b(?:about|on|regarding|concerning|sur|concernant|à\s+propos|über|zu[mr]?)\s+
      (?!(?:{_OWN})?{_NOUN}\b)\w""",
    re.IGNORECASE | re.VERBOSE,
)
_EXTENSION = re.compile(r"\.\w{1,5}$")
_MIN_NAME_CHARS = 2


class DocumentPolicy:
    """Lives with the process."""

    def __init__(self, embedder: Embedder) -> None:
        self._vectors = RememberedVectors(embedder)

    async def next_step(
        self, messages: Sequence[BaseMessage], tools: frozenset[str], *, company: bool
    ) -> Step | None:
        """The next window, or what the documents say; ``None`` where they are not meant.

        A question about the organisation may mean a document as well: then it is answered from one
        where that is sure, where it mentions one in passing if that answers at all, and else looked
        up as ever.

        Args:
            company: whether the message asks for a fact about the organisation.
        """
        documents = _documents(messages)
        asked = questions(messages)
        latest = asked[-1] if asked else ""
        wanted = reads_document(latest) or bool(named(latest, documents))
        if not wanted and earlier_results(messages, READ) and is_continuation(latest):
            wanted = True
            latest = f"{next(iter(earlier_questions(asked)), '')} {latest}".strip()
        mentioned = wanted or means_document(latest)
        windows = results_of(messages, READ)
        if not documents or not (mentioned or company):
            return None
        if READ in tools:
            following = _next_window(named(latest, documents) or documents, windows)
            if following is not None:
                return Step(call=READ, arguments=following)
        if not wanted:
            bar = ANSWER if mentioned else SURE
            if company and not await self._answers(windows, latest, messages, bar):
                return None
        if tools:
            return REPLY
        return Step(text=await self._said(windows, latest, language_of(messages)))

    async def _answers(
        self,
        windows: Sequence[dict[str, Any]],
        question: str,
        messages: Sequence[BaseMessage],
        bar: float,
    ) -> bool:
        found = await self._found(_sources(windows), question, language_of(messages))
        return bool(found) and chance(found[0]) >= bar

    async def _said(self, windows: Sequence[dict[str, Any]], question: str, locale: str) -> str:
        sources = _sources(windows)
        if not sources:
            return phrase("offline_document_unread", locale)
        if asks_for_gist(question):
            return _beginnings(sources, locale)
        chosen = await self._found(sources, question, locale)
        if not chosen:
            names = ", ".join(source.title for source in sources)
            return phrase("offline_document_nothing", locale).format(names=names)
        lines = [phrase("offline_document_intro", locale), ""]
        for finding in chosen:
            lines += _quoted(finding.unit.text, finding.unit.source.title)
        return "\n".join(lines).strip()

    async def _found(
        self, sources: Sequence[Delivered], question: str, locale: str
    ) -> list[Finding]:
        """What answers the question; of a document that it asks of, what may answer it."""
        found = await findings(self._vectors, _matter(question), sources, locale)
        chosen = quotable(found)
        if not chosen and found and reads_document(question) and chance(found[0]) >= MAY_ANSWER:
            chosen = found[:1]
        return chosen


def _matter(question: str) -> str:
    """A question without its words for the document itself, which no passage of it repeats:
    "welding" of "What does my CV say about welding?"."""
    plain = _plain(question)
    topic = next(iter(reversed([*_TOPIC.finditer(plain)])), None)
    if topic and _GIST.search(plain[: topic.start()]):
        return plain[topic.end() - 1 :]
    return " ".join(_MENTION.sub(" ", _WHERE.sub(" ", plain)).split()) or question


def means_document(text: str) -> bool:
    """Whether a message speaks of a document that it means to be known."""
    plain = _plain(text)
    return bool(_MENTION.search(plain) or _ADDED.search(plain))


def reads_document(text: str) -> bool:
    """Whether a message wants to know what a document says, and not what to do about it.

    "Which jobs suit my CV?" speaks of one and asks for something else.
    """
    plain = _plain(text)
    mentions = bool(_MENTION.search(plain))
    return bool(_ADDED.search(plain) or _WHERE.search(plain) or (mentions and _GIST.search(plain)))


def asks_for_gist(text: str) -> bool:
    """Whether a message asks what a document says as a whole."""
    plain = _plain(text)
    if not _GIST.search(plain) or _TOPIC.search(plain):
        return False
    return bool(_MENTION.search(plain) or _ADDED.search(plain) or _WHERE.search(plain))


def named(text: str, documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The documents that a message names: by the whole name, with its ending or without."""
    plain = f" {' '.join(_words(text))} "
    return [
        one
        for one in documents
        if len(_stem(one)) > _MIN_NAME_CHARS and f" {' '.join(_words(_stem(one)))} " in plain
    ]


def _documents(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    return list((read_labelled(messages, "request") or {}).get("documents") or ())


def _stem(document: dict[str, Any]) -> str:
    return _EXTENSION.sub("", str(document["name"]))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _plain(text: str) -> str:
    return text.replace("’", "'")


def _next_window(
    documents: Sequence[dict[str, Any]], windows: Sequence[dict[str, Any]]
) -> dict[str, Any] | None:
    """The beginning of each document first, then how they go on."""
    if len(windows) >= WINDOWS:
        return None
    if any("error" in window for window in windows):
        # A result without a text names no document: what failed once is not tried again.
        return None
    read = {str(window.get("document_id")): window for window in windows}
    for document in documents:
        if str(document["document_id"]) not in read:
            return {"document_id": document["document_id"], "offset": 0}
    for document_id, window in read.items():
        if window.get("next_offset") is not None:
            return {"document_id": document_id, "offset": window["next_offset"]}
    return None


def _sources(windows: Sequence[dict[str, Any]]) -> list[Delivered]:
    """One text a document, its windows joined as they follow each other."""
    texts: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for window in windows:
        if window.get("text"):
            document_id = str(window["document_id"])
            names[document_id] = str(window["name"])
            texts.setdefault(document_id, []).append(str(window["text"]))
    return [Delivered(one, "".join(parts), names[one]) for one, parts in texts.items()]


def _beginnings(sources: Sequence[Delivered], locale: str) -> str:
    """The first passages of each document, within what is quoted of all of them."""
    share = BEGINNING_CHARS // len(sources)
    lines = [phrase("offline_document_beginning", locale), ""]
    for source in sources:
        kept: list[str] = []
        for unit in units_of(source):
            if kept and sum(map(len, kept)) + len(unit.text) > share:
                break
            kept.append(unit.text)
        lines += _quoted("\n\n".join(kept), source.title)
    return "\n".join(lines).strip()


def _quoted(text: str, title: str) -> list[str]:
    quoted = [f"> {line}" for line in text.split("\n") if line.strip()]
    return [*quoted, f"> — {title}", ""]
