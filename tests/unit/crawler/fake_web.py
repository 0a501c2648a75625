"""A fake web of pages, failures and silence, and sessions that browse it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from config.policy import POLICY
from config.tenants import WebConfig, WebSourceConfig
from crawler.extract import ExtractedPage, Heading, Link
from crawler.pages import FetchedPage, PageRequest
from crawler.session import BrowsingSession
from crawler.windows import OfferedLink, PageWindow, ReadRefused

A = "https://a.example/docs/"
B = "https://b.example/docs/"


class Web:
    """A fake web: pages by URL, failures, and pages that never answer."""

    def __init__(self) -> None:
        self.pages: dict[str, ExtractedPage] = {}
        self.failures: dict[str, Exception] = {}
        self.stuck: set[str] = set()
        self.moved: dict[str, str] = {}
        self.requests: list[PageRequest] = []
        self.cancelled = 0
        self.drained = 0
        self.active = 0
        self.most_active = 0

    def add(self, url: str, *links: str, text: str = "", headings: tuple[str, ...] = ()) -> None:
        found = []
        body = text or f"Text of {url}."
        for number, title in enumerate(headings, 1):
            body += f"\n\n{title}"
            found.append(
                Heading(
                    title=title,
                    level=2,
                    offset=len(body) - len(title),
                    ids=(title.lower(),),
                    section_id=f"s{number}",
                )
            )
        self.pages[url] = ExtractedPage(
            title="Title",
            text=body,
            headings=tuple(found),
            links=tuple(
                Link(
                    label=f"To {n}",
                    url=link.split("#")[0],
                    context="",
                    fragment=link.partition("#")[2],
                )
                for n, link in enumerate(links)
            ),
            truncated=False,
            language="en",
        )

    async def fetch(self, request: PageRequest) -> FetchedPage:
        self.requests.append(request)
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        try:
            await asyncio.sleep(0)
            if request.url in self.stuck:
                await asyncio.sleep(60)
            if request.url in self.failures:
                raise self.failures[request.url]
            url = self.moved.get(request.url, request.url)
            return FetchedPage(
                requested_url=request.url,
                url=url,
                secure=url.startswith("https"),
                page=self.pages[url],
            )
        except asyncio.CancelledError:
            self.cancelled += 1
            await asyncio.sleep(0.02)
            self.drained += 1
            raise
        finally:
            self.active -= 1


def session(
    web: Web,
    *seeds: str,
    clock: Callable[[], float] | None = None,
    reads: int = 4,
    **config: object,
) -> BrowsingSession:
    sources = tuple(WebSourceConfig(url=seed) for seed in seeds or (A,))
    limits = replace(POLICY, research=replace(POLICY.research, reads=reads))
    given = {"clock": clock} if clock else {}
    return BrowsingSession(
        WebConfig(enabled=True, sources=sources, **config),  # type: ignore[arg-type]
        web.fetch,
        limits=limits,
        request_id="request-7",
        **given,  # type: ignore[arg-type]
    )


async def entry(browsing: BrowsingSession) -> PageWindow:
    outcomes = await browsing.discover(18)
    assert outcomes[0].window is not None
    return outcomes[0].window


async def links(browsing: BrowsingSession) -> tuple[OfferedLink, ...]:
    return (await entry(browsing)).links


async def refused(browsing: BrowsingSession, page_id: str, **how: object) -> str:
    with pytest.raises(ReadRefused) as refusal:
        await browsing.read(page_id, **how)  # type: ignore[arg-type]
    return refusal.value.reason
