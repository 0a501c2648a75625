"""The records of two tenants in one real Milvus Lite server: whose they are, filters, loading."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from config.embedded import start_milvus
from config.policy import POLICY
from config.settings import Settings
from domain.errors import InvalidConfiguration, InvalidInput, NotFound, StoreUnavailable
from domain.records import RecordFilters, RecordHit, RecordKind
from providers.embedding import LocalEmbedder
from retrieval.records.folding import folded
from retrieval.records.loading import LoadSummary, load_records, replace_records
from retrieval.records.search import RecordSearch
from retrieval.records.store import RecordStore

pytestmark = pytest.mark.integration

EMBEDDER = LocalEmbedder()
KIND: RecordKind = "trainings"
NONE = RecordFilters()


def line(record_id: str, title: str = "Diving", **fields: Any) -> dict[str, Any]:
    given = {
        "id": record_id,
        "language": "en",
        "title": title,
        "text": f"{title}, explained and practised.",
        "format": "workshop",
    }
    return {**given, **fields}


TRAININGS = [
    line(
        "A", "Welding steel", place="Brest", level="Beginner", starts="2027-01-10", skills=["MIG"]
    ),
    line(
        "B",
        "Souder l’aluminium",
        language="fr",
        place="Atelier naval, Brest",
        level="advanced",
        starts="2027-02-10",
        skills=["soudage MIG", "C++"],
    ),
    line("C", "Schweißen", language="de", place="Bremerhaven", level="beginner", skills=["Maß"]),
    line("D", "Welding at sea", place="Falmouth", level="advanced", starts="2027-02-11"),
    line("E", "Cooking for many", place="Brest-sur-Mer", level="beginner", starts="2027-03-01"),
]


class Shelf:
    """A store with what a test does to it."""

    def __init__(self, store: RecordStore, folder: Path) -> None:
        self.store = store
        self.search = RecordSearch(store, EMBEDDER)
        self._file = folder / "records.jsonl"

    async def load(
        self, tenant: str, *lines: dict[str, Any], kind: RecordKind = KIND
    ) -> LoadSummary:
        self._file.write_text("\n".join(json.dumps(each) for each in lines), encoding="utf-8")
        return await replace_records(self.store, EMBEDDER, self._file, kind, tenant)

    async def found(
        self, tenant: str, query: str = "", *, limit: int = 50, exclude: Any = (), **filters: Any
    ) -> list[RecordHit]:
        wanted = RecordFilters(**filters)
        return await self.search.search(tenant, KIND, query, wanted, limit, tuple(exclude))

    async def ids(self, tenant: str, query: str = "", **given: Any) -> list[str]:
        return [hit.record.id for hit in await self.found(tenant, query, **given)]


Work = Callable[[Shelf], Awaitable[None]]


@pytest.fixture
def run(milvus_uri: str, tmp_path: Path) -> Callable[[Work], None]:
    def run_in_store(work: Work) -> None:
        async def main() -> None:
            store = RecordStore(milvus_uri, EMBEDDER)
            try:
                await work(Shelf(store, tmp_path))
            finally:
                await store.close()

        asyncio.run(main())

    return run_in_store


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4().hex[:8]}"


def test_two_tenants_may_use_the_same_ids_and_never_meet(
    run: Callable[[Work], None], tenant: str
) -> None:
    other = f"{tenant}-other"

    async def work(shelf: Shelf) -> None:
        await shelf.load(tenant, line("X", "Ours"), line("Y", "Only ours"))
        await shelf.load(other, line("X", "Theirs"), line("Z", "Only theirs"))
        for query in ("", "Theirs", "only"):
            mine = await shelf.found(tenant, query)
            assert {hit.record.title for hit in mine} == {"Ours", "Only ours"}
        assert (await shelf.search.record(tenant, KIND, "X")).title == "Ours"
        assert (await shelf.search.record(other, KIND, "X")).title == "Theirs"
        with pytest.raises(NotFound, match="the record"):
            await shelf.search.record(tenant, KIND, "Z")
        # Removing all of one's own touches nobody else's.
        await shelf.load(tenant)
        assert await shelf.ids(tenant) == []
        assert await shelf.ids(other) == ["X", "Z"]

    run(work)


def test_many_searches_at_once_stay_with_their_tenant(
    run: Callable[[Work], None], tenant: str
) -> None:
    tenants = [tenant, f"{tenant}-other"]

    async def work(shelf: Shelf) -> None:
        for owner in tenants:
            await shelf.load(owner, *(line(f"R-{number}", f"Of {owner}") for number in range(20)))
        asked = [tenants[number % 2] for number in range(200)]
        queries = [("", "diving", "Of")[number % 3] for number in range(200)]
        found = await asyncio.gather(
            *(shelf.found(owner, query) for owner, query in zip(asked, queries, strict=True))
        )
        for owner, hits in zip(asked, found, strict=True):
            assert len(hits) == 20
            assert {hit.record.title for hit in hits} == {f"Of {owner}"}

    run(work)


def test_kinds_are_kept_apart(run: Callable[[Work], None], tenant: str) -> None:
    occupation = {"id": "A", "language": "en", "title": "Welder", "text": "Joins metal."}

    async def work(shelf: Shelf) -> None:
        await shelf.load(tenant, line("A", "Welding"))
        await shelf.load(tenant, occupation, kind="occupations")
        assert [hit.record.title for hit in await shelf.found(tenant, "weld")] == ["Welding"]
        assert (await shelf.search.record(tenant, "occupations", "A")).title == "Welder"
        with pytest.raises(NotFound):
            await shelf.search.record(tenant, "people", "A")
        await shelf.load(tenant)
        assert (await shelf.search.record(tenant, "occupations", "A")).title == "Welder"

    run(work)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"place": "Brest"}, "ABE"),
        ({"place": "BRÉST"}, "ABE"),
        ({"place": "atelier naval"}, "B"),
        ({"place": "Bre"}, ""),
        ({"language": "fr"}, "B"),
        ({"language": "nl"}, ""),
        ({"level": "beginner"}, "ACE"),
        ({"level": "BEGINNER"}, "ACE"),
        ({"skill": "mig"}, "AB"),
        ({"skill": "Soudage MIG"}, "B"),
        ({"skill": "mass"}, "C"),
        ({"skill": "c++"}, "B"),
        ({"skill": "c"}, ""),
        ({"starts_from": date(2027, 2, 11)}, "DE"),
        ({"starts_to": date(2027, 2, 10)}, "AB"),
        ({"starts_from": date(2027, 2, 10), "starts_to": date(2027, 2, 11)}, "BD"),
        ({"place": "Brest", "level": "beginner"}, "AE"),
        ({"place": "Brest", "level": "beginner", "skill": "MIG", "language": "en"}, "A"),
        ({"place": "Brest", "starts_from": date(2027, 1, 11), "level": "advanced"}, "B"),
        ({"place": "Falmouth", "language": "de"}, ""),
    ],
)
def test_every_filter_alone_and_with_others(
    run: Callable[[Work], None], tenant: str, filters: dict[str, Any], expected: str
) -> None:
    async def work(shelf: Shelf) -> None:
        await shelf.load(tenant, *TRAININGS)
        # By date in a list, by nearness in a search, and the same records in both.
        assert sorted(await shelf.ids(tenant, **filters)) == list(expected)
        assert sorted(await shelf.ids(tenant, "welding", **filters)) == list(expected)

    run(work)


def test_a_list_is_by_date_with_the_undated_last(run: Callable[[Work], None], tenant: str) -> None:
    async def work(shelf: Shelf) -> None:
        await shelf.load(tenant, *TRAININGS)
        assert await shelf.ids(tenant) == ["A", "B", "D", "E", "C"]
        assert await shelf.ids(tenant, "  ", limit=2) == ["A", "B"]
        assert await shelf.ids(tenant, limit=2, exclude=["A", "B"]) == ["D", "E"]
        assert {hit.score for hit in await shelf.found(tenant)} == {1.0}
        assert await shelf.ids(tenant, limit=0) == []

    run(work)


@pytest.mark.parametrize(
    "hostile",
    [
        '"',
        'x") or tenant != ("',
        'brest") or array_contains(places, "falmouth',
        "brest\\",
        '\\" or 1 == 1 or tenant == "',
        "%",
        "brest%",
        "_",
        'brest"] or tenant in ["x',
        "brest\nor tenant != 'x'",
    ],
)
def test_a_hostile_filter_widens_nothing(
    run: Callable[[Work], None], tenant: str, hostile: str
) -> None:
    other = f"{tenant}-other"

    async def work(shelf: Shelf) -> None:
        await shelf.load(tenant, *TRAININGS)
        await shelf.load(other, line("Z", "Foreign", place="falmouth", level="x", skills=["x"]))
        for field in ("place", "level", "skill"):
            for query in ("", "welding"):
                if folded(hostile):
                    found = await shelf.ids(tenant, query, **{field: hostile})
                    assert set(found) <= set("ABE"), (field, found)
                else:
                    with pytest.raises(InvalidInput, match=field):
                        await shelf.ids(tenant, query, **{field: hostile})
        # A query and an excluded id are data, too.
        assert "Z" not in await shelf.ids(tenant, f"welding {hostile}")
        assert await shelf.ids(tenant, exclude=[hostile]) == ["A", "B", "D", "E", "C"]
        with pytest.raises(NotFound):
            await shelf.search.record(tenant, KIND, hostile)

    run(work)


@pytest.mark.parametrize(
    "hostile", ['x" or tenant != "x', 'x\\" or 1 == 1 or tenant == "', "nobody"]
)
def test_a_hostile_tenant_sees_and_removes_nothing(
    run: Callable[[Work], None], tenant: str, hostile: str
) -> None:
    async def work(shelf: Shelf) -> None:
        await shelf.load(tenant, *TRAININGS)
        assert await shelf.ids(hostile) == []
        assert await shelf.ids(hostile, "welding") == []
        assert await shelf.store.digests(hostile, KIND) == {}
        await shelf.store.forget(hostile, KIND, ["A", "B"])
        assert len(await shelf.ids(tenant)) == 5

    run(work)


def test_as_many_ids_as_a_conversation_remembers_are_left_out(
    run: Callable[[Work], None], tenant: str
) -> None:
    shown = POLICY.records.excluded_messages * POLICY.records.results
    assert shown == 125

    async def work(shelf: Shelf) -> None:
        lines = [line(f"R-{number:03}", f"Diving {number}") for number in range(shown + 6)]
        await shelf.load(tenant, *lines)
        exclude = [f"R-{number:03}" for number in range(shown)]
        rest = [f"R-{number:03}" for number in range(shown, shown + 6)]
        for query in ("", "diving"):
            found = await shelf.ids(tenant, query, limit=5, exclude=exclude)
            assert len(found) >= 4 and set(found) < set(rest)
        # A list is exact; a search by meaning is approximate and may leave one of many out.
        assert sorted(await shelf.ids(tenant, "", exclude=exclude)) == rest
        assert set(await shelf.ids(tenant, "diving", exclude=exclude)) <= set(rest)
        assert await shelf.ids(tenant, "diving", exclude=[*exclude, *rest]) == []

    run(work)


def test_a_file_is_loaded_again_and_again(run: Callable[[Work], None], tenant: str) -> None:
    async def work(shelf: Shelf) -> None:
        assert await shelf.load(tenant, *TRAININGS) == LoadSummary(5, 0, 0, 0)
        assert await shelf.load(tenant, *TRAININGS) == LoadSummary(0, 0, 5, 0)
        changed = [{**TRAININGS[0], "place": "Paris"}, *TRAININGS[1:4], line("F", "Filming")]
        assert await shelf.load(tenant, *changed) == LoadSummary(1, 1, 3, 1)
        assert sorted(await shelf.ids(tenant)) == ["A", "B", "C", "D", "F"]
        assert await shelf.ids(tenant, place="Paris") == ["A"]
        assert await shelf.ids(tenant, place="Brest") == ["B"]
        with pytest.raises(NotFound):
            await shelf.search.record(tenant, KIND, "E")

    run(work)


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (line("G", starts="soon"), "line 3: starts"),
        (line("A", "Twice"), "line 3: id"),
    ],
)
def test_a_wrong_line_changes_nothing(
    run: Callable[[Work], None], tenant: str, broken: dict[str, Any], named: str
) -> None:
    async def work(shelf: Shelf) -> None:
        await shelf.load(tenant, *TRAININGS)
        with pytest.raises(InvalidConfiguration) as caught:
            await shelf.load(tenant, line("A", "Changed"), line("N", "New"), broken)
        assert named in caught.value.field
        assert await shelf.load(tenant, *TRAININGS) == LoadSummary(0, 0, 5, 0)

    run(work)


async def test_loads_do_not_undo_each_others_work(
    milvus_uri: str, tmp_path: Path, tenant: str
) -> None:
    import fcntl

    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(line("A")))
    settings = Settings.load(data=tmp_path / "data")
    assert (await load_records(file, KIND, tenant, settings, milvus_uri)).added == 1
    with (tmp_path / "data" / "index.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailable, match="another run"):
            await load_records(file, KIND, tenant, settings, milvus_uri)


def test_records_outlive_the_server_and_a_store_without_any_is_empty(tmp_path: Path) -> None:
    async def work(uri: str) -> None:
        store = RecordStore(uri, EMBEDDER)
        try:
            shelf = Shelf(store, tmp_path)
            if not (tmp_path / "records.jsonl").exists():
                # No collection yet: nothing is there, and nothing fails.
                assert await shelf.ids("acme") == await shelf.ids("acme", "welding") == []
                with pytest.raises(NotFound):
                    await shelf.search.record("acme", KIND, "A")
                await shelf.load("acme")
                await shelf.load("acme", *TRAININGS)
            else:
                assert await shelf.ids("acme", "welding", level="beginner") != []
                assert (await shelf.load("acme", *TRAININGS)).unchanged == 5
        finally:
            await store.close()

    for _ in range(2):
        server = start_milvus(tmp_path / "milvus")
        try:
            asyncio.run(work(server.url))
        finally:
            server.stop()


async def test_a_server_that_is_not_there_is_unavailable_without_its_address() -> None:
    store = RecordStore("http://127.0.0.1:9", EMBEDDER)
    with pytest.raises(StoreUnavailable, match="the record store") as caught:
        await store.record("acme", KIND, "A")
    assert "127.0.0.1" not in str(caught.value)
