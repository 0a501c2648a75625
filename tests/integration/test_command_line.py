"""The command line as a person meets it: real processes, one clear line, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from served import DEMO

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
MANTA = str(Path(sys.executable).with_name("manta"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("data")
    return folder


def environment(data: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "MANTA_DATA": str(data), "MANTA_LOG_LEVEL": "ERROR", **more}


def manta(data: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MANTA, *arguments],
        env=environment(data, **more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def one_clear_line(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert result.returncode == 2, result.stderr
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("manta: ")
    for word in words:
        assert word in lines[0]


def test_a_port_in_use_is_one_line(data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        one_clear_line(manta(data, "serve", "--demo", "--port", port), "MANTA_PORT", port)


def test_a_missing_directory_is_one_line(data: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    one_clear_line(manta(data, "serve", MANTA_TENANTS=missing), "MANTA_TENANTS", missing)


def test_a_broken_tenant_file_is_one_line_with_the_path_of_the_key(
    data: Path, tmp_path: Path
) -> None:
    document = {"tenant": "a", "name": "A", "chatbot": {"rag": {"enable": True}}}
    (tmp_path / "a.json").write_text(json.dumps(document))
    result = manta(data, "serve", MANTA_TENANTS=str(tmp_path))
    one_clear_line(result, "a.json", "chatbot.rag.enable")


@pytest.mark.parametrize(
    ("name", "value"),
    [("REDIS_URL", "redis://:secret@127.0.0.1:1/0"), ("MILVUS_URI", "http://127.0.0.1:1")],
)
def test_an_unreachable_store_is_one_line_without_credentials(
    data: Path, name: str, value: str
) -> None:
    result = manta(data, "serve", "--demo", "--port", "18777", **{name: value})
    one_clear_line(result, name)
    assert "secret" not in result.stderr


def test_a_host_beyond_loopback_is_refused(data: Path) -> None:
    one_clear_line(manta(data, "serve", "--demo", MANTA_HOST="0.0.0.0"), "MANTA_HOST")


def test_the_doctor_says_what_would_be_used_and_what_is_wrong(data: Path, tmp_path: Path) -> None:
    well = manta(data, "doctor", "--demo", MANTA_PORT="18779")
    assert well.returncode == 0, well.stdout
    for said in ("redis", "milvus", "model", "embeddings", "tenant tidewater", "placement"):
        assert said in well.stdout
    ill = manta(data, "doctor", MANTA_TENANTS=str(tmp_path), REDIS_URL="redis://127.0.0.1:1/0")
    assert ill.returncode == 1
    wrong = [line for line in ill.stdout.splitlines() if line.startswith("wrong")]
    assert any("redis" in line for line in wrong)
    assert any("tenant" in line for line in wrong)


def test_indexing_reports_a_broken_file_and_goes_on(data: Path, tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# Leave\n\nEverybody has 27 days of leave a year.\n")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 this is not a document")
    first = manta(data, "index", str(tmp_path), "--tenant", "tidewater", "--demo", "--no-ray")
    assert first.returncode == 1
    assert "1 added" in first.stderr
    assert "broken.pdf" in first.stderr
    (tmp_path / "broken.pdf").unlink()
    again = manta(data, "index", str(tmp_path), "--tenant", "tidewater", "--demo", "--no-ray")
    assert again.returncode == 0
    assert "0 added, 0 changed, 1 unchanged" in again.stderr


def test_ask_prints_one_json_object_and_keeps_a_conversation(data: Path) -> None:
    question = "How many days of annual leave do full-time staff receive?"
    asked = manta(
        data, "ask", "--demo", "--tenant", "tidewater", "--conversation", "c", "--json", question
    )
    assert asked.returncode == 0, asked.stderr
    answer = json.loads(asked.stdout)
    assert answer["status"] == "answered"
    assert answer["citations"][0]["url"].startswith("http://handbook.tidewater.example/en/")
    assert "27 days" in answer["citations"][0]["quote"]
    assert answer["spent"]["page_attempts"] >= 1
    assert {"agent", "answer", "seconds", "run_id", "locale"} <= set(answer)
    again = manta(
        data, "ask", "--demo", "--tenant", "tidewater", "--conversation", "c", "--json", "Try again"
    )
    assert json.loads(again.stdout)["status"] == "answered", "the question is recovered"


@pytest.fixture
def demo(data: Path) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """``manta serve --demo`` until it says that it is ready, and how long that took."""
    started = time.monotonic()
    process = subprocess.Popen(
        [MANTA, "serve", "--demo", "--port", "18778"],
        env=environment(data),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if "Ctrl-C" in line:
            break
    yield process, said, time.monotonic() - started
    if process.poll() is None:
        process.kill()
        process.wait()


def test_the_demo_starts_answers_and_stops_without_a_trace(
    demo: tuple[subprocess.Popen[str], str, float],
) -> None:
    process, said, seconds = demo
    assert "http://127.0.0.1:18778/" in said
    assert 'Try: "' in said
    assert seconds < 120, "ready in under a minute on an idle machine"
    page = httpx.get("http://127.0.0.1:18778/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    body = {
        "model": "manta",
        "messages": [{"role": "user", "content": "Combien de jours de RTT ai-je par an ?"}],
    }
    reply = httpx.post("http://127.0.0.1:18778/v1/chat/completions", json=body, timeout=90)
    assert "11 jours de RTT" in reply.json()["choices"][0]["message"]["content"]
    cited = reply.json()["manta"]["citations"][0]
    assert "11 jours de RTT" in httpx.get(cited["url"]).text, "a browser can open the citation"
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) > 10
    process.send_signal(signal.SIGINT)
    stopped = time.monotonic()
    assert process.wait(30) == 0
    assert time.monotonic() - stopped < 15
    _, alive = psutil.wait_procs(family, timeout=5)
    assert alive == []


@pytest.mark.parametrize(
    ("after", "number"),
    [(0.5, signal.SIGINT), (4.0, signal.SIGTERM), (9.0, signal.SIGINT)],
    ids=["0.5-ctrl-c", "4.0-term", "9.0-ctrl-c"],
)
def test_a_start_that_is_interrupted_stops_at_once(
    tmp_path: Path, number: signal.Signals, after: float
) -> None:
    process = subprocess.Popen(
        [MANTA, "serve", "--demo", "--port", "18779"],
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    asked = time.monotonic()
    try:
        _, said = process.communicate(timeout=40)
    finally:
        process.kill()
    assert time.monotonic() - asked < 15
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(family, timeout=5)
    assert [one for one in alive if one.is_running()] == []


def test_the_demo_s_documents_are_where_the_readme_says() -> None:
    assert len(list((DEMO / "documents").rglob("*.*"))) >= 15
