"""A thousand mixed reads of rows by two tenants: records, passages, ids; none of them foreign."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from served import settings_for

from actors.handles import LocalPort
from actors.resources import ProcessResources
from actors.role_handles import RetrieverHandle
from actors.roles import build_role
from domain.errors import InvalidInput, NotFound
from domain.records import RecordFilters
from retrieval.ingest import ingest
from retrieval.records.loading import load_records

pytestmark = pytest.mark.integration

READS = 1_000
SEED = 20_261_202
HOSTILE = [
    'x" or tenant != "',
    "x' or 1 == 1 --",
    '") or kind != "people" or ("" == "',
    "%",
    "\\",
    "tenant",
    'a" in tenant',
]
QUERIES = ["welding", "leave", "planner in Brest", "secret marker", "", *HOSTILE]


def record(number: int, marker: str) -> dict[str, Any]:
    return {
        "id": f"R-{number}",
        "language": "en",
        "title": f"Welding {number} {marker}",
        "text": f"Welding and planning, {marker}.",
        "place": "Brest",
        "format": "workshop",
        "skills": ["welding", marker],
    }


@pytest.fixture
async def rows(
    milvus_uri: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[RetrieverHandle, dict[str, str]]]:
    """Both tenants have the same ids and file names; only a marker tells their rows apart."""
    settings = settings_for(milvus_uri=milvus_uri, data=tmp_path_factory.mktemp("data"))
    markers: dict[str, str] = {}
    for letter in "ab":
        tenant = f"{letter}-{uuid4().hex[:8]}"
        markers[tenant] = f"marker{letter}{letter}{letter}"
        folder: Path = tmp_path_factory.mktemp(letter)
        (folder / "leave.md").write_text(f"# Leave\n\nWelders have leave, {markers[tenant]}.\n")
        await ingest(folder, tenant, settings, milvus_uri, use_ray=False)
        lines = [json.dumps(record(n, markers[tenant])) for n in range(20)]
        (folder / "records.jsonl").write_text("\n".join(lines))
        await load_records(folder / "records.jsonl", "trainings", tenant, settings, milvus_uri)
    resources = ProcessResources(settings)
    role = build_role("retriever", resources, {})
    yield RetrieverHandle(LocalPort("retriever", role)), markers
    await role.close()
    await resources.close()


async def read(retriever: RetrieverHandle, rng: random.Random, tenant: str) -> str:
    """One read of any kind; what it gave, as text."""
    query = rng.choice(QUERIES)
    kind = rng.randrange(4)
    try:
        if kind == 0:
            return repr(await retriever.search(tenant, query or "leave"))
        if kind == 1:
            collection = rng.choice(["document", "faq", "troubleshooting"])
            programme = rng.choice([None, *HOSTILE])
            found = await retriever.search(
                tenant, "leave", collection=collection, programme=programme
            )
            return repr(found)
        if kind == 2:
            name = rng.choice(["place", "skill", "level"])
            filters = RecordFilters.model_validate({name: rng.choice(["Brest", *HOSTILE])})
            exclude = tuple(rng.sample(HOSTILE, 2))
            hits = await retriever.search_records(
                tenant, "trainings", query, filters, limit=20, exclude=exclude
            )
            return repr(hits)
        ids = [f"R-{rng.randrange(25)}", *HOSTILE]
        return repr(await retriever.record(tenant, "trainings", rng.choice(ids)))
    except (NotFound, InvalidInput) as refused:
        return refused.message


async def test_no_read_gives_a_foreign_row(
    rows: tuple[RetrieverHandle, dict[str, str]],
) -> None:
    retriever, markers = rows
    rng = random.Random(SEED)
    own = dict.fromkeys(markers, 0)
    for _ in range(READS // 20):
        batch = [rng.choice(list(markers)) for _ in range(20)]
        texts = await asyncio.gather(*(read(retriever, rng, tenant) for tenant in batch))
        for tenant, text in zip(batch, texts, strict=True):
            foreign = [marker for other, marker in markers.items() if other != tenant]
            assert not any(marker in text for marker in foreign)
            own[tenant] += markers[tenant] in text
    assert all(count > READS / 10 for count in own.values()), own
