"""The handed-over URL and address cases, one test each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crawler.addresses import is_public
from crawler.scope import Scope, WebSource, admit_link, admit_redirect, admit_source
from domain.errors import PageRejected

CASES = Path(__file__).resolve().parents[3].parent / "shared" / "cases"


def _load(name: str) -> list[dict[str, Any]]:
    path = CASES / name
    assert path.is_file(), f"the case file {path.name} has to lie in ../shared/cases"
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return cases


def _resolves_publicly(url: str, dns: dict[str, list[str]]) -> None:
    """What the connection does at its first step, with the case's own answers."""
    host = url.split("/")[2]
    answers = dns.get(host, ["93.184.216.34"])
    if not answers:
        raise PageRejected("dns_error")
    if not all(is_public(answer) for answer in answers):
        raise PageRejected("non_public_address")


def _admit(case: dict[str, Any]) -> str:
    source = WebSource(case["seed"], tuple(case.get("prefixes") or ()))
    if case["kind"] == "source":
        url = admit_source(source)
    elif case["kind"] == "link":
        page = case.get("base") or admit_source(source)
        url = admit_link(source, page, case["candidate"], case.get("base_href"))
    else:
        page = case.get("base") or admit_source(source)
        url = admit_redirect(source, page, case["candidate"])
    _resolves_publicly(url, case.get("dns") or {})
    return url


URL_CASES = _load("url_cases.json")
ADDRESS_CASES = _load("address_cases.json")


@pytest.mark.parametrize("case", URL_CASES, ids=[case["id"] for case in URL_CASES])
def test_url_case(case: dict[str, Any]) -> None:
    if case["expect"] == "allow":
        url = _admit(case)
        assert url in [case["resolved"], *case.get("also_resolved", [])]
        # The canonical URL is the only text that is dialled, and it admits to itself.
        source = WebSource(case["seed"], tuple(case.get("prefixes") or ()))
        assert Scope(source).admit_link(url, url) == url
        return
    with pytest.raises(PageRejected) as refusal:
        _admit(case)
    code = refusal.value.fields["code"]
    accepted = [case["code"], *case.get("also_ok", [])]
    if case["code"] is None:
        assert code == "out_of_scope"
    else:
        assert code in accepted or (None in accepted and code == "out_of_scope")


@pytest.mark.parametrize(
    "case",
    ADDRESS_CASES,
    ids=[f"{n:03d}-{case['address']!r}" for n, case in enumerate(ADDRESS_CASES)],
)
def test_address_case(case: dict[str, Any]) -> None:
    assert is_public(case["address"]) is case["public"]
