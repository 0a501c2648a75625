"""The demo university's passages in the store: quickly, once, and found by its questions."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from config.settings import Settings
from providers.embedding import LocalEmbedder
from retrieval.search import DocumentSearch
from retrieval.store import PassageStore
from retrieval.tenancy import COLLECTIONS
from serve.demo import UNIVERSITY, UNIVERSITY_FOLDER, index_university

pytestmark = pytest.mark.integration


async def test_its_questions_find_their_passages_and_a_second_start_writes_nothing(
    tmp_path: Path, milvus_uri: str
) -> None:
    settings = Settings.load(data=tmp_path / "data")
    await index_university(settings, milvus_uri)
    started = time.monotonic()
    await index_university(settings, milvus_uri)
    assert time.monotonic() - started < 5.0
    lines = (UNIVERSITY_FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    store = PassageStore(milvus_uri, LocalEmbedder())
    asked, missed = 0, []
    try:
        search = DocumentSearch(store, LocalEmbedder())
        for case in map(json.loads, lines):
            folder = next(iter(case["sources"]), "").removeprefix("university/").partition("/")[0]
            if folder not in COLLECTIONS:
                continue
            asked += 1
            passages = await search.search(
                UNIVERSITY, case["question"], collection=COLLECTIONS[folder]
            )
            texts = [" ".join(passage.text.split()) for passage in passages[:3]]
            if not any(case["quotes"][0] in text for text in texts):
                missed.append(case["id"])
        # The page of a PDF is what its reference names.
        [first, *_] = await search.search(UNIVERSITY, "Fehltage in der Praxisphase")
        assert first.page == 2
    finally:
        await store.close()
    assert asked == 12
    assert missed == []
