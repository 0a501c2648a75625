"""The demo organisation with its real records, over the scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from model_server import ModelServer
from served import DEMO, Served, served, settings_for

from domain.records import RECORD_KINDS
from retrieval.records.loading import load_records


@contextmanager
def demo_served(
    server: ModelServer, redis_url: str, milvus_uri: str, data: Path
) -> Iterator[Served]:
    settings = settings_for(
        provider="openai",
        openai_api_key="test",
        openai_base_url=server.url,
        redis_url=redis_url,
        milvus_uri=milvus_uri,
        data=data,
    )
    for kind in RECORD_KINDS:
        file = DEMO / "records" / f"{kind}.jsonl"
        asyncio.run(load_records(file, kind, "tidewater", settings, milvus_uri))
    with served(settings) as running:
        yield running
