"""The cell on Ray: named actors, faults, loopback only, and the same answers as in process."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from model_server import ModelServer
from ray_port import PORT
from scripted_replies import Chosen, Silent, Text, call
from sites import Site, site

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

GUARD = "manta.guardrail.decision"
CAREER = "manta.career_chat"
RESEARCH = "manta.research"
PAGE = (
    "<html><head><title>Leave</title></head><body><main><h1>Leave</h1>"
    "<p>Full-time staff receive 27 days of annual leave in every calendar year.</p>"
    "</main></body></html>"
)


@pytest.fixture(scope="module")
def leave_site() -> Iterator[tuple[Site, str]]:
    with site({"/hr/": PAGE}) as running:
        yield running


@pytest.fixture(scope="module")
def url(
    ray_cluster: None,
    model_server: ModelServer,
    leave_site: tuple[Site, str],
    redis_url: str,
    milvus_uri: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The chat deployed as ``serve deploy`` builds it, with the scripted models behind it."""
    from ray import serve

    from serve.cluster import build
    from serve.deployment import APPLICATION

    folder: Path = tmp_path_factory.mktemp("tenants")
    web = {"enabled": True, "sources": [{"url": "http://hr.acme.example/hr/"}]}
    acme = {"tenant": "acme", "name": "Acme", "chatbot": {"knowledge_base": {"web": web}}}
    (folder / "acme.json").write_text(json.dumps(acme))
    arguments = {
        "tenants": str(folder),
        "default_tenant": "acme",
        "provider": "openai",
        "openai_api_key": "test",
        "openai_base_url": model_server.url,
        "redis_url": redis_url,
        "milvus_uri": milvus_uri,
        "connect_to": {"hr.acme.example:80": leave_site[1]},
        "crawlers": 1,
        "replica_cpus": 0.5,
    }
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    serve.run(build(arguments), name=APPLICATION, route_prefix="/")
    address = f"http://127.0.0.1:{PORT}"
    _eventually(lambda: _get(f"{address}/readyz") == 200, 200)
    yield address
    serve.delete(APPLICATION)


def _get(url: str) -> int:
    try:
        return httpx.get(url, timeout=20).status_code
    except httpx.HTTPError:
        return 0


def ask(
    url: str, text: str, conversation: str | None = None, timeout: float = 60
) -> httpx.Response:
    body: dict[str, Any] = {"model": "manta", "messages": [{"role": "user", "content": text}]}
    if conversation:
        body["metadata"] = {"conversation": conversation}
    return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=timeout)


def actors() -> dict[str, str]:
    """The living actors of the cell by the name of their role, with their process ids."""
    import ray
    from ray.util.state import list_actors

    # Another Ray may run on the machine, so the session's own is named.
    own = ray.get_runtime_context().gcs_address
    listed = list_actors(address=own, detail=True, limit=200)
    living = [actor for actor in listed if actor.state == "ALIVE"]
    return {(actor.name or actor.class_name).rsplit("-", 1)[0]: str(actor.pid) for actor in living}


def test_each_role_is_an_actor_of_its_own_name(url: str) -> None:
    names = actors()
    expected = {
        "guardrail",
        "supervisor",
        "career_chat",
        "task_guidance",
        "researcher",
        "retriever",
        "crawler_1",
        "page_cache",
    }
    assert expected <= set(names)
    assert len({names[name] for name in expected}) == len(expected), "one process each"


def test_a_turn_over_actors_gives_a_verbatim_cited_answer(url: str, models: ModelServer) -> None:
    models.script("manta.supervisor", Chosen("career_chat"))
    models.script(CAREER, call("transfer_to_knowledge_base", question="Days of leave?"))
    models.script(
        RESEARCH,
        call("search_knowledge", query="leave", comment="Looking"),
        call(
            "StructuredAnswer",
            status="answered",
            answer="27 days.",
            citations=[{"source_id": "w1", "quote": "27 days of annual leave"}],
        ),
    )
    reply = ask(url, "How many days of leave?").json()
    assert reply["choices"][0]["message"]["content"] == "27 days."
    assert reply["manta"]["citations"][0]["url"] == "http://hr.acme.example/hr/"
    assert reply["manta"]["spent"]["page_attempts"] == 1


