"""``manta index`` for people: a progress bar and a summary around the ingestion."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from config.embedded import stores
from config.settings import Settings
from config.tenants import TenantDirectory
from retrieval.ingest import IngestSummary, ingest


def index_folder(settings: Settings, folder: Path, tenant: str, *, use_ray: bool) -> bool:
    """Index ``folder`` for ``tenant``; returns whether every file could be read."""
    TenantDirectory.load(settings.tenants).get(tenant)
    with ExitStack() as stack:
        urls = stack.enter_context(stores(settings))
        if use_ray:
            from serve.local_ray import local_ray

            stack.enter_context(local_ray(dashboard=False))
        return index_with_bar(settings, folder, tenant, urls.milvus_uri, use_ray=use_ray)


def index_with_bar(
    settings: Settings, folder: Path, tenant: str, milvus_uri: str, *, use_ray: bool
) -> bool:
    """The same on stores, and a Ray, that already run."""
    console = Console(stderr=True)
    columns = (
        TextColumn("indexing {task.fields[tenant]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[file]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("index", total=None, tenant=tenant, file="")

        def progress(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, file=name)

        summary = asyncio.run(
            ingest(folder, tenant, settings, milvus_uri, progress, use_ray=use_ray)
        )
        bar.update(task, file="")
    console.print(_summary(summary))
    for file, reason in summary.failed:
        console.print(f"  could not read {file}: {reason}", markup=False)
    return not summary.failed


def _summary(summary: IngestSummary) -> str:
    return (
        f"{summary.added} added, {summary.changed} changed, {summary.unchanged} unchanged, "
        f"{summary.removed} removed, {len(summary.failed)} failed, {summary.chunks} chunks written"
    )
