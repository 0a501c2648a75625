"""The page against the real application: offline model, real stores, the demo organisation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from served import DEMO, Served, served, settings_for
from sites import folder_site

from retrieval.ingest import ingest

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
SECONDS = 60_000


@pytest.fixture(scope="module")
def app(redis_url: str, milvus_uri: str) -> Iterator[Served]:
    with folder_site(DEMO / "site") as address:
        settings = settings_for(
            redis_url=redis_url,
            milvus_uri=milvus_uri,
            connect_to={"handbook.tidewater.example:80": address},
        )
        asyncio.run(ingest(DEMO / "documents", "tidewater", settings, milvus_uri, use_ray=False))
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
    page.get_by_label("Organisation").select_option("blank")
    ask(page, "How many days of annual leave do full-time staff receive?")
    page.get_by_text("no accessible sources").first.wait_for(timeout=SECONDS)
