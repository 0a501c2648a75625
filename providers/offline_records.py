"""What the offline model does with the catalogues: search, show more, read one of the results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from config.prompt_files import phrase
from providers.embedding import Embedder
from providers.labelled_data import begins_turn, read_labelled
from providers.offline_listing import (
    asks_for_more,
    ids_in,
    is_about_them,
    is_named,
    position,
    searches_elsewhere,
)
from providers.offline_steps import (
    REPLY,
    Step,
    earlier_results,
    language_of,
    questions,
    read_result,
    results_of,
)
from providers.offline_vectors import RememberedVectors
from providers.offline_wishes import content, period, possible_place, spoken, without

NAMED_NEAR = 0.52
"""From which cosine of the wish to one of a record's names (title, role, team, skills) it is shown.
A catalogue has a nearest record to any words at all; a name that is near is what sets apart."""

NEAR = 0.36
"""From which score of the search a record is shown, whatever its names are."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tools of one search specialist; ``by_language`` where people are found by what they
    speak."""

    search: str
    get: str
    by_language: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """One search of the conversation: what was asked for and what came."""

    arguments: dict[str, Any]
    result: dict[str, Any]
    current: bool

    @property
    def query(self) -> str:
        return str(self.arguments.get("query", ""))

    @property
    def records(self) -> list[dict[str, Any]]:
        return list(self.result.get("results") or [])


SEARCHES = {
    "manta.opportunity_search": Catalogue("search_opportunities", "get_opportunity"),
    "manta.training_search": Catalogue("search_trainings", "get_training"),
    "manta.talent_search": Catalogue("search_people", "get_public_profile", by_language=True),
}


class SearchPolicy:
    """Searches with the user's own words and shows what comes near them, word for word."""

    def __init__(self, embedder: Embedder) -> None:
        self._vectors = RememberedVectors(embedder)

    async def next_step(
        self, catalogue: Catalogue, messages: Sequence[BaseMessage], tools: frozenset[str]
    ) -> Step:
        locale = language_of(messages)
        asked = questions(messages)
        latest = asked[-1] if asked else ""
        searches = searches_in(messages, catalogue.search)
        done = [search for search in searches if search.current]
        read = [one for one in results_of(messages, catalogue.get) if "record" in one]
        tried = bool(results_of(messages, catalogue.get))
        if not tools:
            if read or (tried and not done):
                return Step(text=_whole(read[-1] if read else {}, locale))
            return Step(text=await self._list(done, latest, locale))
        if read or (done and catalogue.search not in tools):
            return REPLY
        if done:
            return await self._narrowed(catalogue, done, latest) or REPLY
        chosen = _named(latest, await self._shown(searches))
        if chosen is None and is_about_them(latest):
            chosen = _read_before(messages, catalogue)
        if chosen is None:
            # Not shown here: whether it is an id at all, the catalogue knows.
            chosen = next(iter(ids_in(latest)), None)
        if chosen is not None and catalogue.get in tools and not tried:
            return Step(call=catalogue.get, arguments={"record_id": chosen})
        if catalogue.search not in tools:
            return REPLY
        about = read_labelled(messages, "request") or {}
        arguments = _arguments(catalogue, latest, searches, str(about.get("date", "")))
        return Step(call=catalogue.search, arguments=arguments)

    async def _narrowed(
        self, catalogue: Catalogue, done: Sequence[Search], question: str
    ) -> Step | None:
        """A second search with the place as a condition, where the question names one.

        A word is a place when a result's place holds it; what only may be one is when no result
        has it among its names.
        """
        first = done[0]
        if len(done) > 1 or first.arguments.get("show_more") or "place" in first.arguments:
            return None
        place = _place_among(first.query, first.records)
        if not place:
            place = possible_place(question)
            if not place or await self._is_a_name(place, first.records):
                return None
        kept = {name: value for name, value in first.arguments.items() if name != "query"}
        query = without(first.query, place)
        return Step(call=catalogue.search, arguments={**kept, "query": query, "place": place})

    async def _is_a_name(self, word: str, records: Sequence[dict[str, Any]]) -> bool:
        return any(near >= NAMED_NEAR for near in await self._nearness(word, records))

    async def near(self, search: Search) -> list[dict[str, Any]]:
        """The results of a search that are worth showing; all of one by fields alone."""
        if not search.query:
            return search.records
        nearness = await self._nearness(search.query, search.records)
        return [
            record
            for record, named in zip(search.records, nearness, strict=True)
            if named >= NAMED_NEAR or float(record.get("score", 0.0)) >= NEAR
        ]

    async def _nearness(self, query: str, records: Sequence[dict[str, Any]]) -> list[float]:
        """How near each record's nearest name is to the query: 1 where one holds all its words."""
        words = set(_words(query))
        names = [_names(record) for record in records]
        vectors = await self._vectors.of([query, *(name for each in names for name in each)])
        scores = vectors[1:] @ vectors[0]
        parts = np.split(scores, np.cumsum([len(each) for each in names])[:-1]) if names else []
        return [
            1.0 if any(words <= set(_words(name)) for name in each) else float(part.max())
            for each, part in zip(names, parts, strict=True)
        ]

    async def _shown(self, searches: Sequence[Search]) -> list[dict[str, Any]]:
        """The list that the user saw last."""
        for search in reversed(searches):
            if near := await self.near(search):
                return near
        return []

    async def _list(self, done: Sequence[Search], question: str, locale: str) -> str:
        if not done or "error" in done[-1].result:
            return phrase("offline_unavailable", locale)
        if done[-1].result.get("user_keeps_conditions"):
            return phrase("offline_conditions_kept", locale)
        near = await self.near(done[-1])
        if not near:
            more = asks_for_more(question)
            return phrase("offline_no_more_records" if more else "offline_no_records", locale)
        lines = [phrase("offline_records_intro", locale), "", *(line(one) for one in near)]
        return "\n".join(lines)


