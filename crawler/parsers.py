"""Parser processes: reading a hostile page may end in a kill, never in a stuck event loop.

Each process reads one page at a time within its own CPU, memory and wall-clock limits. A process
is started when it is first needed, replaced after a kill, and ends by itself when its standard
input closes, so that no owner's death leaves one behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Final, Protocol

from pydantic import ValidationError

from crawler.extract import ExtractedPage, extract
from crawler.limits import ParseLimits
from crawler.scope import Scope, WebSource
from domain.errors import PageFailed

_LENGTH: Final = struct.Struct(">I")
_GRACE_SECONDS: Final = 0.5
_ENVIRONMENT: Final = frozenset({"PATH", "LANG", "HOME", "LD_LIBRARY_PATH"})


class PageReader(Protocol):
    """What the fetcher needs: a place where bodies are read."""

    def warm(self) -> None: ...

    async def parse(
        self, body: bytes, content_type: str, url: str, source: WebSource, secure: bool
    ) -> ExtractedPage: ...

    async def close(self) -> None: ...


class ThreadParsers:
    """Reads in a thread, without any limit: for pages of our own, in tests and benchmarks."""

    def warm(self) -> None:
        """Nothing has to be started."""

    async def parse(
        self, body: bytes, content_type: str, url: str, source: WebSource, secure: bool
    ) -> ExtractedPage:
        scope = Scope(source, secure=secure)
        return await asyncio.to_thread(extract, body, content_type, url, scope=scope)

    async def close(self) -> None:
        """Nothing has to be stopped."""


class PageParsers:
    """A few parser processes, started lazily; lives with the fetcher.

    Raises:
        PageFailed: by :meth:`parse`: ``timeout`` when the limits of time ended it, ``oversized``
            when memory did, ``unexpected`` for a fault of the parser.
    """

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.workers)
        self._idle: list[_Parser] = []
        self._jobs: set[asyncio.Task[ExtractedPage]] = set()
        self._warming: asyncio.Task[None] | None = None
        self._parsers = 0
        self._closed = False

    def warm(self) -> None:
        """Begin to start a first process, so that a page's network time hides it."""
        if self._parsers == 0 and self._warming is None and not self._closed:
            self._warming = asyncio.create_task(self._warm())

    async def parse(
        self, body: bytes, content_type: str, url: str, source: WebSource, secure: bool
    ) -> ExtractedPage:
        """Read ``body`` in a process; the links are admitted to ``source`` there."""
        head = json.dumps(
            {
                "content_type": content_type,
                "url": url,
                "source": [source.url, list(source.allowed_path_prefixes)],
                "secure": secure,
            }
        ).encode()
        # The job outlives a cancelled caller: it ends within its limits and frees its process.
        job = asyncio.create_task(self._run(head, body))
        self._jobs.add(job)
        job.add_done_callback(self._forget)
        return await asyncio.shield(job)

    async def close(self) -> None:
        """Kill all processes and wait for their end."""
        self._closed = True
        waiting = [*self._jobs, *([self._warming] if self._warming else [])]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        idle, self._idle = self._idle, []
        await asyncio.gather(*(parser.kill() for parser in idle))

    def _forget(self, job: asyncio.Task[ExtractedPage]) -> None:
        self._jobs.discard(job)
        if not job.cancelled():
            job.exception()  # a cancelled caller leaves nobody else to retrieve it

    async def _warm(self) -> None:
        async with self._slots:
            if self._parsers == 0:
                self._idle.append(await self._start())

    async def _start(self) -> _Parser:
        self._parsers += 1
        try:
            return await _Parser.start(self._limits)
        except BaseException:
            self._parsers -= 1
            raise

    async def _run(self, head: bytes, body: bytes) -> ExtractedPage:
        async with self._slots:
            if self._closed:
                raise PageFailed("unexpected", error_type="Closed")
            parser = self._idle.pop() if self._idle else await self._start()
            try:
                return await parser.parse(head, body, self._limits.seconds)
            finally:
                if parser.usable and not self._closed:
                    self._idle.append(parser)
                else:
                    self._parsers -= 1
                    await parser.kill()


class _Parser:
    """One process and its pipe."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.usable = True
        """Whether another page may be given to it."""

    @classmethod
    async def start(cls, limits: ParseLimits) -> _Parser:
        environment = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
        environment["PYTHONPATH"] = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "crawler.parser_process",
            str(limits.cpu_seconds),
            str(limits.memory_bytes),
            str(limits.seconds + 1),
            str(limits.retired_bytes),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=environment,
        )
        parser = cls(process)
        try:
            await parser._receive()
        except (OSError, asyncio.IncompleteReadError):
            await parser.kill()
            raise PageFailed("unexpected", error_type="ParserStart") from None
        except BaseException:
            await parser.kill()
            raise
        return parser

    async def parse(self, head: bytes, body: bytes, seconds: float) -> ExtractedPage:
        self.usable = False
        try:
            async with asyncio.timeout(seconds):
                await self._send(head, body)
                answer = await self._receive()
        except TimeoutError:
            raise PageFailed("timeout", error_type="ParserTimeout") from None
        except (OSError, asyncio.IncompleteReadError):
            raise await self._death() from None
        kind, payload = answer[:1], answer[1:]
        if kind == b"E":
            code, _, error_type = payload.decode("ascii", "replace").partition(" ")
            # After exhausted memory the interpreter is not trusted with another page.
            self.usable = code != "oversized"
            raise PageFailed(code, error_type=error_type)
        self.usable = kind == b"P"
        try:
            return ExtractedPage.model_validate_json(payload)
        except ValidationError:
            raise PageFailed("unexpected", error_type="ParserReply") from None

    async def _death(self) -> PageFailed:
        """Why the process ended: its limit of CPU or of wall clock by signal, else its memory."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._process.wait()
        by_time = self._process.returncode in (-24, -14)  # SIGXCPU, SIGALRM
        return PageFailed("timeout" if by_time else "oversized", error_type="ParserDied")

    async def kill(self) -> None:
        # Shielded: a cancelled caller must not leave a process that nobody waits for.
        await asyncio.shield(asyncio.ensure_future(self._kill()))

    async def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._process.returncode is None:
                self._process.kill()
        await self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def _send(self, head: bytes, body: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        pipe.write(_LENGTH.pack(len(head)) + head + _LENGTH.pack(len(body)))
        pipe.write(body)
        await pipe.drain()

    async def _receive(self) -> bytes:
        pipe = self._process.stdout
        assert pipe is not None
        (length,) = _LENGTH.unpack(await pipe.readexactly(_LENGTH.size))
        return await pipe.readexactly(length)
