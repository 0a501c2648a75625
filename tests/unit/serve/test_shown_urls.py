"""Citations link to where people can open a page."""

from __future__ import annotations

from domain.answers import Citation, Reply
from serve.gateway import shown


def reply_citing(url: str | None) -> Reply:
    cited = Citation(number=1, kind="web" if url else "document", title="T", quote="q", url=url)
    return Reply(status="answered", agent="knowledge", text="t", citations=(cited,))


def test_the_beginning_of_a_url_is_replaced_and_the_rest_stays() -> None:
    urls = {"http://inner.example/docs/": "https://intranet.example/d/"}
    changed = shown(reply_citing("http://inner.example/docs/a/b.html"), urls)
    assert changed.citations[0].url == "https://intranet.example/d/a/b.html"


def test_other_urls_and_documents_stay_as_they_are() -> None:
    urls = {"http://inner.example/docs/": "https://intranet.example/d/"}
    for url in ("http://inner.example/other/", "https://inner.example/docs/", None):
        assert shown(reply_citing(url), urls) == reply_citing(url)
