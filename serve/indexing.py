"""``manta index`` for people: a progress bar and summaries around the ingestion."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from config.embedded import stores
from config.settings import Settings
from config.tenants import TenantDirectory
from domain.errors import InvalidConfiguration
from domain.records import RecordKind
from retrieval.ingest import IngestSummary, ingest
from retrieval.records.loading import LoadSummary, load_records
from retrieval.records.reading import read_records, record_kind
from retrieval.tenancy import COLLECTIONS, DOCUMENTS, PassageCollection


def index_folder(
    settings: Settings, folder: Path, tenant: str, *, use_ray: bool, collection: str = "documents"
) -> bool:
    """Index ``folder`` into a collection of ``tenant``; returns whether every file could be read.

    Raises:
        InvalidConfiguration: no such collection; nothing was started or changed.
    """
    known = collection_named(collection)
    TenantDirectory.load(settings.tenants).get(tenant)
    with ExitStack() as stack:
        urls = stack.enter_context(stores(settings))
        if use_ray:
            from serve.local_ray import local_ray

            stack.enter_context(local_ray(dashboard=False))
        return index_with_bar(
            settings, folder, tenant, urls.milvus_uri, use_ray=use_ray, collection=known
        )


def collection_named(name: str) -> PassageCollection:
    """Raises InvalidConfiguration for what is no collection."""
    if name not in COLLECTIONS:
        known = ", ".join(COLLECTIONS)
        raise InvalidConfiguration(
            "--collection", f"{name} is no collection", f"use one of {known}"
        )
    return COLLECTIONS[name]


def index_with_bar(
    settings: Settings,
    folder: Path,
    tenant: str,
    milvus_uri: str,
    *,
    use_ray: bool,
    collection: PassageCollection = DOCUMENTS,
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
            ingest(
                folder,
                tenant,
                settings,
                milvus_uri,
                progress,
                use_ray=use_ray,
                collection=collection,
            )
        )
        bar.update(task, file="")
    console.print(_summary(summary))
    for file, reason in summary.failed:
        console.print(f"  could not read {file}: {reason}", markup=False)
    return not summary.failed


def index_records(settings: Settings, kind: str, file: Path, tenant: str) -> None:
    """Make the records of ``kind`` of ``tenant`` what ``file`` holds.

    Raises:
        InvalidInput: no such kind, or a wrong line; nothing was started or changed.
    """
    TenantDirectory.load(settings.tenants).get(tenant)
    known = record_kind(kind)
    read_records(file, known)
    with ExitStack() as stack:
        urls = stack.enter_context(stores(settings))
        load_with_summary(settings, known, file, tenant, urls.milvus_uri)


def load_with_summary(
    settings: Settings, kind: RecordKind, file: Path, tenant: str, milvus_uri: str
) -> None:
    """The same on stores that already run."""
    summary = asyncio.run(load_records(file, kind, tenant, settings, milvus_uri))
    Console(stderr=True).print(f"{kind} of {tenant}: {_counts(summary)}", highlight=False)


def _counts(summary: LoadSummary) -> str:
    return (
        f"{summary.added} added, {summary.changed} changed, {summary.unchanged} unchanged, "
        f"{summary.removed} removed"
    )


def _summary(summary: IngestSummary) -> str:
    return (
        f"{summary.added} added, {summary.changed} changed, {summary.unchanged} unchanged, "
        f"{summary.removed} removed, {len(summary.failed)} failed, {summary.chunks} chunks written"
    )
