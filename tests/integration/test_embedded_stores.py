"""The embedded stores: persistence, one owner a folder, and no process left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import psutil
import pytest
import redis

from config.embedded import (
    EmbeddedStore,
    check_milvus,
    check_redis,
    running,
    start_milvus,
    start_valkey,
    stores,
)
from config.settings import Settings
from domain.errors import StoreUnavailable

pytestmark = pytest.mark.integration

STARTS: dict[str, Callable[[Path], EmbeddedStore]] = {
    "valkey": start_valkey,
    "milvus": start_milvus,
}

PARENT = """
import sys, time
from pathlib import Path
from threading import Thread
from config.embedded import start_milvus, start_valkey
found = []
for start in (start_valkey, start_milvus):
    worker = Thread(target=lambda: found.append(start(Path(sys.argv[1]))))
    worker.start()
    worker.join()
print(*(store.pid for store in found), flush=True)
time.sleep(60)
"""


def is_gone(pid: int, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def refused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_valkey_keeps_its_data_over_a_restart(tmp_path: Path) -> None:
    store = start_valkey(tmp_path)
    with redis.Redis.from_url(store.url) as client:
        client.set("kept", "yes")
    store.stop()
    assert is_gone(store.pid)
    again = start_valkey(tmp_path)
    with redis.Redis.from_url(again.url) as client:
        assert client.get("kept") == b"yes"
    again.stop()


@pytest.mark.parametrize("kind", ["valkey", "milvus"])
def test_a_second_start_borrows_the_running_server(tmp_path: Path, kind: str) -> None:
    owner = STARTS[kind](tmp_path)
    borrowed = STARTS[kind](tmp_path)
    assert (borrowed.url, borrowed.pid, borrowed.owned) == (owner.url, owner.pid, False)
    borrowed.stop()
    assert psutil.pid_exists(owner.pid)
    owner.stop()
    assert is_gone(owner.pid)
    assert json.loads((tmp_path / "endpoints.json").read_text()) == {}


@pytest.mark.parametrize("kind", ["valkey", "milvus"])
def test_servers_listen_on_loopback_only(tmp_path: Path, kind: str) -> None:
    store = STARTS[kind](tmp_path)
    listening = [
        ip_address(connection.laddr.ip.removeprefix("::ffff:"))
        for connection in psutil.Process(store.pid).net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert all(address.is_loopback for address in listening)
    assert os.getsid(store.pid) != os.getsid(0)
    store.stop()


def test_two_threads_start_one_server(tmp_path: Path) -> None:
    found: list[EmbeddedStore] = []
    threads = [Thread(target=lambda: found.append(start_valkey(tmp_path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(store.owned for store in found) == [False, True]
    assert len({store.pid for store in found}) == 1
    for store in found:
        store.stop()


def test_a_stale_entry_is_ignored(tmp_path: Path) -> None:
    entry = {"url": f"redis://127.0.0.1:{refused_port()}/0", "pid": os.getpid()}
    (tmp_path / "endpoints.json").write_text(json.dumps({"valkey": entry}))
    assert running(tmp_path, "valkey") is None
    (tmp_path / "endpoints.json").write_text("{ torn")
    assert running(tmp_path, "valkey") is None
    store = start_valkey(tmp_path)
    assert store.owned
    store.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
def test_servers_outlive_the_thread_and_die_with_the_process(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    children = [int(word) for word in parent.stdout.readline().split()]
    assert len(children) == 2
    time.sleep(0.3)
    assert all(psutil.pid_exists(pid) for pid in children)
    # What Ctrl-C sends to the group of the terminal does not reach the servers.
    assert all(os.getpgid(pid) != os.getpgid(parent.pid) for pid in children)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert all(is_gone(pid) for pid in children)


def test_stores_stop_what_they_started_and_only_that(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, redis_url=None, milvus_uri=None)
    owner = start_valkey(tmp_path)
    with stores(settings) as urls:
        assert urls.redis_url == owner.url
        check_redis(urls.redis_url)
        check_milvus(urls.milvus_uri)
        found = running(tmp_path, "milvus")
        assert found is not None
    assert is_gone(found.pid)
    assert psutil.pid_exists(owner.pid)
    owner.stop()


@pytest.mark.parametrize("name", ["redis_url", "milvus_uri"])
def test_a_named_server_that_is_silent_is_an_error(tmp_path: Path, name: str) -> None:
    scheme = "redis" if name == "redis_url" else "http"
    url = f"{scheme}://user:secret@127.0.0.1:{refused_port()}"
    settings = Settings(data=tmp_path / "unused").model_copy(update={name: url})
    started = time.monotonic()
    with pytest.raises(StoreUnavailable) as failed, stores(settings):
        pass
    assert time.monotonic() - started < 5
    assert "secret" not in str(failed.value)
    assert "\n" not in str(failed.value)
    assert name.upper() in str(failed.value)
    assert not (tmp_path / "unused").exists()


def test_checks_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="write redis://"):
        check_redis("nonsense://host")
    with pytest.raises(StoreUnavailable, match="write http://"):
        check_milvus("./passages.db")
    store = start_valkey(tmp_path)
    with redis.Redis.from_url(store.url) as client:
        client.config_set("requirepass", "right")
    with pytest.raises(StoreUnavailable, match="refuses the user name or password"):
        check_redis(store.url.replace("//", "//:wrong@"))
    with pytest.raises(StoreUnavailable, match="refuses the user name or password"):
        check_redis(store.url)
    store.stop()


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        for check, url in (
            (check_redis, f"redis://127.0.0.1:{port}/0"),
            (check_milvus, f"http://127.0.0.1:{port}"),
        ):
            started = time.monotonic()
            with pytest.raises(StoreUnavailable):
                check(url)
            assert time.monotonic() - started < 5
