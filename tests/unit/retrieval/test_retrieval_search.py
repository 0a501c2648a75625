"""Fusion, the search over a store in memory, readiness and the tenant's filter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from config.policy import POLICY
from domain.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from retrieval.fusion import distinct, fused, lexical_part, speaks
from retrieval.hybrid import lexical_query, query_language
from retrieval.languages import UNKNOWN, language_of
from retrieval.rows import Hit, StoredChunk, chunk_id
from retrieval.search import DocumentSearch
from retrieval.tenancy import literal, only, own

QUICK = replace(POLICY.research, readiness_seconds=0.05)


def chunk(text: str, language: str = "en", position: int = 0) -> StoredChunk:
    return StoredChunk("docs", "leave.md", "hash", position, "Leave", "", 0, language, text)


class FakeEmbedder:
    name = "fake"
    dimensions = 2

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls = 0

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return [[1.0, 0.0] for _ in texts]


class FakeStore:
    """Passages with fixed cosines and BM25 scores, on the interface of the real store."""

    def __init__(
        self,
        rows: dict[str, tuple[StoredChunk, float, float]] | None = None,
        near: int = 40,
        error: Exception | None = None,
        delay: float = 0.0,
    ) -> None:
        self.rows = rows or {}
        self.near = near
        self.error = error
        self.delay = delay
        self.asked: list[tuple[str, str]] = []
        self.within: list[tuple[str, str | None]] = []

    async def nearest(
        self,
        tenant: str,
        vector: Sequence[float],
        limit: int,
        ids: Sequence[str] | None = None,
        *,
        collection: str = "document",
        programme: str | None = None,
    ) -> list[Hit]:
        self.asked.append((tenant, "nearest"))
        self.within.append((collection, programme))
        hits = [
            Hit(name, dense, row)
            for name, (row, dense, _) in self.rows.items()
            if ids is None or name in ids
        ]
        hits.sort(key=lambda hit: -hit.score)
        return hits[: limit if ids is not None else min(limit, self.near)]

    async def lexical(
        self,
        tenant: str,
        text: str,
        limit: int,
        *,
        collection: str = "document",
        programme: str | None = None,
    ) -> list[Hit]:
        self.asked.append((tenant, f"lexical {text}"))
        self.within.append((collection, programme))
        if self.error is not None:
            raise self.error
        hits = [Hit(name, bm25, row) for name, (row, _, bm25) in self.rows.items() if bm25 > 0]
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    async def any_id(self, tenant: str, seconds: float) -> str | None:
        self.asked.append((tenant, "any_id"))
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        return next(iter(self.rows), None)


def search(store: FakeStore, embedder: FakeEmbedder | None = None) -> DocumentSearch:
    return DocumentSearch(store, embedder or FakeEmbedder(), QUICK)


def test_scores_stay_between_zero_and_one() -> None:
    assert lexical_part(0.0) == 0.0
    assert 0.99 < lexical_part(10_000.0) < 1.0
    assert fused(1.0, 1.0, same_language=True) == 1.0
    assert fused(-1.0, 0.0, same_language=True) == 0.0


def test_words_of_another_language_count_for_nothing() -> None:
    assert fused(0.5, 0.9, same_language=False) == fused(0.5, 0.0, same_language=True)
    assert fused(0.5, 0.9, same_language=True) > fused(0.5, 0.0, same_language=True)
    assert speaks("de", "de")
    assert speaks(UNKNOWN, "de")
    assert not speaks("de", "en")


async def found(
    store: FakeStore, query: str = "How many days?", language: str | None = None
) -> list[str]:
    passages = await search(store).search("acme", query, language=language)
    return [passage.text for passage in passages]


def test_a_passage_that_only_words_find_is_ranked_with_its_cosine() -> None:
    store = FakeStore(
        {
            "a": (chunk("near in meaning"), 0.50, 0.0),
            "b": (chunk("has the very words"), 0.45, 30.0),
            "c": (chunk("has the words, says something else"), -0.1, 30.0),
        },
        near=1,
    )
    passages = asyncio.run(search(store).search("acme", "How many days?"))
    assert [passage.chunk_id for passage in passages] == ["b", "a", "c"]
    assert passages[0].dense == 0.45
    assert passages[0].lexical == 0.75


def test_the_lexical_part_is_left_out_across_languages() -> None:
    store = FakeStore(
        {
            "a": (chunk("an English passage"), 0.50, 0.0),
            "b": (chunk("ein deutscher Absatz", "de"), 0.45, 30.0),
        }
    )
    assert asyncio.run(found(store, language="en"))[0] == "an English passage"
    assert asyncio.run(found(store, language="de"))[0] == "ein deutscher Absatz"


def test_at_most_five_and_no_repetitions() -> None:
    text = "The same paragraph stands in two files, word for word, and is shown once."
    rows = {f"s{n}": (chunk(f"{text} {n}"), 0.9, 0.0) for n in range(3)}
    rows |= {f"d{n}": (chunk(f"passage {n} " + f"about{n} " * 9), 0.5, 0.0) for n in range(9)}
    passages = asyncio.run(found(FakeStore(rows)))
    assert len(passages) == 5
    assert sum(text in passage for passage in passages) == 1


def test_distinct_keeps_neighbours_that_overlap_a_little() -> None:
    one = " ".join(f"word{n}" for n in range(100))
    other = " ".join(f"word{n}" for n in range(90, 190))
    store = FakeStore({"a": (chunk(one), 0.9, 0.0), "b": (chunk(other), 0.8, 0.0)})
    passages = asyncio.run(search(store).search("acme", "words"))
    assert len(distinct(passages, 5)) == 2


def test_an_empty_query_asks_nobody() -> None:
    store = FakeStore()
    assert asyncio.run(found(store, "  \n")) == []
    assert store.asked == []


@pytest.mark.parametrize(
    ("store", "embedder", "error"),
    [
        (FakeStore(error=StoreUnavailable("it", "gone")), FakeEmbedder(), StoreUnavailable),
        (FakeStore(), FakeEmbedder(ModelUnavailable("it", "gone")), ModelUnavailable),
    ],
)
def test_failures_keep_their_type(
    store: FakeStore, embedder: FakeEmbedder, error: type[Exception]
) -> None:
    with pytest.raises(error):
        asyncio.run(search(store, embedder).search("acme", "How many days?"))


def test_stop_words_go_by_language() -> None:
    assert lexical_query("How long may I carry over leave?", "en") == "carry leave"
    assert lexical_query("Wie lange war die Hauptversammlung?", "de") == "lange hauptversammlung"
    assert lexical_query("Die war", UNKNOWN) == ""
    assert lexical_query("the war", "en") == "war"


def test_languages_of_questions() -> None:
    assert language_of("Wie viele Urlaubstage habe ich im Jahr?") == "de"
    assert language_of("12345 !!") == UNKNOWN
    assert query_language("Combien de jours de congé ai-je ?") == "fr"
    assert query_language("RTT") == UNKNOWN


def test_every_part_of_a_search_is_within_its_collection_and_programme() -> None:
    rows = {"a": (chunk("one"), 0.5, 0.0), "b": (chunk("two"), 0.4, 9.0)}
    store = FakeStore(rows, near=1)
    asyncio.run(search(store).search("acme", "How many days?"))
    assert store.within == [("document", None)] * 3, "the missing cosine is asked for as well"
    store.within.clear()
    asyncio.run(
        search(store).search("acme", "How many days?", collection="faq", programme="Chemie")
    )
    assert store.within == [("faq", "Chemie")] * 3


def test_an_unknown_collection_is_refused_before_anybody_is_asked() -> None:
    store = FakeStore()
    with pytest.raises(InvalidInput, match="'people' is no collection"):
        asyncio.run(search(store).search("acme", "q", collection="people"))  # type: ignore[arg-type]
    assert store.asked == []


def test_readiness_reads_one_id_and_embeds_nothing() -> None:
    embedder, store = FakeEmbedder(), FakeStore({"a": (chunk("text"), 0.5, 0.0)})
    assert asyncio.run(search(store, embedder).readiness("acme", True)) == "ready"
    assert store.asked == [("acme", "any_id")]
    assert embedder.calls == 0


@pytest.mark.parametrize(
    ("store", "enabled", "status"),
    [
        (FakeStore(), True, "empty"),
        (FakeStore(), False, "disabled"),
        (FakeStore(error=StoreUnavailable("it", "gone")), True, "unavailable"),
        (FakeStore(delay=5.0), True, "unavailable"),
    ],
)
def test_readiness_tells_empty_from_unavailable(
    store: FakeStore, enabled: bool, status: str
) -> None:
    assert asyncio.run(search(store).readiness("acme", enabled)) == status


@pytest.mark.parametrize(
    "hostile",
    ['a" or tenant != "', 'a\\" or 1 == 1 or tenant == "', "a\\", 'a"\n or true', "a' or ''=='"],
)
def test_a_hostile_value_stays_one_string(hostile: str) -> None:
    from milvus_lite.search.filter import parse_expr
    from milvus_lite.search.filter.ast import StringLit

    tree = parse_expr(f"tenant == {literal(hostile)}")
    assert isinstance(tree.right, StringLit)
    assert tree.right.value == hostile
    assert parse_expr(only(hostile, file=hostile)) is not None


def test_a_tenant_is_never_left_out() -> None:
    assert only("acme").startswith('tenant == "acme" and kind == "document"')
    for nobody in ("", "x" * 64):
        with pytest.raises(InvalidInput):
            only(nobody)
    assert own("acme", [{"tenant": "acme"}, {"tenant": "other"}]) == [{"tenant": "acme"}]


def test_chunk_ids_are_stable_and_tell_tenants_apart() -> None:
    one = chunk("text")
    assert chunk_id("acme", one) == chunk_id("acme", chunk("text"))
    others = [
        chunk_id("other", one),
        chunk_id("acme", replace(one, position=1)),
        chunk_id("acme", replace(one, file="other.md")),
        chunk_id("acme", replace(one, text="other")),
    ]
    assert len({chunk_id("acme", one), *others}) == 5
