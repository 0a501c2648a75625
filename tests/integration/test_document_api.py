"""Documents of a conversation over HTTP: what is read, what is refused, and how much of it."""

from __future__ import annotations

import asyncio
import io
import time
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psutil
import pytest
from fake_gateway import client_of
from kept_conversations import everything, store_turn
from kept_gateway import gateway_over

from config.policy import POLICY, DocumentLimits
from domain.errors import InvalidInput
from domain.requests import thread_id
from retrieval.reading import FileReader
from retrieval.redis_client import open_redis
from serve.multipart_body import OVERHEAD_BYTES

pytestmark = pytest.mark.integration
DEMO = Path(__file__).resolve().parents[2] / "demo" / "documents"
OWNER = ("acme", "ana")


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Any]:
    client = open_redis(redis_url)
    await client.flushdb()
    yield client
    await client.flushdb()
    await client.aclose()


@pytest.fixture
async def client(redis_url: str, store: Any) -> AsyncIterator[httpx.AsyncClient]:
    gateway = gateway_over(redis_url)
    async with client_of(gateway) as client:  # type: ignore[arg-type]
        yield client
    await gateway.close()


def path(conversation: str, rest: str = "") -> str:
    return f"/v1/conversations/{quote(conversation, safe='')}{rest}"


def error(reply: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = reply.json()["error"]
    return found


async def upload(
    client: httpx.AsyncClient, name: str, content: bytes, conversation: str = "c", **more: Any
) -> httpx.Response:
    files = {"file": (name, content)}
    return await client.post(path(conversation, "/documents"), files=files, **more)


@pytest.mark.parametrize(
    "name",
    [
        "en/travel-rates.pdf",
        "fr/charte-securite-atelier.docx",
        "de/kantine-und-parken.md",
    ],
)
async def test_a_document_begins_a_conversation_and_is_exported_whole(
    client: httpx.AsyncClient, store: Any, name: str
) -> None:
    content = (DEMO / name).read_bytes()
    added = await upload(client, name, content)
    assert added.status_code == 201
    document = added.json()
    assert set(document) == {"id", "name", "bytes", "characters"}
    assert (document["name"], document["bytes"]) == (name.partition("/")[2], len(content))
    assert document["characters"] > 500
    assert (await client.get(path("c", "/documents"))).json() == {
        "object": "list",
        "data": [document],
    }
    read = (await client.get(path("c"))).json()
    assert (read["documents"], read["messages"], read["title"]) == (
        [document],
        [],
        document["name"],
    )
    exported = await client.get(path("c", "/export"))
    assert exported.headers["content-disposition"].startswith("attachment")
    (whole,) = exported.json()["documents"]
    assert len(whole["text"]) == document["characters"]
    assert (await client.delete(path("c", f"/documents/{document['id']}"))).status_code == 204
    gone = await client.delete(path("c", f"/documents/{document['id']}"))
    assert gone.status_code == 404
    assert (await client.delete(path("c"))).status_code == 204
    assert await everything(store) == {}


async def test_a_text_in_any_script_is_kept_whole(client: httpx.AsyncClient) -> None:
    text = 'Grüße aus Köln, 漢字 😀 "quoted" \\ back\n' * 400
    assert (await upload(client, "a.txt", text.encode())).status_code == 201
    (whole,) = (await client.get(path("c", "/export"))).json()["documents"]
    assert whole["text"] == text
    wide = await upload(client, "b.txt", "Grüße".encode("utf-16"))
    assert wide.json()["characters"] == 5


def zipped(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


OLE = bytes.fromhex("d0cf11e0a1b11ae1") + b"x" * 600
EMPTY_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\n"
    b"trailer<</Root 1 0 R>>\n"
)
LOCK = (
    b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<" + b"11" * 32 + b">/U<" + b"22" * 32 + b">>>"
    b"/ID[<" + b"33" * 16 + b"><" + b"33" * 16 + b">]>>\n"
)
LOCKED_PDF = EMPTY_PDF.removesuffix(b">>\n") + LOCK


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.exe", b"MZ", "kind that cannot be read"),
        ("a", b"text", "kind that cannot be read"),
        ("a.html", b"<p>x</p>", "kind that cannot be read"),
        ("a.pdf.zip", b"%PDF-1.4", "kind that cannot be read"),
        ("a.txt", b"", "is empty"),
        ("a.md", b" \n\t ", "is empty"),
        ("a.txt", b"%PDF-1.4 x", "is no txt file"),
        ("a.pdf", b"just text", "is no pdf file"),
        ("a.docx", zipped(x="y"), "is no docx file"),
        ("a.docx", b"PK\x03\x04broken", "is no docx file"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\x00\x00", "is no txt file"),
        ("a.docx", OLE, "locked by a password"),
        ("a.pdf", b"%PDF-1.7 broken", "is not a readable PDF"),
        ("a.pdf", EMPTY_PDF, "holds no text"),
        ("a.pdf", LOCKED_PDF, "is locked by a password"),
        ("a.docx", zipped(**{"word/document.xml": "<broken"}), "is not a readable Word"),
        ("a" * 197 + ".txt", b"text", "has no name of 1 to 200"),
        ("a\u200b.txt", b"text", "has no name of 1 to 200"),
    ],
)
async def test_a_refused_document_says_why_and_leaves_nothing(
    client: httpx.AsyncClient, store: Any, name: str, content: bytes, reason: str
) -> None:
    reply = await upload(client, name, content)
    assert reply.status_code == 400, reply.text
    assert error(reply)["param"] == "file"
    assert reason in error(reply)["message"]
    assert await everything(store) == {}


