"""Conversations under faults: actors and replicas are killed at random points of 200 turns.

Afterwards every conversation's history is exactly its acknowledged turns, no pause was lost or
answered twice, and nothing still runs.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from model_server import ModelServer
from ray_port import PORT
from scripted_replies import Reply, call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CAREER = "manta.career_chat"
CONVERSATIONS, TURNS = 20, 10
ROLE_KILLS, REPLICA_KILLS = 10, 2
WORKERS = 4
SEED = 20_261_201


@pytest.fixture(scope="module")
def url(
    ray_cluster: None,
    model_server: ModelServer,
    redis_url: str,
    milvus_uri: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Two replicas with a compact cell each."""
    from ray import serve

    from serve.cluster import build
    from serve.deployment import APPLICATION

    folder: Path = tmp_path_factory.mktemp("tenants")
    acme = {"tenant": "acme", "name": "Acme", "chatbot": {"agents": {"career_chat": {}}}}
    (folder / "acme.json").write_text(json.dumps(acme))
    arguments = {
        "tenants": str(folder),
        "default_tenant": "acme",
        "provider": "openai",
        "openai_api_key": "test",
        "openai_base_url": model_server.url,
        "redis_url": redis_url,
        "milvus_uri": milvus_uri,
        "crawlers": 1,
        "replica_cpus": 0.5,
        "replicas_min": 2,
        "replicas_max": 2,
        "placement": "compact",
    }
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    serve.run(build(arguments), name=APPLICATION, route_prefix="/")
    address = f"http://127.0.0.1:{PORT}"
    _eventually(lambda: _ready(address), 120)
    yield address
    serve.delete(APPLICATION)


def _ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", timeout=20).status_code == 200
    except httpx.HTTPError:
        return False


def _eventually(holds: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.2)
    raise AssertionError("it did not become true in time")


def career(body: dict[str, Any]) -> Reply | None:
    """Whoever writes "ask" is asked a question, once."""
    items = body.get("input")
    if items is None:
        return None
    last = items[-1]
    asks = last.get("role") == "user" and str(last.get("content", "")).startswith("ask")
    return call("request_clarification", questions=["Which team?"]) if asks else None


@dataclass
class Told:
    """What the client of one conversation was told."""

    thread: str
    acknowledged: list[str] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)
    answered: int = 0