def searches_in(messages: Sequence[BaseMessage], tool: str) -> list[Search]:
    """The searches of the conversation that is seen, each with what was asked for."""
    arguments: dict[str, dict[str, Any]] = {}
    found: list[Search] = []
    for message in messages:
        if begins_turn(message):
            found = [Search(one.arguments, one.result, current=False) for one in found]
        elif isinstance(message, AIMessage):
            arguments |= {str(call["id"]): call["args"] for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.name == tool:
            asked = arguments.get(message.tool_call_id, {})
            found.append(Search(asked, read_result(message), current=True))
    return found


def _arguments(
    catalogue: Catalogue, latest: str, searches: Sequence[Search], today: str
) -> dict[str, Any]:
    """What to search with: the last search once more for "show more", with another place or month
    for "and in Brest?", and else what the question names."""
    if searches and asks_for_more(latest):
        return {**searches[-1].arguments, "show_more": True}
    fields, month = period(latest, today)
    query = without(content(latest), month)
    if catalogue.by_language:
        language, word = spoken(latest)
        if language:
            fields["language"] = language
            query = without(query, word)
    if searches and searches_elsewhere(latest):
        query = f"{searches[-1].query} {query}".strip()
    return {**fields, "query": query}


def _named(text: str, shown: Sequence[dict[str, Any]]) -> str | None:
    """The shown record that a message is about: by its id, its title, or its place in the list."""
    for record in shown:
        if is_named(text, str(record["id"]), str(record["title"])):
            return str(record["id"])
    place = position(text, len(shown))
    return None if place is None else str(shown[place]["id"])


def _read_before(messages: Sequence[BaseMessage], catalogue: Catalogue) -> str | None:
    """The person whose record was read last; a position or a course is nobody."""
    read = earlier_results(messages, catalogue.get) if catalogue.by_language else []
    return next((str(one["record"]["id"]) for one in reversed(read) if "record" in one), None)


def _place_among(query: str, records: Sequence[dict[str, Any]]) -> str:
    """The words of a query that stand in a result's place and in no other of its names."""
    for record in records:
        place = set(_words(str(record.get("place", ""))))
        named = {word for name in _names(record) for word in _words(name)}
        words = [word for word in query.split() if word.casefold() in place - named]
        if words:
            return " ".join(words)
    return ""


def _words(text: str) -> list[str]:
    return re.findall(r"[\w+#-]+", text.casefold())


def _names(record: dict[str, Any]) -> list[str]:
    """What a record is called, and what it asks for or offers."""
    names = (record.get("title"), record.get("role"), record.get("team"), *record.get("skills", ()))
    return [str(name) for name in names if name]


def _whole(result: dict[str, Any], locale: str) -> str:
    record = result.get("record")
    if not record:
        return phrase("offline_no_records", locale)
    return "\n".join([phrase("offline_record_intro", locale), "", line(record), "", record["text"]])


def line(record: dict[str, Any]) -> str:
    """One record in a list: its title, and beside it what the catalogue says in fields."""
    parts = [record.get("role"), record.get("place"), record.get("level"), record.get("starts")]
    beside = ", ".join(str(part) for part in (record["id"], *parts) if part)
    return f"- {record['title']} ({beside})"
