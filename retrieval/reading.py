"""Reading a file that a user uploaded: what it is by its content, and its text.

A hostile file may take for ever or all memory. It is therefore read in a process of its own,
within limits of time and memory, which is killed when they end.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import struct
import sys
import zipfile
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from config.policy import POLICY, DocumentLimits
from domain.errors import InvalidInput, Unavailable

FIELD = "file"
SUFFIXES = {".pdf": "pdf", ".docx": "docx", ".md": "text", ".markdown": "text", ".txt": "text"}
_KNOWN = "pdf, docx, md, txt"
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_PDF_BEGINS_WITHIN = 1_024
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_ENVIRONMENT: Final = frozenset({"PATH", "LANG", "HOME", "LD_LIBRARY_PATH"})


@dataclass(frozen=True, slots=True)
class ReadText:
    """A file's text and its language."""

    text: str
    language: str


class FileReader:
    """Lives with the process; at most ``at_a_time`` files are read at once, others wait."""

    def __init__(self, limits: DocumentLimits = POLICY.document, at_a_time: int = 2) -> None:
        self._limits = limits
        self._places = asyncio.Semaphore(at_a_time)

    async def read(self, name: str, body: bytes) -> ReadText:
        """The text of a file whose name and content were checked.

        Raises:
            InvalidInput: broken, locked, without text, too long, or too slow to read.
            Unavailable: the reading process could not be run.
        """
        async with self._places:
            answer = await self._answer(name, body)
        if answer.get("refused"):
            raise InvalidInput(FIELD, *answer["refused"])
        text = str(answer["text"])
        limit = self._limits.text_chars
        if len(text) > limit:
            raise InvalidInput(FIELD, f"holds more than {limit} characters", "split the file")
        return ReadText(text, str(answer["language"]))

    async def _answer(self, name: str, body: bytes) -> dict[str, Any]:
        environment = {key: value for key, value in os.environ.items() if key in _ENVIRONMENT}
        environment["PYTHONPATH"] = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        limits = (str(self._limits.reading_seconds), str(self._limits.reading_bytes))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "retrieval.reading_process", *limits),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=environment,
        )
        head = name.encode("utf-8")
        try:
            async with asyncio.timeout(self._limits.reading_seconds):
                said, _ = await process.communicate(struct.pack(">I", len(head)) + head + body)
        except TimeoutError:
            raise _too_much() from None
        finally:
            await _ended(process)
        if process.returncode != 0 or not said:
            raise _too_much()
        answer: dict[str, Any] = json.loads(said)
        if "failed" in answer:
            raise Unavailable("the reading of documents", str(answer["failed"]))
        return answer


def check_name(name: str) -> str:
    """The name of an uploaded file, without any folder before it.

    Raises:
        InvalidInput: it is empty, too long, not printable or of no known kind.
    """
    plain = PurePosixPath(name.replace("\\", "/")).name
    limit = POLICY.document.name_chars
    if not plain or len(plain) > limit or not plain.isprintable():
        raise InvalidInput(FIELD, f"has no name of 1 to {limit} printable characters", "rename it")
    if _suffix(plain) not in SUFFIXES:
        raise InvalidInput(FIELD, "is of a kind that cannot be read", f"use one of {_KNOWN}")
    return plain


def check_content(name: str, body: bytes) -> None:
    """Raises InvalidInput for content that is empty, locked, or not what the name says."""
    limit = POLICY.document.file_bytes
    if len(body) > limit:
        raise InvalidInput(FIELD, f"is larger than {limit} bytes", "split the file")
    if not body.strip():
        raise InvalidInput(FIELD, "is empty", "choose a file with content")
    if body.startswith(_OLE):
        raise InvalidInput(
            FIELD, "is locked by a password, or an old Word file", "save it as docx, unlocked"
        )
    expected = SUFFIXES[_suffix(name)]
    if kind_of(body) != expected:
        raise InvalidInput(
            FIELD, f"is no {_suffix(name)[1:]} file, whatever its name says", "choose another file"
        )


def kind_of(body: bytes) -> str | None:
    """What a file's content is: ``pdf``, ``docx``, ``text``, or ``None`` for anything else."""
    if b"%PDF-" in body[:_PDF_BEGINS_WITHIN]:
        return "pdf"
    if body.startswith(b"PK"):
        try:
            with zipfile.ZipFile(io.BytesIO(body)) as archive:
                return "docx" if "word/document.xml" in archive.namelist() else None
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            return None
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text"
    return "text" if len(body.translate(None, _CONTROLS)) == len(body) else None


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _too_much() -> InvalidInput:
    return InvalidInput(FIELD, "takes too much time or memory to read", "split or simplify it")


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Kill what still runs, and wait for its end even when the caller is cancelled."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(asyncio.ensure_future(process.wait()))