class Client:
    """Talks to whichever replica answers; never repeats a turn that it heard of."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = httpx.Client(timeout=40)

    def last_event(self, thread: str, text: str | None, **more: Any) -> dict[str, Any]:
        """The run's last event; when the stream breaks, the rest comes from the run's log."""
        run_id = f"{thread}-{time.monotonic_ns()}"
        body = {
            "threadId": thread,
            "runId": run_id,
            "protocolVersion": "1.0",
            "messages": [] if text is None else [{"id": "1", "role": "user", "content": text}],
            **more,
        }
        last = self._stream("POST", f"{self._url}/v1/runs", json=body)
        end = time.monotonic() + 60
        while last is None and time.monotonic() < end:
            last = self._stream("GET", f"{self._url}/v1/runs/{run_id}")
            time.sleep(0.2)
        assert last is not None, "the end of the run was never told"
        return last

    def _stream(self, method: str, url: str, **more: Any) -> dict[str, Any] | None:
        last: dict[str, Any] = {}
        try:
            with self._http.stream(method, url, **more) as got:
                if got.status_code == 404 and method == "GET":
                    return {"type": "REFUSED", "status": 404}
                if got.status_code in (400, 404, 409):
                    return {"type": "REFUSED", "status": got.status_code}
                if got.status_code != 200:
                    return None
                for line in got.iter_lines():
                    if line.startswith("data: "):
                        last = json.loads(line[6:])
        except httpx.HTTPError:
            return None
        return last if last.get("type") in ("RUN_FINISHED", "RUN_ERROR") else None

    def conversation(self, thread: str) -> dict[str, Any]:
        for _ in range(100):
            try:
                got = self._http.get(f"{self._url}/v1/conversations/{thread}")
                if got.status_code == 200:
                    return dict(got.json())
                if got.status_code == 404:
                    return {"messages": [], "pause": None}
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        raise AssertionError("the conversation could not be read")


def talk(client: Client, number: int, counter: Any) -> Told:
    told = Told(f"fault-{number}")
    for turn in range(TURNS):
        counter()
        kind = "ask" if (number + turn) % 3 == 0 else "say"
        text = f"{kind} {number}-{turn}"
        last = client.last_event(told.thread, text)
        if last["type"] != "RUN_FINISHED":
            code = str(last.get("code", last.get("status")))
            told.failures[code] += 1
            if code in ("run_lost", "404"):
                told.unknown.add(text)
            time.sleep(0.3)
            continue
        if last["outcome"]["type"] == "interrupt":
            answer(client, told, text, last["outcome"]["interrupts"][0])
        else:
            told.acknowledged.append(text)
    return told


def answer(client: Client, told: Told, text: str, interrupt: dict[str, Any]) -> None:
    """Answer until it is acknowledged; between attempts the pause must still be open."""
    for attempt in range(40):
        resume = [
            {
                "interruptId": interrupt["id"],
                "status": "resolved",
                "payload": {"q1": f"answer {text} {attempt}"},
            }
        ]
        last = client.last_event(told.thread, None, resume=resume)
        if last["type"] == "RUN_FINISHED":
            assert last["outcome"]["type"] == "success"
            break
        kept = client.conversation(told.thread)
        if kept["pause"] is None:
            # The replica died after it had stored the turn and before it could say so.
            assert any(m["text"].startswith(f"answer {text}") for m in kept["messages"])
            break
        assert kept["pause"]["id"] == interrupt["id"], "the pause was lost"
        time.sleep(0.3)
    else:
        raise AssertionError("the pause was never answered")
    told.acknowledged.append(text)
    told.answered += 1


def _pids(prefix: str) -> list[int]:
    import ray
    from ray.util.state import list_actors

    own = ray.get_runtime_context().gcs_address
    listed = list_actors(address=own, detail=True, limit=200)
    living = [actor for actor in listed if actor.state == "ALIVE" and actor.pid]
    names = [((actor.name or actor.class_name), actor.pid) for actor in living]
    return [int(pid) for name, pid in names if name.startswith(prefix)]


def _kill_one(rng: random.Random, prefixes: list[str]) -> bool:
    pids = [pid for prefix in prefixes for pid in _pids(prefix)]
    if not pids:
        return False
    try:
        os.kill(rng.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_conversations_survive_killed_actors_and_replicas(
    url: str, models: ModelServer, redis_url: str
) -> None:
    models.rule(CAREER, career)
    rng = random.Random(SEED)
    total = CONVERSATIONS * TURNS
    points = sorted(rng.sample(range(5, total - 5), ROLE_KILLS + REPLICA_KILLS))
    replica_points = set(rng.sample(points, REPLICA_KILLS))
    started, done = threading.Semaphore(0), threading.Event()
    killed: Counter[str] = Counter()

    def murderer() -> None:
        seen = 0
        for point in points:
            while seen < point and not done.is_set():
                if started.acquire(timeout=0.2):
                    seen += 1
            time.sleep(rng.random() * 0.3)
            if point in replica_points:
                killed["replica"] += _kill_one(rng, ["SERVE_REPLICA"])
            else:
                killed["role"] += _kill_one(rng, ["conversation-", "retriever-"])

    thread = threading.Thread(target=murderer)
    thread.start()
    with ThreadPoolExecutor(WORKERS) as pool:
        futures = [
            pool.submit(talk, Client(url), number, started.release)
            for number in range(CONVERSATIONS)
        ]
        told = [future.result(500) for future in futures]
    done.set()
    thread.join(30)
    assert killed["replica"] == REPLICA_KILLS and killed["role"] >= ROLE_KILLS - 2, killed

    client = Client(url)
    failures: Counter[str] = sum((one.failures for one in told), Counter())
    for one in told:
        kept = client.conversation(one.thread)
        assert kept["pause"] is None
        said = [m["text"] for m in kept["messages"] if m["role"] == "user"]
        turns = [text for text in said if text.startswith(("say", "ask"))]
        heard = [text for text in turns if text not in one.unknown]
        assert heard == one.acknowledged, (one.thread, failures)
        assert len(set(turns)) == len(turns), "no turn is there twice"
        answers = Counter(t.split()[2] for t in said if t.startswith("answer"))
        asked = [text.split()[1] for text in turns if text.startswith("ask")]
        assert all(answers[number] == 1 for number in asked), (answers, asked)
    acknowledged = sum(len(one.acknowledged) for one in told)
    assert acknowledged >= total * 0.6, (acknowledged, failures)
    assert sum(one.answered for one in told) >= 20

    _eventually(lambda: models.open_requests == 0, 20)
    store = redis.Redis.from_url(redis_url)
    _eventually(lambda: not list(store.scan_iter("manta:lease:*")), 30)
    _eventually(lambda: _ready(url), 90)
    store.close()
