"""Reading one uploaded file from a multipart body, never more of it than the limit."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from domain.errors import InvalidInput
from serve.errors import BODY_TOO_LARGE

OVERHEAD_BYTES = 16 * 1024
"""What the boundaries and headers around a file may take."""


async def read_file(request: Request, field: str, limit: int) -> tuple[str, bytes]:
    """The name and the content of the one file that the body holds.

    The body is counted while it arrives; beyond the first megabyte it rests on disk, not in memory.

    Raises:
        InvalidInput: no multipart body, a broken one, none or another field, or too many bytes.
    """
    check_same_site(request)
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise InvalidInput("Content-Type", "is not multipart/form-data", "send the file as a form")
    parser = MultiPartParser(request.headers, _counted(request, limit), max_files=1, max_fields=0)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise InvalidInput(
            field, "is not the only part of a readable form", f"send one file named {field}"
        ) from error
    try:
        file = form.get(field)
        if not isinstance(file, UploadFile):
            raise InvalidInput(field, "is missing", f"send one file named {field}")
        body = await file.read()
        if len(body) > limit:
            raise _too_large(limit)
        return file.filename or "", body
    finally:
        await form.close()


def check_same_site(request: Request) -> None:
    """A form needs no permission of ours to be sent by a foreign page's browser, unlike JSON.

    Raises:
        InvalidInput: a browser says that another site's page sends it.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        foreign = site not in {"same-origin", "none"}
    else:
        foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign:
        raise InvalidInput("Origin", "is another site", "send the file from the page itself")


async def _counted(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > limit + OVERHEAD_BYTES:
            raise _too_large(limit)
        yield chunk


def _too_large(limit: int) -> InvalidInput:
    error = InvalidInput("file", f"is larger than {limit} bytes", "split the file")
    error.code = BODY_TOO_LARGE
    return error