def test_nothing_listens_beyond_loopback(url: str) -> None:
    """Ray, Serve, the stores and the deployment, in every process that this session started."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    beyond = []
    for process in family:
        try:
            for connection in process.net_connections(kind="inet"):
                local = connection.laddr.ip if connection.laddr else ""
                loopback = local.startswith("127.") or local in {"::1", "::ffff:127.0.0.1"}
                if connection.status == psutil.CONN_LISTEN and not loopback:
                    beyond.append((process.name(), local, connection.laddr.port))
        except psutil.NoSuchProcess:
            continue
    assert beyond == []


def test_a_disconnect_cancels_over_actors(url: str, models: ModelServer) -> None:
    models.script(GUARD, Silent(60))
    with pytest.raises(httpx.ReadTimeout):
        ask(url, "Hello", timeout=1.5)
    assert len(models.asked(GUARD)) == 1
    _eventually(lambda: models.open_requests == 0, 15)
    assert _get(f"{url}/readyz") == 200


def test_a_run_outlives_the_connection_that_started_it(url: str, models: ModelServer) -> None:
    """Ray cancels what was called in a cancelled request's name; a run is not called in it."""
    for cut in (2, 4, 7):
        run_id = f"cut-{cut}-{time.monotonic_ns()}"
        models.script(CAREER, call("reply_to_user"), Text("Still here."))
        body = {
            "threadId": run_id,
            "runId": run_id,
            "messages": [{"id": "1", "role": "user", "content": "Hello"}],
        }
        read = 0
        with httpx.stream("POST", f"{url}/v1/runs", json=body, timeout=60) as got:
            for line in got.iter_lines():
                read += line.startswith("id:")
                if read == cut:
                    break
        rest = httpx.get(f"{url}/v1/runs/{run_id}", headers={"Last-Event-ID": str(cut)}, timeout=60)
        ids = [int(line[3:]) for line in rest.text.splitlines() if line.startswith("id:")]
        assert ids == list(range(cut + 1, cut + 1 + len(ids)))
        last = [line for line in rest.text.splitlines() if line.startswith("data:")][-1]
        assert '"RUN_FINISHED"' in last and "Still here." in last, (cut, last)
        models.reset()


def test_a_killed_role_costs_its_turn_and_nothing_else(url: str, models: ModelServer) -> None:
    assert ask(url, "First", "killed").status_code == 200
    models.script(CAREER, call("reply_to_user"), Silent(30))
    pid = int(actors()["career_chat"])
    failed = _in_thread(lambda: ask(url, "Half done", "killed"))
    _eventually(lambda: models.open_requests > 0, 20)
    os.kill(pid, signal.SIGKILL)
    response = failed()
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "actor_unavailable"
    assert "try again" in response.json()["error"]["message"]
    _eventually(lambda: actors().get("career_chat") not in (None, str(pid)), 30)
    _eventually(lambda: _get(f"{url}/readyz") == 200, 60)
    models.reset()
    models.script(CAREER, call("reply_to_user"), Text("Here again."))
    reply = ask(url, "Next", "killed")
    assert reply.json()["choices"][0]["message"]["content"] == "Here again."
    seen = json.dumps(models.asked(CAREER))
    assert "First" in seen
    assert "Half done" not in seen, "nothing of the half-done turn is in the conversation"


def test_a_killed_replica_is_replaced_with_a_fresh_cell(url: str, models: ModelServer) -> None:
    assert ask(url, "First", "replica").status_code == 200
    models.script(CAREER, call("reply_to_user"), Silent(30))
    before = actors()
    failed = _in_thread(lambda: ask(url, "Half done", "replica"))
    _eventually(lambda: models.open_requests > 0, 20)
    replica = next(pid for name, pid in before.items() if name.startswith("SERVE_REPLICA"))
    os.kill(int(replica), signal.SIGKILL)
    assert failed().status_code >= 500
    _eventually(lambda: actors().get("guardrail") not in (None, before["guardrail"]), 60)
    _eventually(lambda: _get(f"{url}/readyz") == 200, 90)
    assert not psutil.pid_exists(int(before["guardrail"])) or _zombie(int(before["guardrail"]))
    models.reset()
    models.script(CAREER, call("reply_to_user"), Text("A fresh cell."))
    reply = ask(url, "Next", "replica")
    assert reply.json()["choices"][0]["message"]["content"] == "A fresh cell."
    seen = json.dumps(models.asked(CAREER))
    assert "First" in seen
    assert "Half done" not in seen


def _zombie(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def _in_thread(work: Callable[[], httpx.Response]) -> Callable[[], httpx.Response]:
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return lambda: future.result(90)


def _eventually(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not become true in time")