async def test_a_name_of_200_characters_without_its_folders_is_kept(
    client: httpx.AsyncClient,
) -> None:
    name = "a" * 196 + ".txt"
    assert (await upload(client, f"C:\\docs\\{name}", b"text")).json()["name"] == name


async def test_a_file_of_ten_megabytes_is_read_and_one_byte_more_is_not(
    client: httpx.AsyncClient, store: Any
) -> None:
    limit = POLICY.document.file_bytes
    text = b"word " * (POLICY.document.text_chars // 5)
    padded = text + b"\n" * (limit - len(text))
    over = await upload(client, "a.txt", padded + b"\n")
    assert (over.status_code, error(over)["code"]) == (413, "body_too_large")
    assert await everything(store) == {}
    # As large as allowed, but its text is longer than is kept.
    long = await upload(client, "a.txt", padded)
    assert (long.status_code, error(long)["param"]) == (400, "file")
    assert "holds more than 2000000 characters" in error(long)["message"]
    assert (await upload(client, "a.txt", text)).json()["characters"] == len(text)


async def test_reading_stops_at_the_limit(client: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        while sent < 4 * POLICY.document.file_bytes:
            sent += 65_536
            yield b"x" * 65_536

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    reply = await client.post(path("c", "/documents"), content=endless(), headers=headers)
    assert reply.status_code == 413
    assert sent <= POLICY.document.file_bytes + OVERHEAD_BYTES + 2 * 65_536


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"json": {"file": "x"}}, "Content-Type"),
        ({"files": {"document": ("a.txt", b"x")}}, "file"),
        ({"files": [("file", ("a.txt", b"x")), ("file", ("b.txt", b"x"))]}, "file"),
        ({"files": {"file": ("a.txt", b"x")}, "data": {"more": "y"}}, "file"),
        ({"files": {"file": (None, b"x")}}, "file"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, "file"),
        (
            {"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=y"}},
            "file",
        ),
    ],
)
async def test_a_form_that_is_not_one_file_is_refused(
    client: httpx.AsyncClient, given: dict[str, Any], param: str
) -> None:
    reply = await client.post(path("c", "/documents"), **given)
    assert (reply.status_code, error(reply)["param"]) == (400, param)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 400),
        ({"Sec-Fetch-Site": "same-site"}, 400),
        ({"Origin": "https://evil.example"}, 400),
        ({"Origin": "null"}, 400),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"}, 201),
        ({"Sec-Fetch-Site": "none"}, 201),
        ({"Origin": "http://127.0.0.1:8080"}, 201),
        ({}, 201),
    ],
)
async def test_a_foreign_page_cannot_make_a_browser_upload(
    client: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    assert (await upload(client, "a.txt", b"text", headers=headers)).status_code == status


async def test_the_twentieth_document_is_kept_and_the_next_is_not(
    client: httpx.AsyncClient, store: Any
) -> None:
    for number in range(POLICY.document.per_conversation):
        assert (await upload(client, f"{number}.txt", b"text")).status_code == 201
    reply = await upload(client, "more.txt", b"text")
    assert (reply.status_code, error(reply)["param"]) == (400, "file")
    assert "more than 20" in error(reply)["message"]
    assert (await upload(client, "more.txt", b"text", "another")).status_code == 201


async def test_documents_that_are_deleted_with_their_conversation_while_one_arrives(
    client: httpx.AsyncClient, store: Any
) -> None:
    await store_turn(store, OWNER, "c")
    arriving = asyncio.create_task(upload(client, "a.txt", b"text"))
    await asyncio.sleep(0.05)
    assert (await client.delete(path("c"))).status_code == 204
    assert (await arriving).status_code == 201
    assert len((await client.get(path("c", "/documents"))).json()["data"]) == 1
    assert (await client.delete(path("c"))).status_code == 204
    left = await everything(store)
    left.pop("manta:checkpoint:seq")
    assert left == {}


async def test_a_document_is_in_no_other_thread(client: httpx.AsyncClient, store: Any) -> None:
    await upload(client, "a.txt", b"text")
    keys = [key for key in await everything(store) if "upload" in key]
    assert all(thread_id(*OWNER, "c") in key for key in keys) and len(keys) == 2


def bomb() -> bytes:
    """Little to send and much to unpack: a Word file of three million empty paragraphs."""
    packed = io.BytesIO()
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        content = f"<w:document {space}><w:body>{'<w:p/>' * 3_000_000}</w:body></w:document>"
        archive.writestr("word/document.xml", content)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        (DocumentLimits(reading_seconds=2.0), 5.0),
        (DocumentLimits(reading_bytes=512 * 1024 * 1024), 60.0),
    ],
    ids=["time", "memory"],
)
async def test_a_file_that_takes_too_much_ends_its_process(
    limits: DocumentLimits, seconds: float
) -> None:
    started = time.monotonic()
    with pytest.raises(InvalidInput, match="too much time or memory"):
        await FileReader(limits).read("a.docx", bomb())
    assert time.monotonic() - started < seconds


async def test_a_reader_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    content = (DEMO / "en/travel-rates.pdf").read_bytes()
    before = set(psutil.Process().children())
    reading = asyncio.create_task(FileReader().read("a.pdf", content))
    await asyncio.sleep(0.1)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert set(psutil.Process().children()) <= before
