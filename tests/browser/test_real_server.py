"""The page against the real application: offline model, real stores, the demo organisation."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import DEMO, Served, served, settings_for
from sites import folder_site

from domain.records import RECORD_KINDS
from retrieval.ingest import ingest
from retrieval.records.loading import load_records

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
SECONDS = 60_000
CAPABILITIES = [
    ("answered", "knowledge", "document"),
    ("answered", "knowledge", "web"),
    ("miss", "career_chat", None),
    ("replied", "task_guidance", None),
    ("replied", "task_guidance", None),
    ("replied", "talent_search", None),
    ("paused", "person_disambiguation", None),
    ("replied", "opportunity_search", None),
    ("replied", "training_search", None),
    ("paused", "profile_analysis", None),
    ("replied", "profile_analysis", None),
    ("replied", "profile_analysis", None),
    ("replied", "career_chat", None),
]
"""What each of the demo's examples shows, in their order."""


@pytest.fixture(scope="module")
def app(redis_url: str, milvus_uri: str) -> Iterator[Served]:
    with folder_site(DEMO / "site") as address:
        settings = settings_for(
            redis_url=redis_url,
            milvus_uri=milvus_uri,
            connect_to={"handbook.tidewater.example:80": address},
        )
        asyncio.run(ingest(DEMO / "documents", "tidewater", settings, milvus_uri, use_ray=False))
        for kind in RECORD_KINDS:
            file = DEMO / "records" / f"{kind}.jsonl"
            asyncio.run(load_records(file, kind, "tidewater", settings, milvus_uri))
        with served(settings) as running:
            yield running


def test_a_company_question_is_answered_with_a_link_to_the_quoted_words(
    app: Served, open_page: Any, ask: Any
) -> None:
    page = open_page(app.url)
    ask(page, "How many days of annual leave do full-time staff receive?")
    page.get_by_role("status").first.wait_for(timeout=5_000)
    page.get_by_text("27 days of annual leave").first.wait_for(timeout=SECONDS)
    link = page.locator("a[href*='leave.html#:~:text=']").first
    link.wait_for()
    assert link.get_attribute("target") == "_blank"


def test_a_document_s_passage_opens_in_the_panel(app: Served, open_page: Any, ask: Any) -> None:
    page = open_page(app.url)
    ask(page, "How full does the battery have to be when I hand an electric car back?")
    source = page.locator("button.source-way").first
    source.wait_for(timeout=SECONDS)
    source.click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    assert "40 per cent" in dialog.locator("mark").inner_text()


def test_a_miss_is_visible_and_has_no_source(app: Served, open_page: Any, ask: Any) -> None:
    page = open_page(app.url)
    ask(page, "Gibt es einen Zuschuss zum Fitnessstudio?")
    page.locator(".banner.miss").first.wait_for(timeout=SECONDS)
    assert page.locator("button.source-way, a[href*='#:~:text=']").count() == 0


def test_the_conversation_goes_on_and_another_organisation_knows_nothing(
    app: Served, open_page: Any, ask: Any
) -> None:
    page = open_page(app.url)
    ask(page, "What are my tasks?")
    page.get_by_text("Monthly quay inspection").first.wait_for(timeout=SECONDS)
    page.locator("#organisation").select_option("blank")
    ask(page, "How many days of annual leave do full-time staff receive?")
    page.get_by_text("no accessible sources").first.wait_for(timeout=SECONDS)


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_each_example_shows_its_capability_without_a_key(app: Served, language: str) -> None:
    groups = json.loads((DEMO / "examples.json").read_text(encoding="utf-8"))["tidewater"][language]
    prompts = [prompt for group in groups for prompt in group["prompts"]]
    assert len(prompts) == len(CAPABILITIES)
    shown = [reply(app, prompt) for prompt in prompts]
    assert [capability(one) for one in shown] == CAPABILITIES
    steps = shown[4]["text"].splitlines()
    assert len([line for line in steps if line[:2] in {"1.", "2.", "3."}]) == 3, "one task's steps"
    assert shown[3]["text"] != shown[4]["text"]
    facts = httpx.get(f"{app.url}/v1/preferences").json()["facts"]
    assert any(word in facts[-1]["text"] for word in ("part-time", "temps partiel", "Teilzeit"))


def capability(reply: dict[str, Any]) -> tuple[str, str, str | None]:
    kinds = {citation["kind"] for citation in reply["citations"]}
    assert len(kinds) < 2
    return reply["status"], reply["agent"], next(iter(kinds), None)


def reply(app: Served, text: str) -> dict[str, Any]:
    body = {
        "threadId": f"example-{time.monotonic_ns()}",
        "runId": f"run-{time.monotonic_ns()}",
        "protocolVersion": "1.0",
        "messages": [{"id": "1", "role": "user", "content": text}],
    }
    with httpx.stream("POST", f"{app.url}/v1/runs", json=body, timeout=60) as got:
        lines = [json.loads(line[6:]) for line in got.iter_lines() if line.startswith("data: ")]
    found: dict[str, Any] = lines[-1]["result"]
    return found


def test_an_example_leads_to_a_choice_and_the_conversation_survives_a_reload(
    app: Served, open_page: Any
) -> None:
    page = open_page(app.url, locale="de-DE")
    page.locator(".example").first.wait_for()
    assert page.locator(".example").count() == len(CAPABILITIES)
    assert page.locator(".example-group").count() == 4
    page.locator(".example").get_by_text("Wer ist Jan Kröger?").click()
    page.get_by_label("Fährkapitän").check(timeout=SECONDS)
    page.get_by_role("button", name="Antworten").click()
    page.locator(".text").wait_for(timeout=SECONDS)
    told = page.locator(".text").inner_text()
    assert "Jan Kröger" in told
    page.reload()
    page.locator(".text").last.wait_for()
    assert page.locator(".text").last.inner_text() == told


def test_a_document_is_added_and_another_kind_is_refused(
    app: Served, open_page: Any, tmp_path: Path
) -> None:
    page = open_page(app.url)
    page.set_input_files("#attach-file", DEMO / "documents" / "en" / "travel-rates.pdf")
    page.get_by_role("button", name="Remove travel-rates.pdf").wait_for(timeout=SECONDS)
    large = tmp_path / "large.txt"
    large.write_bytes(b"word " * 3_000_000)
    page.set_input_files("#attach-file", large)
    page.locator(".chip.refused").get_by_text("is larger than").wait_for(timeout=SECONDS)
    page.reload()
    page.get_by_role("button", name="Remove travel-rates.pdf").wait_for()
    assert page.locator(".chip").count() == 1
