"""What the scripted server of the page's tests keeps: conversations, documents, facts, ratings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote


@dataclass
class Answer:
    """An HTTP answer with a body."""

    status: int
    body: bytes = b""
    kind: str = "application/json"


def answer(document: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document).encode())


def refused(status: int, message: str, code: str | None = None) -> Answer:
    """The error object of the API."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return answer({"error": error}, status)


class PageRecords:
    """The API's stores, as far as the page sees them."""

    PAGE = 20

    def __init__(self) -> None:
        self.conversations: dict[str, dict[str, Any]] = {}
        self.facts: list[dict[str, Any]] = []
        self.ratings: list[dict[str, Any]] = []
        self.uploads: list[tuple[str, str, bytes]] = []
        self._refusals: list[tuple[str, str, Answer]] = []

    def keep(self, name: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A conversation of the past; the later one is kept, the newer it is."""
        number = 1_700_000_000 + len(self.conversations)
        kept = {
            "id": name,
            "title": messages[0]["text"] if messages else name,
            "created": number,
            "updated": number,
            "turns": 1,
            "messages": list(messages),
            "pause": None,
            "documents": [],
            **more,
        }
        self.conversations[name] = kept
        return kept

    def refuse_next(self, method: str, path: str, status: int, message: str) -> None:
        """The next request of this kind, whose path begins so, is refused."""
        self._refusals.append((method, path, refused(status, message)))

    def reply(self, method: str, path: str, query: dict[str, str], body: bytes) -> Answer | None:
        """The answer to a request of the API, or ``None`` for one that is no record's."""
        for number, (verb, begin, refusal) in enumerate(self._refusals):
            if verb == method and path.startswith(begin):
                del self._refusals[number]
                return refusal
        if path == "/v1/preferences":
            return self._preferences(method, body)
        if path == "/v1/feedback":
            self.ratings.append(json.loads(body))
            return answer(self.ratings[-1], 201)
        if path == "/v1/conversations":
            return self._page(query)
        if path.startswith("/v1/conversations/"):
            name, *rest = (unquote(part) for part in path.split("/")[3:])
            if rest[:1] == ["documents"]:
                return self._documents(method, name, rest[1:], body)
            return self._conversation(method, name, rest, body)
        return None

    def _preferences(self, method: str, body: bytes) -> Answer:
        if method == "DELETE":
            self.facts = []
            return Answer(204)
        if method == "PUT":
            self.facts = json.loads(body)["facts"]
        return answer({"facts": self.facts})

    def _page(self, query: dict[str, str]) -> Answer:
        newest = sorted(self.conversations.values(), key=lambda one: -one["updated"])
        start, size = int(query.get("before", 0)), int(query.get("limit", self.PAGE))
        names = ("id", "title", "created", "updated", "turns")
        data = [{name: one[name] for name in names} for one in newest[start : start + size]]
        following = str(start + size) if len(newest) > start + size else None
        return answer({"object": "list", "data": data, "next": following})

    def _conversation(self, method: str, name: str, rest: list[str], body: bytes) -> Answer:
        kept = self.conversations.get(name)
        if kept is None:
            return refused(404, "the conversation does not exist")
        if method == "DELETE":
            del self.conversations[name]
            return Answer(204)
        if method == "PATCH":
            kept["title"] = json.loads(body)["title"]
        elif rest == ["export"]:
            return answer(kept)
        return answer(kept)

    def _documents(self, method: str, name: str, rest: list[str], body: bytes) -> Answer:
        if method == "DELETE":
            kept = self.conversations[name]
            kept["documents"] = [one for one in kept["documents"] if one["id"] != rest[0]]
            return Answer(204)
        head, _, content = body.partition(b"\r\n\r\n")
        found = re.search(r'name="file"; filename="([^"]*)"', head.decode())
        assert found is not None, head
        content = content.rpartition(b"\r\n--")[0]
        self.uploads.append((name, found[1], content))
        kept = self.conversations.get(name) or self.keep(name, title=found[1])
        document = {"id": f"d{len(self.uploads)}", "name": found[1], "bytes": len(content)}
        kept["documents"].append({**document, "characters": len(content)})
        return answer(kept["documents"][-1], 201)
