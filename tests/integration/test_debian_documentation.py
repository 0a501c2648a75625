"""Real documentation, whole turns: one handbook as documents, another as a web site.

The developer's reference is indexed as documents; the Debian FAQ is served on loopback and crawled
under its public-looking name through the operator's ``connect_to`` map. The offline model answers,
so every answer is a quotation that can be checked against its source letter by letter.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import Served, served, settings_for
from services import require
from sites import folder_site

from crawler.extract import extract
from retrieval.documents import read_document
from retrieval.ingest import ingest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

REFERENCE = Path("/usr/share/developers-reference")
FAQ = Path("/usr/share/doc/debian/FAQ")
HOST = "docs.debian.example"


@dataclass(frozen=True)
class Question:
    """``where`` matches the cited page's URL or the cited document's heading."""

    language: str
    text: str
    where: str = ""
    says: str = ""


ANSWERED = (
    Question("en", "How is Debian pronounced?", "basic-defs", "Deb'-ee-en"),
    Question("en", "What is a virtual package?", "pkg-basics", "generic name"),
    Question("en", "Where does the name sid come from?", "ftparchives", "Toy Story"),
    Question("en", "How do I put a package on hold?", "pkg-basics", "holding back packages"),
    Question("en", "Where can I report a bug in Debian?", "support|Bug reporting", "bug"),
    Question("en", "What should I do to orphan a package?", "Orphaning a package", "no longer"),
    Question("en", "How do I announce that I am on vacation?", "vacation", "on vacation"),
    Question("fr", "Qu'est-ce qu'un paquet virtuel ?", "pkg-basics.fr", "nom générique"),
    Question(
        "fr", "Comment signaler un bogue dans Debian ?", "support.fr|Signalement de bogues", "bogue"
    ),
    Question("de", "Wie melde ich einen Fehler in Debian?", "Fehler berichten", "Fehlerberichte"),
    Question("de", "Woher kommt der Name sid?", "ftparchives.de", "Toy Story"),
)
MISSED = (
    Question("en", "How much does the cafeteria charge for a vegetarian lunch?"),
    Question("en", "Which bus line stops in front of the office in Lisbon?"),
    Question("fr", "Quel est le montant de la prime de Noël des salariés ?"),
    Question("fr", "Combien de jours de congé ont les employés ?"),
    Question("de", "Wie hoch ist der Zuschuss zum Fitnessstudio?"),
    Question("de", "Wann öffnet die Kantine?"),
)


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tenants")
    entries = ("index.en.html", "fr/index.fr.html", "de/index.de.html")
    sources = [
        {"url": f"http://{HOST}/FAQ/{entry}", "allowed_path_prefixes": ["/FAQ"]}
        for entry in entries
    ]
    web = {"enabled": True, "sources": sources, "max_pages_per_source": 4, "max_pages": 9}
    chatbot = {"rag": {"enabled": True}, "knowledge_base": {"web": web}}
    debian = {"tenant": "debian", "name": "Debian", "chatbot": chatbot}
    (folder / "debian.json").write_text(json.dumps(debian))
    return folder


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chapters in three languages, without the edition that is one page."""
    require(REFERENCE / "fr", "developers-reference developers-reference-fr")
    require(REFERENCE / "de", "developers-reference-de")
    folder: Path = tmp_path_factory.mktemp("reference")
    unwanted = {"developers-reference.html", "genindex.html", "search.html", "index.html"}
    for page in sorted(REFERENCE.rglob("*.html")):
        if page.name not in unwanted and "_static" not in page.parts:
            target = folder / page.relative_to(REFERENCE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)
    return folder


@pytest.fixture(scope="module")
def app(tenants: Path, reference: Path, redis_url: str, milvus_uri: str) -> Iterator[Served]:
    require(FAQ / "index.en.html", "debian-faq")
    require(FAQ / "fr" / "index.fr.html", "debian-faq-fr")
    require(FAQ / "de" / "index.de.html", "debian-faq-de")
    with folder_site(FAQ.parent) as address:
        settings = settings_for(
            tenants=tenants,
            default_tenant="debian",
            redis_url=redis_url,
            milvus_uri=milvus_uri,
            connect_to={f"{HOST}:80": address},
            directory=None,
            examples=None,
        )
        summary = asyncio.run(ingest(reference, "debian", settings, milvus_uri, use_ray=False))
        assert summary.failed == []
        assert summary.chunks > 300
        with served(settings) as running:
            yield running


def ask(app: Served, question: Question) -> dict[str, Any]:
    body = {
        "model": "manta",
        "messages": [{"role": "user", "content": question.text}],
    }
    reply = httpx.post(f"{app.url}/v1/chat/completions", json=body, timeout=120)
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def source_text(reference: Path, citation: dict[str, Any]) -> str:
    """The whole text that the cited source has, read again from the installed files."""
    if citation["kind"] == "web":
        path = FAQ.parent / citation["url"].split(HOST + "/", 1)[1].split("#")[0]
        return extract(path.read_bytes(), "text/html", citation["url"]).text
    pages = [read_document(page) for page in sorted(reference.rglob("*.html"))]
    return "\n".join(page.text for page in pages if page.title == citation["title"])


@pytest.mark.parametrize("question", ANSWERED, ids=lambda q: f"{q.language} {q.text[:40]}")
def test_an_answer_cites_the_right_page_verbatim(
    app: Served, reference: Path, question: Question
) -> None:
    answer = ask(app, question)
    manta = answer["manta"]
    assert manta["status"] == "answered"
    assert manta["locale"] == question.language
    places = [f"{c['url']} {c['title']} {c['heading']}" for c in manta["citations"]]
    assert any(re.search(question.where, place) for place in places), places
    quotes = " ".join(c["quote"] for c in manta["citations"])
    assert question.says.lower() in quotes.lower()
    for citation in manta["citations"]:
        assert folded(citation["quote"]) in folded(source_text(reference, citation))


@pytest.mark.parametrize("question", MISSED, ids=lambda q: f"{q.language} {q.text[:40]}")
def test_an_absence_is_a_miss_without_references(app: Served, question: Question) -> None:
    manta = ask(app, question)["manta"]
    assert manta["status"] == "miss"
    assert manta["citations"] == []
    assert manta["spent"]["page_attempts"] >= 1, "it has searched"


def test_indexing_again_writes_nothing(app: Served, reference: Path, milvus_uri: str) -> None:
    summary = asyncio.run(ingest(reference, "debian", app.settings, milvus_uri, use_ray=False))
    assert not summary.wrote
