"""The chat page in a real browser, against a small HTTP server whose runs a test scripts.

The server sends the page's real files with the headers of a strict deployment; only the runs are
scripted. A script is a list of steps: an event (a dict), a pause (seconds), a ``threading.Event``
to wait for, or one of ``CUT`` (the connection breaks) and ``END`` (the stream ends early).
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PAGE = Path(__file__).resolve().parents[2] / "serve" / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
CUT = "cut"
END = "end"
Step = dict[str, Any] | float | threading.Event | str

CONFIG: dict[str, Any] = {
    "tenants": [
        {
            "id": "tidewater",
            "name": "Tidewater Cooperative",
            "locale": "en",
            "examples": {
                "en": ["How do I claim back what I paid on a trip?", "How many days of leave?"],
                "fr": ["Comment demander le télétravail ?"],
                "de": ["Wie melde ich mich krank?"],
            },
        },
        {
            "id": "blank",
            "name": "Blank Slate Ltd",
            "locale": "en",
            "examples": {"en": ["Help me think about my next career step."]},
        },
    ],
    "default_tenant": "tidewater",
    "message_chars": 16000,
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: needs Chromium")


@dataclass
class ReceivedRun:
    """A run that the page asked for; ``gone`` is set when its client left before the end."""

    body: dict[str, Any]
    tenant: str | None
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def text(self) -> str:
        content: str = self.body["messages"][-1]["content"]
        return content

    @property
    def locale(self) -> str | None:
        locale: str | None = self.body["forwardedProps"].get("locale")
        return locale


@dataclass
class Refusal:
    """An answer that is no stream: an HTTP status with a body."""

    status: int
    body: bytes
    kind: str = "application/json"


class PageServer:
    """The page's files and its configuration, and runs in the order in which they are scripted."""

    CUT = CUT
    END = END

    def __init__(self) -> None:
        self.config = json.loads(json.dumps(CONFIG))
        self.config_status = 200
        self.runs: list[ReceivedRun] = []
        self._scripts: list[list[Step] | Refusal] = []
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def script(self, *steps: Step) -> None:
        """The next run: ``RUN_STARTED`` comes first by itself."""
        self._scripts.append(list(steps))

    def refuse(self, status: int, message: str) -> None:
        """The next run is refused with the error object of the API."""
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        self._scripts.append(Refusal(status, json.dumps({"error": error}).encode()))

    def answer_plainly(self, status: int, body: str) -> None:
        """The next run gets a proxy's page instead of an answer of ours."""
        self._scripts.append(Refusal(status, body.encode(), "text/html"))

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                if path == "/page-config":
                    body = json.dumps(server.config).encode()
                    self.whole(server.config_status, body, "application/json")
                    return
                name = "index.html" if path == "/" else path.removeprefix("/page/")
                file = PAGE / name
                if "/" in name or not file.is_file():
                    self.whole(404, b"", "text/plain")
                else:
                    self.whole(200, file.read_bytes(), TYPES[file.suffix])

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                run = ReceivedRun(body, self.headers.get("X-Manta-Tenant"))
                server.runs.append(run)
                script = server._scripts.pop(0)
                if isinstance(script, Refusal):
                    self.whole(script.status, script.body, script.kind)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
                self.send_header("Cache-Control", "no-store")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    self.play(body, script)
                except OSError:
                    run.gone.set()
                    self.close_connection = True

            def play(self, body: dict[str, Any], script: list[Step]) -> None:
                self.chunk(": a comment line first\n\n")
                ids = {"threadId": body["threadId"], "runId": body["runId"]}
                self.event({"type": "RUN_STARTED", **ids})
                for step in script:
                    if isinstance(step, dict):
                        self.event({**ids, **step} if step["type"] == "RUN_FINISHED" else step)
                    elif isinstance(step, threading.Event):
                        self.rest(step, 20)
                    elif step == CUT:
                        self.close_connection = True
                        return
                    elif step == END:
                        break
                    else:
                        self.rest(server._closing, float(step))
                self.wfile.write(b"0\r\n\r\n")

            def rest(self, until: threading.Event, seconds: float) -> None:
                deadline = time.monotonic() + seconds
                while not until.wait(0.05):
                    if time.monotonic() > deadline or server._closing.is_set():
                        return
                    self.chunk(": keep-alive\n\n")

            def event(self, event: dict[str, Any]) -> None:
                self.chunk(f"data: {json.dumps(event, ensure_ascii=False)}\n\n")

            def chunk(self, text: str) -> None:
                data = text.encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()

            def whole(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Security-Policy", POLICY)
                self.send_header("X-Content-Type-Options", "nosniff")
                self.end_headers()
                self.wfile.write(body)

        return Handler


class Scripted:
    """The events of a run as the server sends them, and an answer with its two sources."""

    QUESTION = "How do I claim back what I paid on a trip?"
    ANSWER = (
        "Use form **EX-2** in `Ledgerline` [1].\n\n"
        "- Photograph each receipt\n- Pick the cost centre\n\n"
        "> Hand in your claim within 45 days of the purchase. [2]"
    )
    PASSAGE = (
        "Meals on the way\n\nA lunch costs up to £14.\n\n"
        "The claim needs “the receipt,\nnot only the card slip”. "
        "Anything above £10 needs one.\n\nHotels are booked by the Compass Desk."
    )
    DOCUMENT = {
        "number": 1,
        "kind": "document",
        "title": "Travel rates",
        "quote": 'The claim needs "the receipt, not only the card slip".',
        "url": None,
        "heading": "Meals on the way",
        "page": 3,
        "passage": PASSAGE,
    }
    WEB = {
        "number": 2,
        "kind": "web",
        "title": "Claiming expenses",
        "quote": "Hand in your claim within 45 days, e-mail & paper alike.",
        "url": "http://handbook.tidewater.example/en/overview.html#deadline",
        "heading": "Deadlines",
        "page": None,
        "passage": None,
    }

    @staticmethod
    def step(name: str) -> dict[str, Any]:
        return {"type": "STEP_STARTED", "stepName": name}

    @staticmethod
    def activity(code: str) -> dict[str, Any]:
        content = {"code": code, "agent": "knowledge"}
        return {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "a1",
            "activityType": "manta.activity",
            "content": content,
        }

    @staticmethod
    def comment(text: str) -> dict[str, Any]:
        content = {"text": text, "agent": "knowledge"}
        return {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "a2",
            "activityType": "manta.comment",
            "content": content,
        }

    @staticmethod
    def delta(text: str) -> dict[str, Any]:
        return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": text}

    @staticmethod
    def written(text: str) -> list[dict[str, Any]]:
        return [
            {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
            Scripted.delta(text),
            {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
        ]

    @staticmethod
    def ended(
        status: str, text: str, *citations: dict[str, Any], agent: str = "knowledge"
    ) -> list[dict[str, Any]]:
        """A whole reply and the end of its run."""
        reply = {
            "status": status,
            "agent": agent,
            "text": text,
            "citations": citations,
            "locale": "en",
            "spent": {},
        }
        return [
            *Scripted.written(text),
            {"type": "CUSTOM", "name": "manta.reply", "value": reply},
            {"type": "RUN_FINISHED", "result": None},
        ]


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture
def ask() -> Callable[..., None]:
    """``ask(page)``: the example question, or another one, written and sent with Enter."""

    def ask(page: Any, text: str = Scripted.QUESTION) -> None:
        page.get_by_label("Your message").fill(text)
        page.keyboard.press("Enter")

    return ask


@pytest.fixture
def page_server() -> Iterator[PageServer]:
    """The scripted server of one test."""
    server = PageServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for the tests of a module.

    It does not live longer: the synchronous driver keeps an event loop running in this thread, in
    which no asynchronous test of another folder could start its own.
    """
    if not Path(CHROMIUM).exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{CHROMIUM} is missing")
        pytest.skip(f"{CHROMIUM} is missing")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Any]:
    """``open_page(url, **context_options)``: a page in a fresh context.

    Any script error or policy violation that it reports fails the test.
    """
    contexts: list[Any] = []
    complaints: list[str] = []

    def console(message: Any) -> None:
        # The browser itself reports every refused or broken request; tests cause those on purpose.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            complaints.append(message.text)

    def make(url: str, **options: Any) -> Any:
        context = chromium.new_context(**{"locale": "en-GB", "reduced_motion": "reduce", **options})
        contexts.append(context)
        context.set_default_timeout(5000)
        page = context.new_page()
        page.on("console", console)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []
