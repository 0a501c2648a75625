"""The passages of two tenants in one real Milvus Lite server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest

from config.embedded import start_milvus
from domain.errors import StoreUnavailable
from providers.embedding import LocalEmbedder
from retrieval.rows import StoredChunk
from retrieval.search import DocumentSearch
from retrieval.store import PassageStore

pytestmark = pytest.mark.integration

EMBEDDER = LocalEmbedder()
HOSTILE = 'x" or tenant != "x'


def chunks(owner: str, count: int = 30) -> list[StoredChunk]:
    return [
        StoredChunk(
            source="docs",
            file=f"file-{number}.md",
            file_hash="h1",
            position=0,
            title=f"Rules of {owner}",
            heading=f"Rule {number}",
            page=0,
            language="en",
            text=f"The secret word of {owner} for door {number} is kept by the porter.",
        )
        for number in range(count)
    ]


async def write(store: PassageStore, tenant: str, rows: list[StoredChunk]) -> None:
    await store.write(tenant, rows, await EMBEDDER.embed([row.text for row in rows]))


def in_store(uri: str, work: Callable[[PassageStore], Awaitable[None]]) -> None:
    async def run() -> None:
        store = PassageStore(uri, EMBEDDER)
        try:
            await work(store)
        finally:
            await store.close()

    asyncio.run(run())


@pytest.fixture
def tenants(milvus_uri: str) -> tuple[str, str]:
    """Two tenants with the same kind of passages, fresh for each test."""
    a, b = f"a-{uuid4().hex[:8]}", f"b-{uuid4().hex[:8]}"

    async def fill(store: PassageStore) -> None:
        for tenant in (a, b):
            await write(store, tenant, chunks(tenant))
        await store.flush()

    in_store(milvus_uri, fill)
    return a, b


def test_nothing_foreign_is_ever_returned(milvus_uri: str, tenants: tuple[str, str]) -> None:
    a, b = tenants

    async def work(store: PassageStore) -> None:
        [vector] = await EMBEDDER.embed([chunks(b)[3].text])
        foreign = [hit.id for hit in await store.nearest(b, vector, 100)]
        assert len(foreign) == 30
        for hits in (
            await store.nearest(a, vector, 100),
            await store.lexical(a, f"secret word {b} door porter", 100),
        ):
            assert len(hits) == 30
            assert all(hit.chunk.title == f"Rules of {a}" for hit in hits)
        assert await store.nearest(a, vector, 100, ids=foreign) == []
        assert await store.any_id(a, 2.0) not in foreign
        assert len(await store.files(a, "docs")) == 30

    in_store(milvus_uri, work)


@pytest.mark.parametrize("hostile", [HOSTILE, 'x\\" or 1 == 1 or tenant == "', "x\\", "nobody"])
def test_a_hostile_tenant_sees_nothing(
    milvus_uri: str, tenants: tuple[str, str], hostile: str
) -> None:
    async def work(store: PassageStore) -> None:
        [vector] = await EMBEDDER.embed(["secret word"])
        assert await store.nearest(hostile, vector, 100) == []
        assert await store.lexical(hostile, "secret word door", 100) == []
        assert await store.any_id(hostile, 2.0) is None
        assert await store.files(hostile, "docs") == {}
        await store.forget(hostile, "docs", "file-1.md")

    in_store(milvus_uri, work)

    async def after(store: PassageStore) -> None:
        assert [len(await store.files(tenant, "docs")) for tenant in tenants] == [30, 30]

    in_store(milvus_uri, after)


def test_hostile_arguments_widen_nothing(milvus_uri: str, tenants: tuple[str, str]) -> None:
    a, b = tenants

    async def work(store: PassageStore) -> None:
        [vector] = await EMBEDDER.embed(["secret word"])
        quotes = f'zzz"] or tenant == "{b}'
        assert await store.nearest(a, vector, 100, ids=[quotes]) == []
        assert await store.files(a, f'docs" or tenant == "{b}') == {}
        await store.forget(a, "docs", f'file-1.md" or tenant == "{b}')
        await store.forget(a, "docs", "file-1.md", keep_hash=f'h1" or tenant == "{b}')
        assert len(await store.files(a, "docs")) == 29
        assert len(await store.files(b, "docs")) == 30
        words = await store.lexical(a, f'door" or tenant == "{b}', 100)
        assert {hit.chunk.title for hit in words} == {f"Rules of {a}"}

    in_store(milvus_uri, work)


def test_a_hostile_tenant_keeps_its_own_rows(milvus_uri: str) -> None:
    async def work(store: PassageStore) -> None:
        await write(store, HOSTILE, chunks("x", 2))
        await store.flush()
        assert len(await store.files(HOSTILE, "docs")) == 2

    in_store(milvus_uri, work)


def test_a_new_version_replaces_the_old_one(milvus_uri: str) -> None:
    tenant = f"v-{uuid4().hex[:8]}"

    def version(digest: str, *texts: str) -> list[StoredChunk]:
        return [
            StoredChunk("docs", 'od"d\n.md', digest, n, "T", "", 0, "en", text)
            for n, text in enumerate(texts)
        ]

    async def work(store: PassageStore) -> None:
        await write(store, tenant, version("h1", "same text", "old text", "older text"))
        await write(store, tenant, version("h2", "same text", "new text"))
        await store.forget(tenant, "docs", 'od"d\n.md', keep_hash="h2")
        assert await store.files(tenant, "docs") == {'od"d\n.md': {"h2"}}
        [vector] = await EMBEDDER.embed(["text"])
        found = {hit.chunk.text for hit in await store.nearest(tenant, vector, 10)}
        assert found == {"same text", "new text"}

    in_store(milvus_uri, work)


def test_many_searches_at_once(milvus_uri: str, tenants: tuple[str, str]) -> None:
    async def work(store: PassageStore) -> None:
        search = DocumentSearch(store, EMBEDDER)
        await search.warm()
        asked = [(tenants[n % 2], f"Which word opens door {n % 30}?") for n in range(64)]
        answers = await asyncio.gather(*(search.search(*question) for question in asked))
        for (tenant, _), passages in zip(asked, answers, strict=True):
            assert passages
            assert all(passage.title == f"Rules of {tenant}" for passage in passages)

    in_store(milvus_uri, work)


def test_a_restart_is_survived_without_a_new_client(tmp_path: Path) -> None:
    server = start_milvus(tmp_path)

    async def work(store: PassageStore) -> None:
        await write(store, "acme", chunks("acme", 3))
        search = DocumentSearch(store, EMBEDDER)
        assert await search.readiness("acme", True) == "ready"
        await asyncio.to_thread(server.stop)
        started = time.monotonic()
        assert await search.readiness("acme", True) == "unavailable"
        with pytest.raises(StoreUnavailable):
            await search.search("acme", "secret word")
        assert time.monotonic() - started < 5

    in_store(server.url, work)
    again = start_milvus(tmp_path)

    async def after(store: PassageStore) -> None:
        # Unflushed rows come back from the log, and the released collection is loaded.
        search = DocumentSearch(store, EMBEDDER)
        assert await search.readiness("acme", True) == "ready"
        assert len(await search.search("acme", "secret word of the door")) >= 1
        assert await search.readiness("other", True) == "empty"

    in_store(again.url, after)
    again.stop()


def test_a_server_without_a_collection_is_empty(tmp_path: Path) -> None:
    server = start_milvus(tmp_path)

    async def work(store: PassageStore) -> None:
        search = DocumentSearch(store, EMBEDDER)
        assert await search.readiness("acme", True) == "empty"
        assert await search.search("acme", "secret word") == []
        await store.forget("acme", "docs", "file-1.md")
        await store.flush()

    in_store(server.url, work)
    server.stop()
