"""What a turn costs beside its model calls, over the real HTTP endpoint and Ray.

    uv run python benchmarks/turn.py [--placement compact] [--turns 96]

A scripted model of fixed latency answers the four model calls of a career-chat turn (gate,
supervisor, private selection, public reply). The critical path is the sum of their latencies; the
overhead is what a turn takes beyond it. CPU is summed over all processes of Manta and Ray, without
the model server and the load generator. Figures are of one run on one machine: compare only rows of
the same run, or pairs of runs in turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil

from config.embedded import start_milvus, start_valkey
from config.settings import Settings
from config.tenants import TenantDirectory
from serve.local_ray import local_ray

ROOT = Path(__file__).resolve().parents[1]
FIRST, BETWEEN, LENGTH = 0.300, 0.010, 120
MODEL = f"scripted-ttft{int(FIRST * 1000)}-itl{int(BETWEEN * 1000)}-len{LENGTH}"
CRITICAL = 4 * FIRST + 3 * BETWEEN + LENGTH * BETWEEN
"""Three short calls of one token and one stream of ``LENGTH``."""
PORT = 18_555
CONCURRENCY = (1, 16, 64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--placement", choices=["per_role", "compact"], default="per_role")
    parser.add_argument("--turns", type=int, default=96, help="turns measured at each level")
    arguments = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "support" / "model_server.py")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    models = server.stdout.readline().strip()
    try:
        with tempfile.TemporaryDirectory() as folder:
            _measure(Path(folder), models, server.pid, arguments.placement, arguments.turns)
    finally:
        server.terminate()
        server.wait()


def _measure(folder: Path, models: str, models_pid: int, placement: str, turns: int) -> None:
    tenants = folder / "tenants"
    tenants.mkdir()
    # A source that is never read: it makes career chat offer its handoff, as it usually does.
    web = {"enabled": True, "sources": [{"url": "http://bench.example/"}]}
    bench = {"tenant": "bench", "name": "Bench", "chatbot": {"knowledge_base": {"web": web}}}
    (tenants / "bench.json").write_text(json.dumps(bench))
    valkey, milvus = start_valkey(folder), start_milvus(folder)
    settings = Settings.load(
        tenants=tenants,
        provider="compatible",
        openai_base_url=models,
        mini_model=MODEL,
        redis_url=valkey.url,
        milvus_uri=milvus.url,
        placement=placement,
        crawlers=1,
    )
    try:
        with local_ray(dashboard=False, cpus=2):
            from ray import serve

            from serve.deployment import application

            serve.start(http_options={"host": "127.0.0.1", "port": PORT})
            serve.run(application(settings, TenantDirectory.load(tenants)), route_prefix="/")
            asyncio.run(_load(placement, turns, models_pid))
            serve.shutdown()
    finally:
        milvus.stop()
        valkey.stop()


async def _load(placement: str, turns: int, models_pid: int) -> None:
    limits = httpx.Limits(max_connections=256)
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{PORT}", timeout=120, limits=limits, trust_env=False
    ) as client:
        while (await client.get("/readyz")).status_code != 200:
            await asyncio.sleep(0.2)
        await _level(client, 4, 8)
        print(f"placement {placement}, critical path {CRITICAL:.2f} s of model time a turn")
        print("conversations  turns/s  overhead p50 ms  overhead p95 ms  CPU ms/turn")
        for concurrency in CONCURRENCY:
            count = max(turns, concurrency) if concurrency > 1 else max(8, turns // 8)
            before, started = _cpu(models_pid), time.monotonic()
            seconds = await _level(client, concurrency, count)
            elapsed, after = time.monotonic() - started, _cpu(models_pid)
            spent = sum(after.values()) - sum(before.values())
            over = sorted(1000 * (taken - CRITICAL) for taken in seconds)
            p95 = over[min(len(over) - 1, int(0.95 * len(over)))]
            print(
                f"{concurrency:13d}  {count / elapsed:7.2f}  {statistics.median(over):15.0f}"
                f"  {p95:15.0f}  {1000 * spent / count:11.0f}"
            )
            shares = {name: 1000 * (after[name] - before.get(name, 0)) / count for name in after}
            largest = sorted(shares.items(), key=lambda item: -item[1])[:6]
            print("               ", ", ".join(f"{name} {share:.0f}" for name, share in largest))


async def _level(client: httpx.AsyncClient, concurrency: int, count: int) -> list[float]:
    """Seconds of each of ``count`` streamed turns, ``concurrency`` conversations at a time."""
    waiting = asyncio.Semaphore(concurrency)

    async def turn(number: int) -> float:
        async with waiting:
            started = time.monotonic()
            body = {
                "model": "manta",
                "stream": True,
                "messages": [{"role": "user", "content": "Help me think about my next step."}],
                "metadata": {"conversation": f"bench-{concurrency}-{number}", "locale": "en"},
            }
            async with client.stream("POST", "/v1/chat/completions", json=body) as reply:
                lines = [line async for line in reply.aiter_lines()]
            assert lines[-2:] == ["data: [DONE]", ""] or "[DONE]" in "".join(lines[-3:]), lines[-3:]
            return time.monotonic() - started

    return await asyncio.gather(*(turn(number) for number in range(count)))


def _cpu(excluded: int) -> dict[str, float]:
    """CPU seconds by process, for every process below this one but the model server."""
    seconds: dict[str, float] = {}
    for process in psutil.Process().children(recursive=True):
        if process.pid == excluded:
            continue
        try:
            times, line = process.cpu_times(), process.cmdline()
        except psutil.NoSuchProcess:
            continue
        name = line[0].rsplit("/", 1)[-1] if line else process.name()
        name = f"{name}:{process.pid}" if name == "ray::RoleHost" else name
        seconds[name] = seconds.get(name, 0.0) + times.user + times.system
    return seconds


if __name__ == "__main__":
    main()
