"""The reading process: one uploaded file from standard input, its text as JSON on standard output.

The answer is an object with ``text`` and ``language``, with ``refused`` (a reason and what to do
about it), or with ``failed``, the type of an error that nobody expected.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any

from crawler.quiet import silence_foreign_loggers
from domain.errors import InvalidInput
from retrieval.documents import convert


def main() -> None:
    """Arguments: seconds of wall clock and CPU, and bytes of address space."""
    seconds, memory = (int(float(word)) for word in sys.argv[1:3])
    # The answer's pipe is kept to ourselves: whatever a library prints goes nowhere.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    silence_foreign_loggers()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides when a terminal interrupts
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds + 1, seconds + 1))
    signal.alarm(seconds + 1)
    sent = sys.stdin.buffer
    (length,) = struct.unpack(">I", sent.read(4))
    name = sent.read(length).decode("utf-8")
    answer = _answer(Path(name), sent.read())
    answers.write(json.dumps(answer).encode("ascii"))
    answers.flush()


def _answer(name: Path, body: bytes) -> dict[str, Any]:
    try:
        document = convert(name, body)
    except InvalidInput as error:
        return {"refused": [error.reason, error.mend]}
    except MemoryError:
        return {"refused": ["takes too much time or memory to read", "split or simplify it"]}
    except Exception as error:  # noqa: BLE001 - told by its type; its text may quote the file
        return {"failed": type(error).__name__}
    # Half a surrogate pair cannot be kept as text; broken fonts of a PDF make some.
    text = document.text.encode("utf-8", "replace").decode("utf-8")
    return {"text": text, "language": document.language}


if __name__ == "__main__":
    main()
