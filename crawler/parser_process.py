"""The parser process: reads pages from standard input until it closes.

A message is a length and JSON, then a length and the body; the answer is a length and either
``P`` with the page as JSON, ``R`` with the same when this process wants to be replaced, or ``E``
with a code and an error type. Nothing else is ever written.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import struct
import sys
from typing import BinaryIO

from crawler.extract import extract
from crawler.quiet import silence_foreign_loggers
from crawler.scope import Scope, WebSource

_LENGTH = struct.Struct(">I")


def main() -> None:
    """Arguments: CPU seconds a page, bytes of address space, wall-clock seconds a page, and the
    bytes of memory beyond which this process wants to be replaced."""
    cpu_seconds, memory_bytes, seconds, retired_bytes = (float(word) for word in sys.argv[1:5])
    # The answer's pipe is kept to ourselves: whatever a library prints goes nowhere.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    silence_foreign_loggers()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides when a terminal interrupts
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory_bytes), int(memory_bytes)))
    warm_up = b"<html><body><main><h1>Ready</h1><p>The parser is ready to read a page.</p></main>"
    extract(warm_up, "text/html", "https://ready.invalid/")
    _reply(answers, b"P")
    requests = sys.stdin.buffer
    while True:
        head = _read(requests)
        if head is None:
            return
        body = _read(requests)
        if body is None:
            return
        _limit_cpu(int(cpu_seconds))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        answer = _answer(head, body)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if answer[:1] == b"P" and _peak_bytes() > retired_bytes:
            answer = b"R" + answer[1:]
        _reply(answers, answer)


def _answer(head: bytes, body: bytes) -> bytes:
    try:
        request = json.loads(head)
        url, prefixes = request["source"]
        scope = Scope(WebSource(url, tuple(prefixes)), secure=request["secure"])
        page = extract(body, request["content_type"], request["url"], scope=scope)
        return b"P" + page.model_dump_json().encode("utf-8")
    except MemoryError:
        return b"Eoversized MemoryError"
    except Exception as error:  # noqa: BLE001 - reported by type; its text may quote the page
        return b"Eunexpected " + type(error).__name__.encode("ascii", "replace")


def _peak_bytes() -> int:
    """The most memory that this program has held.

    Linux hands a parent's peak down to what it starts (``ru_maxrss``), so that every parser of a
    large process would look worn out; ``VmHWM`` begins anew with the program.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(one for one in status if one.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        # Other systems hand nothing down; macOS counts in bytes.
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _limit_cpu(seconds: int) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, hard))


def _read(pipe: BinaryIO) -> bytes | None:
    size = pipe.read(_LENGTH.size)
    if len(size) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(size)
    data = pipe.read(length)
    return data if len(data) == length else None


def _reply(pipe: BinaryIO, answer: bytes) -> None:
    pipe.write(_LENGTH.pack(len(answer)) + answer)
    pipe.flush()


if __name__ == "__main__":
    main()
