"""The demo university: its pages, documents and cases agree with each other in both languages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import pytest

from config.tenants import TenantConfig, load_tenant
from crawler.extract import ExtractedPage, extract
from crawler.limits import PARSE
from crawler.scope import WebSource, admit_link, admit_source
from domain.errors import PageRejected
from retrieval.documents import read_document
from serve.demo import FOLDER, REGULATIONS, SITES, UNIVERSITY, UNIVERSITY_FOLDER, UNIVERSITY_SITE
from serve.demo_regulations import Regulations

SITE = SITES[UNIVERSITY_SITE]
ROOT = f"http://{UNIVERSITY_SITE}/"
CASES = [
    json.loads(line)
    for line in (UNIVERSITY_FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines()
]
ANSWERABLE = [case for case in CASES if case["kind"] == "answerable"]
LANGUAGES = ("de", "en")


@pytest.fixture(scope="module")
def tenant() -> TenantConfig:
    return load_tenant(FOLDER / "tenants" / f"{UNIVERSITY}.json")


def page(url: str) -> ExtractedPage:
    path = SITE / urldefrag(url).url.partition("?")[0].removeprefix(ROOT)
    path = path / "index.html" if path.is_dir() else path
    return extract(path.read_bytes(), "text/html; charset=utf-8", url, limits=PARSE)


def pages(language: str) -> list[Path]:
    return sorted((SITE / language).glob("*.html"))


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_tenant_is_a_campus_with_one_specialist(tenant: TenantConfig) -> None:
    campus = tenant.chatbot.campus
    assert campus is not None
    assert tenant.enabled_specialists() == ("campus_advisor",)
    assert (tenant.locale, campus.faq, campus.troubleshooting) == ("de", True, True)
    [subagent] = campus.active_subagents
    assert subagent.url == f"http://{REGULATIONS}/mcp"
    assert subagent.check_at_start


def test_a_programme_is_a_folder_of_documents(tenant: TenantConfig) -> None:
    assert tenant.chatbot.campus is not None
    folders = {path.name for path in (UNIVERSITY_FOLDER / "documents").iterdir()}
    assert folders == {*tenant.chatbot.campus.programmes, "general"}


def test_every_page_is_within_two_links_of_its_language_s_start(tenant: TenantConfig) -> None:
    assert len(pages("de")) == len(pages("en")) == 20
    for source in tenant.web.active_sources:
        scope = WebSource(source.url, source.allowed_path_prefixes)
        start = admit_source(scope)
        reached, rim = {start}, {start}
        for _ in range(tenant.web.max_depth):
            rim = {link.url for url in rim for link in page(url).links if inside(scope, link.url)}
            reached |= rim
        found = {url.removeprefix(start) or "index.html" for url in reached}
        language = start.removeprefix(ROOT).strip("/")
        assert found == {path.name for path in pages(language)}


def inside(scope: WebSource, url: str) -> bool:
    """The other language is a source of its own."""
    try:
        admit_link(scope, scope.url, url)
    except PageRejected:
        return False
    return True


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_link_leads_to_a_page(language: str) -> None:
    for path in (SITE / language).rglob("*.html"):
        html = path.read_text(encoding="utf-8")
        for href in re.findall(r'href="([^"#]+)', html):
            assert (path.parent / href).exists(), (path.name, href)


def test_both_languages_say_the_same_numbers() -> None:
    """Hours are written differently; every date, amount and limit above 31 is not."""
    for german in pages("de"):
        html = german.read_text(encoding="utf-8")
        [english] = re.findall(r'href="\.\./en/([\w-]+\.html)"', html)
        other = page(f"{ROOT}en/{english}")
        assert numbers(page(f"{ROOT}de/{german.name}").text) == numbers(other.text), german.name


def numbers(text: str) -> set[int]:
    joined = re.sub(r"(?<=\d)[.,](?=\d)", "", text)
    return {int(number) for number in re.findall(r"\d+", joined) if int(number) > 31}


def test_the_cases_are_thirty_with_an_answer_and_eight_without() -> None:
    assert (len(ANSWERABLE), len(CASES)) == (30, 38)
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert {case["language"] for case in CASES} == set(LANGUAGES)
    assert all(case["tenant"] == UNIVERSITY for case in CASES)


@pytest.mark.parametrize("case", ANSWERABLE, ids=lambda case: case["id"])
def test_the_source_of_a_case_says_what_it_expects(case: dict[str, Any]) -> None:
    [source], [quote] = case["sources"], case["quotes"]
    assert quote in squeezed(said(source))


def said(source: str) -> str:
    if source.startswith("http://"):
        return page(source).text
    file, _, paragraph = source.partition("#")
    if paragraph:
        known = Regulations.load(FOLDER / file)
        [one] = [each for each in known.paragraphs if each.id == paragraph]
        return one.text
    return read_document(FOLDER / file).text


def test_an_archived_deadline_is_on_the_archived_page_only() -> None:
    for language, name, words in (
        ("de", "fristen-2026.html", "20. Juli 2026"),
        ("en", "deadlines-2026.html", "20 July 2026"),
    ):
        holding = [p.name for p in pages(language) if words in p.read_text(encoding="utf-8")]
        assert holding == [name]


def test_the_regulations_are_thirty_paragraphs_whose_links_open() -> None:
    paragraphs = Regulations.load().paragraphs
    assert len(paragraphs) == 30
    assert len({each.id for each in paragraphs}) == 30
    assert {each.language for each in paragraphs} == set(LANGUAGES)
    assert len({each.programme for each in paragraphs}) == 4
    for each in paragraphs:
        url, fragment = urldefrag(urljoin(ROOT, each.url))
        path = SITE / url.partition("?")[0].removeprefix(ROOT)
        html = path.read_text(encoding="utf-8")
        assert f'id="{fragment}"' in html
        assert each.text in squeezed(html)
        assert f"token=secret-{each.id}" in url


def test_a_document_with_pages_says_them() -> None:
    for name in ("Meereswissenschaften/module-handbook.pdf", "Lehramt/leitfaden-praxisphase.pdf"):
        document = read_document(UNIVERSITY_FOLDER / "documents" / name)
        assert len(document.pages) >= 2
        assert len(document.headings) >= 4


def test_the_faq_is_one_question_a_file() -> None:
    files = sorted((UNIVERSITY_FOLDER / "faq").glob("*.md"))
    documents = [read_document(path) for path in files]
    asked = [document for document in documents if "?" in document.title]
    assert [d.language for d in asked].count("de") == 20
    assert [d.language for d in asked].count("en") == 10
    assert len(files) == 30
