"""The generate nodes: the streamed answer from checked evidence, and the sources it used."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import date
from typing import cast

from langchain_core.messages import AIMessageChunk, BaseMessage, SystemMessage

from actors.campus.agent import texts_of, validated
from actors.campus.leaks import LeakedCall, without_leaks
from actors.campus.run import AGENT, About, CampusRun, Tell
from actors.conversation import to_langchain
from config import prompt_files
from config.addresses import shown_url
from config.prompt_files import phrase
from domain.answers import Citation, KnowledgeAnswer
from domain.events import TextDelivered, TextDelta
from providers.failures import model_failures
from providers.labelled_data import labelled

log = logging.getLogger("manta.campus")
PROMPTS: dict[About, str] = {
    "general": "campus_general",
    "application": "campus_application",
    "teaching": "campus_teaching",
}
ATTEMPTS = 2
"""A reply that turns out empty or a written-out tool call is asked for once more."""
_MARK = re.compile(r"\s*\[(\d{1,2}(?:\s*,\s*\d{1,2})*)\]")
_BEGUN_MARK = re.compile(r"\s*(?:\[[\d,\s]*)?$")


async def written(run: CampusRun, citations: tuple[Citation, ...], tell: Tell) -> KnowledgeAnswer:
    """Stream the answer and append its sources.

    When the model writes nothing that can be shown, the checked quotes themselves are the answer:
    something was found, so the reply is never empty.

    Raises:
        ModelUnavailable: a call failed.
    """
    text = ""
    for _ in range(ATTEMPTS):
        text = await _streamed(run, citations, tell)
        if text:
            break
    used = used_in(text, citations)
    sources = sources_block(used, run.context.locale, run.services.shown_urls)
    if text:
        tell(TextDelta(agent=AGENT, text=sources))
        text += sources
    else:
        text = quoted(used, run.context.locale) + sources
        tell(TextDelivered(agent=AGENT, text=text))
    return KnowledgeAnswer(status="answered", answer=text, citations=used)


async def _streamed(run: CampusRun, citations: tuple[Citation, ...], tell: Tell) -> str:
    """What the model wrote and the stream was told; empty where nothing of it can be shown."""
    run.meter.take("model_calls")
    chat = run.services.models.chat(run.model, "manta.campus_advisor", public=True)
    known = frozenset(one.number for one in citations)
    parts: list[str] = []
    with model_failures():
        stream = chat.astream(_prompt(run, citations), {"callbacks": [run.calls]})
        async with (
            aclosing(cast(AsyncGenerator[BaseMessage, None], stream)) as chunks,
            aclosing(_texts(chunks)) as texts,
            aclosing(with_known_marks(texts, known)) as marked,
            aclosing(without_leaks(marked)) as pieces,
        ):
            try:
                async for piece in pieces:
                    parts.append(piece)
                    tell(TextDelta(agent=AGENT, text=piece))
            except LeakedCall:
                log.warning("leaked_call", extra=run.about_it())
    return "".join(parts)


async def _texts(chunks: AsyncIterator[BaseMessage]) -> AsyncGenerator[str, None]:
    async for chunk in chunks:
        if isinstance(chunk, AIMessageChunk) and chunk.text:
            yield chunk.text


async def with_known_marks(
    texts: AsyncIterator[str], known: frozenset[int]
) -> AsyncGenerator[str, None]:
    """The same text without the marks of sources that there are not."""

    def of_known(mark: re.Match[str]) -> str:
        numbers = [n for n in mark[1].split(",") if int(n) in known]
        return mark[0] if len(numbers) == len(mark[1].split(",")) else _mark(numbers)

    held = ""
    async for text in texts:
        held += text
        begun = _BEGUN_MARK.search(held)
        ready = held[: begun.start()] if begun else held
        held = held[len(ready) :]
        yield _MARK.sub(of_known, ready)
    yield _MARK.sub(of_known, held)


def _mark(numbers: Sequence[str]) -> str:
    return f" [{', '.join(n.strip() for n in numbers)}]" if numbers else ""


def _prompt(run: CampusRun, citations: tuple[Citation, ...]) -> list[BaseMessage]:
    history = to_langchain(texts_of(run.request.messages)[-run.campus.history_messages :])
    evidence = [
        {"number": one.number, "title": one.title, "quote": one.quote, "passage": one.passage}
        for one in citations
    ]
    about = {"language": run.context.locale, "date": date.today().isoformat()}
    return validated(
        [
            SystemMessage(prompt_files.text(PROMPTS[run.about])),
            labelled("request", about),
            labelled("evidence", evidence),
            *history,
        ]
    )


def used_in(text: str, citations: tuple[Citation, ...]) -> tuple[Citation, ...]:
    """The citations whose numbers the text names; all of them where it names none."""
    named = {int(n) for mark in _MARK.findall(text) for n in mark.split(",")}
    return tuple(one for one in citations if one.number in named) or citations


def sources_block(citations: Sequence[Citation], locale: str, urls: Mapping[str, str]) -> str:
    """One line a source, with its page or section and its address."""
    lines: dict[int, str] = {}
    for one in citations:
        place = [one.heading] if one.heading else []
        if one.page:
            place.append(phrase("campus_page", locale).format(page=one.page))
        beside = f" ({', '.join(place)})" if place else ""
        address = f": {shown_url(one.url, urls)}" if one.url else ""
        lines.setdefault(one.number, f"[{one.number}] {one.title}{beside}{address}")
    return "\n\n" + "\n".join([phrase("campus_sources", locale), *lines.values()])


def quoted(citations: Sequence[Citation], locale: str) -> str:
    """The quotes as the answer, each with its number."""
    lines = [phrase("offline_quote_intro", locale)]
    lines += [f"\n> {one.quote} [{one.number}]" for one in citations]
    return "\n".join(lines)
