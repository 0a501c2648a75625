"""A folder of documents into the store of one tenant, again and again.

A run makes the store say what the folder says: new and changed files are converted, chunked and
embedded, the chunks of changed and removed files go, and an unchanged folder writes nothing. A file
that cannot be read is reported and keeps what an earlier version of it has stored. Conversion and
embedding are Ray tasks where Ray runs; only this process writes, one file at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from config.policy import POLICY
from config.settings import Settings
from domain.errors import ActorUnavailable, InvalidInput, MantaError, StoreUnavailable
from providers.embedding import LocalEmbedder, build_embedder
from retrieval.chunks import chunks_of
from retrieval.documents import CONVERTERS, read_document
from retrieval.rows import StoredChunk
from retrieval.store import PassageStore
from retrieval.tenancy import DOCUMENTS, PassageCollection, check_collection

Progress = Callable[[int, int, str], None]
"""Called with files done, files in all and the name of the one that was just done."""

RECIPE = f"1/{POLICY.ingest.chunk_chars}/{POLICY.ingest.chunk_overlap_chars}"
"""How chunks are made. It is part of a file's hash: a new recipe makes every file a changed one."""

FILES_PER_TASK = 4
TASKS_AT_ONCE = 8


@dataclass(slots=True)
class IngestSummary:
    """What a run did. Numbers of files; ``chunks`` is the number of chunks that were written."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    chunks: int = 0

    @property
    def wrote(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """One file ready to be stored, or the ``reason`` why it is not."""

    file: str
    chunks: list[StoredChunk]
    vectors: list[list[float]]
    reason: str | None = None


async def ingest(
    folder: Path,
    tenant: str,
    settings: Settings,
    milvus_uri: str,
    progress: Progress | None = None,
    *,
    source: str | None = None,
    use_ray: bool | None = None,
    collection: PassageCollection = DOCUMENTS,
) -> IngestSummary:
    """Make a collection of ``tenant`` what ``folder`` holds.

    Args:
        milvus_uri: of a server that runs.
        source: names the folder inside the tenant, by default its own name; a run removes only
            what an earlier run of the same source has stored.
        use_ray: whether files are prepared by Ray tasks; by default where Ray is initialised.
        collection: where the passages go; those of another collection are neither seen nor touched.

    Raises:
        InvalidInput: there is no such folder, or no such collection.
        StoreUnavailable: Milvus did not answer, or another run is writing.
        ActorUnavailable: Ray lost the workers of a task again and again.
        ModelUnavailable: the embedding model did not answer; what was stored before stays.
    """
    check_collection(collection)
    folder = await asyncio.to_thread(_existing, folder)
    source = source or folder.name
    store = PassageStore(milvus_uri, build_embedder(settings), settings.milvus_secret)
    try:
        with alone(settings):
            return await _ingest(
                folder,
                tenant,
                source,
                settings,
                store,
                progress or (lambda *_: None),
                use_ray,
                collection,
            )
    finally:
        await store.close()


async def _ingest(
    folder: Path,
    tenant: str,
    source: str,
    settings: Settings,
    store: PassageStore,
    progress: Progress,
    use_ray: bool | None,
    collection: PassageCollection,
) -> IngestSummary:
    summary = IngestSummary()
    stored = await store.files(tenant, source, collection)
    hashes = await asyncio.to_thread(_hashes, folder, summary)
    for file in sorted(set(stored) - set(hashes) - {name for name, _ in summary.failed}):
        await store.forget(tenant, source, file, collection=collection)
        summary.removed += 1
    todo = {file: digest for file, digest in hashes.items() if stored.get(file) != {digest}}
    summary.unchanged = len(hashes) - len(todo)
    total, done = len(hashes), summary.unchanged
    if summary.unchanged:
        progress(done, total, "")
    batches = _batches(sorted(todo.items()), FILES_PER_TASK)
    files = _prepare_all(folder, source, batches, settings, use_ray)
    async with contextlib.aclosing(files):
        async for prepared in files:
            done += 1
            if prepared.reason is not None:
                summary.failed.append((prepared.file, prepared.reason))
            else:
                await store.write(tenant, prepared.chunks, prepared.vectors, collection)
                if prepared.file in stored:
                    keep = todo[prepared.file]
                    await store.forget(tenant, source, prepared.file, keep, collection)
                    summary.changed += 1
                else:
                    summary.added += 1
                summary.chunks += len(prepared.chunks)
            progress(done, total, prepared.file)
    if summary.wrote:
        await store.flush()
    summary.failed.sort()
    return summary


def prepare_files(
    folder: Path, source: str, files: Sequence[tuple[str, str]], settings: Settings
) -> list[PreparedFile]:
    """Convert, chunk and embed some files; runs in a Ray task or in a thread.

    Args:
        files: paths inside ``folder`` with their hashes.

    Raises:
        ModelUnavailable: the embedding model did not answer; that is not the fault of a file.
    """
    prepared = []
    for file, digest in files:
        try:
            chunks = _stored_chunks(folder, source, file, digest)
        except InvalidInput as error:
            reason = f"{error.reason}; {error.mend}"
            prepared.append(PreparedFile(file, [], [], reason))
            continue
        vectors = _embed(settings, [embedded_text(chunk) for chunk in chunks])
        prepared.append(PreparedFile(file, chunks, vectors))
    return prepared


def embedded_text(chunk: StoredChunk) -> str:
    """What is embedded of a chunk: its place says what its text is about."""
    return "\n".join(part for part in (chunk.title, chunk.heading, chunk.text) if part)


def _stored_chunks(folder: Path, source: str, file: str, digest: str) -> list[StoredChunk]:
    document = read_document(folder / file)
    return [
        StoredChunk(
            source=source,
            file=file,
            file_hash=digest,
            position=chunk.position,
            title=document.title,
            heading=chunk.heading or "",
            page=chunk.page or 0,
            language=document.language,
            text=chunk.text,
        )
        for chunk in chunks_of(document)
    ]


def _embed(settings: Settings, texts: list[str]) -> list[list[float]]:
    embedder = build_embedder(settings)
    if isinstance(embedder, LocalEmbedder):
        return embedder.embed_now(texts)
    return asyncio.run(embedder.embed(texts))


async def _prepare_all(
    folder: Path,
    source: str,
    batches: Sequence[Sequence[tuple[str, str]]],
    settings: Settings,
    use_ray: bool | None,
) -> AsyncGenerator[PreparedFile]:
    if use_ray is None:
        # Whoever has not imported Ray has not initialised it either.
        ray = sys.modules.get("ray")
        use_ray = ray is not None and ray.is_initialized()
    if use_ray:
        prepared_batches = _prepare_in_tasks(folder, source, batches, settings)
    else:
        prepared_batches = _prepare_here(folder, source, batches, settings)
    async with contextlib.aclosing(prepared_batches):
        async for batch in prepared_batches:
            for prepared in batch:
                yield prepared


async def _prepare_here(
    folder: Path, source: str, batches: Sequence[Sequence[tuple[str, str]]], settings: Settings
) -> AsyncGenerator[list[PreparedFile]]:
    for batch in batches:
        for file in batch:
            yield await asyncio.to_thread(prepare_files, folder, source, [file], settings)


async def _prepare_in_tasks(
    folder: Path, source: str, batches: Sequence[Sequence[tuple[str, str]]], settings: Settings
) -> AsyncGenerator[list[PreparedFile]]:
    """Prepare batches in Ray tasks; a task whose worker dies is run again by Ray."""
    import ray

    task = ray.remote(num_cpus=1, max_retries=2)(prepare_files)
    waiting = list(reversed(batches))
    running: dict[asyncio.Future[list[PreparedFile]], ray.ObjectRef[list[PreparedFile]]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < TASKS_AT_ONCE:
                ref = task.remote(folder, source, waiting.pop(), settings)
                running[asyncio.wrap_future(ref.future())] = ref
            finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for future in finished:
                del running[future]
                yield _result(future)
    finally:
        for ref in running.values():
            ray.cancel(ref)
        # A cancelled task is only over once its reference is; its error says nothing new.
        await asyncio.gather(*running, return_exceptions=True)


def _result(future: asyncio.Future[list[PreparedFile]]) -> list[PreparedFile]:
    from ray.exceptions import RayError, RayTaskError

    try:
        return future.result()
    except RayTaskError as error:
        if isinstance(error.cause, MantaError):
            raise error.cause from None
        raise
    except RayError as error:
        raise ActorUnavailable("an indexing task", type(error).__name__) from error


def _existing(folder: Path) -> Path:
    """The absolute path, which a task on the same machine or a shared disk can open."""
    if not folder.is_dir():
        raise InvalidInput("the path", f"{folder} is not a folder", "name a folder of documents")
    return folder.resolve()


def _hashes(folder: Path, summary: IngestSummary) -> dict[str, str]:
    """The readable documents of ``folder`` with their hashes; hidden files are left out."""
    hashes = {}
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        file = path.relative_to(folder).as_posix()
        hidden = any(part.startswith((".", "~$")) for part in path.relative_to(folder).parts)
        if hidden or path.suffix.lower() not in CONVERTERS or not path.is_file():
            continue
        if not path.resolve().is_relative_to(root):
            summary.failed.append((file, "it is a link that leaves the folder; copy the file"))
            continue
        try:
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, lambda: hashlib.sha256(RECIPE.encode()))
        except OSError as error:
            reason = f"{error.strerror or 'cannot be read'}; check its permissions"
            summary.failed.append((file, reason))
            continue
        hashes[file] = digest.hexdigest()[:32]
    return hashes


def _batches(files: Sequence[tuple[str, str]], size: int) -> list[Sequence[tuple[str, str]]]:
    return [files[start : start + size] for start in range(0, len(files), size)]


@contextlib.contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """One run at a time: Milvus Lite takes one writer at a time, and two runs would undo each
    other's work."""
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (settings.data / "index.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreUnavailable(
                "the document store", "another run is indexing into it"
            ) from error
        yield
