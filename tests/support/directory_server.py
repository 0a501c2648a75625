"""A tenant's own directory on loopback: the REST contract of the runbook, under a test's control.

It knows users by their tokens and remembers every request; ``answer`` replaces its replies.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class DirectoryState:
    """``users`` maps a token to what that user has; ``answer`` is (status, headers, body)."""

    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    plans: dict[tuple[str, str], Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    answer: tuple[int, dict[str, str], bytes] | None = None
    delay: float = 0.0
    trickle: float = 0.0
    """Seconds between single bytes of a body."""


@contextmanager
def directory_server() -> Iterator[tuple[DirectoryState, str]]:
    """Serve; yields the state and the URL that a tenant would configure."""
    state = DirectoryState()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply()

        def do_POST(self) -> None:
            self._reply()

        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            path = self.path.removeprefix("/api")
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.asked.append(Asked(self.command, path, headers, body))
            time.sleep(state.delay)
            status, sent, content = state.answer or _answer(state, state.asked[-1])
            try:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **sent}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if not state.trickle:
                    self.wfile.write(content)
                    return
                for byte in content:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(state.trickle)
            except OSError:
                # The reader gave up; the test looks at what it was told.
                return

        def log_message(self, format: str, *args: Any) -> None:
            """Test output stays readable."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state, f"http://127.0.0.1:{server.server_port}/api"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(state: DirectoryState, asked: Asked) -> tuple[int, dict[str, str], bytes]:
    token = asked.headers.get("authorization", "").removeprefix("Bearer ")
    user = state.users.get(token)
    if user is None:
        return 401, {}, b'{"detail": "who are you?"}'
    parts = asked.path.strip("/").split("/")
    if asked.method == "POST" and parts == ["learning-plans"]:
        key = (token, asked.headers["idempotency-key"])
        is_new = key not in state.plans
        plan = state.plans.setdefault(key, json.loads(asked.body))
        return (201 if is_new else 200), {}, json.dumps(plan).encode()
    if len(parts) == 2 and parts[0] == "tasks":
        found = [task for task in user.get("tasks", []) if task["id"] == parts[1]]
        return (200, {}, json.dumps(found[0]).encode()) if found else (404, {}, b"{}")
    if asked.path == "/profile":
        found = user.get("profile")
        return (200, {}, json.dumps(found).encode()) if found else (404, {}, b"{}")
    if asked.path in ("/tasks", "/objectives"):
        return 200, {}, json.dumps(user.get(parts[0], [])).encode()
    return 404, {}, b"{}"
