"""The chat page's server of the browser tests: the page's real files, and runs that a test scripts.

The files come with the headers of a strict deployment. A script is a list of steps: an event (a
dict), a wait (seconds), a ``threading.Event`` to wait for, or one of ``CUT`` (the connection
breaks) and ``END`` (the stream ends early). What stands behind a break is told to whoever comes
back for the run with ``GET /v1/runs/{run_id}``, after the events that were missed.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from page_records import Answer, PageRecords, answer, refused

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


@dataclass
class ReceivedRun:
    """A run that the page asked for.

    ``gone`` is set when a client left before the end. The events that were told are kept; ``rest``
    is what is still to come, told to one client at a time.
    """

    body: dict[str, Any]
    tenant: str | None
    rest: list[Step]
    gone: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)
    told: list[str] = field(default_factory=list)
    told_to: threading.Lock = field(default_factory=threading.Lock)

    @property
    def text(self) -> str:
        content: str = self.body["messages"][-1]["content"]
        return content

    @property
    def locale(self) -> str | None:
        locale: str | None = self.body["forwardedProps"].get("locale")
        return locale

    @property
    def ids(self) -> dict[str, str]:
        return {"threadId": self.body["threadId"], "runId": self.body["runId"]}


class PageServer:
    """The page's files and its configuration, runs in the order in which they are scripted, and
    the API's records. With ``keys`` (each with its user) every request has to bring one."""

    CUT = CUT
    END = END

    def __init__(self) -> None:
        self.config = json.loads(json.dumps(CONFIG))
        self.config_status = 200
        self.keys: dict[str, str] = {}
        self.runs: list[ReceivedRun] = []
        self.continued: list[int] = []
        self.requests: list[tuple[str, str, str | None]] = []
        self.records = PageRecords()
        self._scripts: list[list[Step] | Answer] = []
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
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
        self._scripts.append(refused(status, message))

    def answer_plainly(self, status: int, body: str) -> None:
        """The next run gets a proxy's page instead of an answer of ours."""
        self._scripts.append(Answer(status, body.encode(), "text/html"))

    def begin(self, body: dict[str, Any], tenant: str | None) -> ReceivedRun | Answer:
        """The run that a request asks for, as it is scripted."""
        if body["runId"] in {run.body["runId"] for run in self.runs}:
            return refused(409, "runId: was started already", "run_exists")
        script = self._scripts.pop(0)
        run = ReceivedRun(body, tenant, [] if isinstance(script, Answer) else script)
        self.runs.append(run)
        if isinstance(script, Answer):
            run.body = {**body, "runId": ""}
            return script
        run.rest.insert(0, {"type": "RUN_STARTED", **run.ids})
        return run

    def settings(self, user: str | None) -> Answer:
        """``/page-config``: where keys are asked for, a stranger learns no more than that."""
        if not self.keys:
            return Answer(self.config_status, json.dumps(self.config).encode())
        basics = {"auth": "api_keys", "message_chars": self.config["message_chars"]}
        if user is None:
            return answer(basics)
        own = self.config["tenants"][0]
        return answer({"tenants": [own], "default_tenant": own["id"], "user": user, **basics})

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def handler(server: PageServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # A header and its body in two packets would otherwise wait for each other.
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.answered(b"")

        def do_POST(self) -> None:
            self.answered(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        do_PUT = do_PATCH = do_DELETE = do_POST

        def answered(self, body: bytes) -> None:
            url = urlsplit(self.path)
            bearer = self.headers.get("Authorization")
            if url.path == "/page-config" or url.path.startswith("/v1/"):
                server.requests.append((self.command, url.path, bearer))
                user = server.keys.get((bearer or "").removeprefix("Bearer "))
                stranger = url.path == "/page-config" and bearer is None
                if server.keys and user is None and not stranger:
                    self.whole(refused(401, "the API key is not valid"))
                elif url.path == "/page-config":
                    self.whole(server.settings(user))
                elif url.path.startswith("/v1/runs"):
                    self.run(url.path, body)
                else:
                    query = dict(parse_qsl(url.query))
                    kept = server.records.reply(self.command, url.path, query, body)
                    self.whole(kept or Answer(404))
                return
            name = "index.html" if url.path == "/" else url.path.removeprefix("/page/")
            file = PAGE / name
            if "/" in name or not file.is_file():
                self.whole(Answer(404, b"", "text/plain"))
            else:
                self.whole(Answer(200, file.read_bytes(), TYPES[file.suffix]))

        def run(self, path: str, body: bytes) -> None:
            if path == "/v1/runs":
                began = server.begin(json.loads(body), self.headers.get("X-Manta-Tenant"))
                if isinstance(began, Answer):
                    self.whole(began)
                else:
                    self.stream(began, 0)
                return
            name = unquote(path.split("/")[3])
            found = next((one for one in server.runs if one.body["runId"] == name), None)
            if found is None or not (found.rest or self.command == "POST"):
                self.whole(refused(404, "the run does not exist"))
            elif path.endswith("/stop"):
                found.stopped.set()
                self.whole(Answer(202))
            else:
                after = int(self.headers.get("Last-Event-ID", 0))
                server.continued.append(after)
                self.stream(found, after)

        def stream(self, run: ReceivedRun, after: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                with run.told_to:
                    self.chunk(": a comment line first\n\n")
                    for number, data in enumerate(run.told, 1):
                        if number > after:
                            self.chunk(f"id: {number}\ndata: {data}\n\n")
                    self.play(run)
            except OSError:
                run.gone.set()
                self.close_connection = True

        def play(self, run: ReceivedRun) -> None:
            while run.rest:
                step = run.rest[0]
                if isinstance(step, threading.Event):
                    self.rest(run, step, 20)
                elif isinstance(step, float):
                    self.rest(run, server.closing, step)
                if run.stopped.is_set():
                    run.rest[:] = [{"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}]
                    run.stopped.clear()
                    continue
                del run.rest[0]
                if isinstance(step, dict):
                    self.event(run, {**run.ids, **step} if step["type"] == "RUN_FINISHED" else step)
                elif step == CUT:
                    self.close_connection = True
                    return
                elif step == END:
                    break
            self.wfile.write(b"0\r\n\r\n")

        def rest(self, run: ReceivedRun, until: threading.Event, seconds: float) -> None:
            deadline = time.monotonic() + seconds
            while not until.wait(0.05):
                late = time.monotonic() > deadline
                if late or server.closing.is_set() or run.stopped.is_set():
                    return
                self.chunk(": keep-alive\n\n")

        def event(self, run: ReceivedRun, event: dict[str, Any]) -> None:
            run.told.append(json.dumps(event, ensure_ascii=False))
            self.chunk(f"id: {len(run.told)}\ndata: {run.told[-1]}\n\n")

        def chunk(self, text: str) -> None:
            data = text.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def whole(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            try:
                self.end_headers()
                self.wfile.write(answer.body)
            except OSError:
                # The page was closed or left before it had everything.
                self.close_connection = True

    return Handler
