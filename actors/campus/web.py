"""The university's public pages: the bounded reader, led by how near a link is to the question.

No model chooses links here. Entry pages are read once a turn; then the page whose link promises
most is read, then the most promising of what is known by now, a few a search, none twice in a turn.
What a query found is kept for as long as the tenant lets pages be kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from actors.campus.documents import query_of
from actors.campus.link_proposals import LinkProposals
from actors.campus.offered_tools import WEB
from actors.campus.query_cache import CachedPage, QueryCache
from actors.campus.run import AGENT, About, CampusRun, Delivered, Tell
from actors.evidence import Source
from config.policy import POLICY
from crawler.session import ReadRefused
from crawler.windows import OfferedLink
from domain.errors import MantaError, Unavailable
from domain.events import Activity
from providers.embedding import Embedder

log = logging.getLogger("manta.campus")
KINDS: tuple[About, ...] = ("general", "application", "teaching")
_EXHAUSTED = ("read_limit", "page_limit", "deadline")
_LITERAL = 0.3
"""What the words of a query that stand in a text add to its cosine."""
_RANKED_CHARS = 2_000


class WebSearch:
    """``search_web``; lives with the process.

    Args:
        seconds: how long one search may read; what it has read by then is kept.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: QueryCache,
        proposals: LinkProposals,
        seconds: float = POLICY.campus.search_seconds,
    ) -> None:
        self._embedder = embedder
        self._cache = cache
        self._proposals = proposals
        self._seconds = seconds

    async def search(
        self, run: CampusRun, arguments: dict[str, Any], tell: Tell
    ) -> list[Delivered]:
        """Pages about the query that this turn has not seen, nearest first.

        Raises:
            Unavailable: no page of the tenant could be read.
        """
        query = query_of(arguments)
        about = arguments.get("about")
        run.about = about if about in KINDS else "general"
        run.queries.append(query)
        tell(Activity(code="searching_web", agent=AGENT))
        ranked = await self._cache.read(run.tenant, query)
        if ranked is None:
            complete = await self._explored(run, query)
            if not run.site.pages:
                raise Unavailable("the web pages", "none could be read")
            ranked = await self._ranked(query, list(run.site.pages.values()))
            if complete:
                await self._cache.write(run.tenant, query, ranked[: POLICY.campus.passages])
        else:
            run.site.know(ranked)
        return [_delivered(run, p) for p in run.site.unshown(ranked, POLICY.campus.passages)]

    async def _explored(self, run: CampusRun, query: str) -> bool:
        """Read what promises most, one search of a turn after the other; whether nothing failed on
        the way and nothing ran out."""
        try:
            async with asyncio.timeout(self._seconds), run.site.exploring:
                return await self._explore(run, query)
        except TimeoutError:
            log.warning("web_search_cut", extra=run.about_it())
            return False

    async def _explore(self, run: CampusRun, query: str) -> bool:
        complete = True
        for outcome in await run.session.discover(POLICY.research.entry_seconds):
            if outcome.window is not None:
                run.site.read(outcome.window, entry=True)
            else:
                complete = False
                run.silent.add(f"{WEB}:{outcome.source}")
        proposed = await self._proposals.links(run.tenant, query, run.context.request_id)
        complete = complete and proposed is not None
        for url, label in proposed or ():
            offered = run.session.propose(url, label)
            if offered is not None:
                run.site.offer(url, offered)
        scores: dict[str, float] = {}
        for _ in range(POLICY.campus.pages_per_search):
            address = await self._nearest(query, run.site.unvisited(), scores)
            if address is None:
                break
            link = run.site.unvisited()[address]
            run.site.visiting(address)
            try:
                run.site.read(await run.session.read(link.page_id))
            except ReadRefused as refusal:
                complete = False
                if refusal.reason in _EXHAUSTED:
                    break
            except MantaError as error:
                complete = False
                log.info("page_skipped", extra={**run.about_it(), "code": error.code})
        return complete

    async def _nearest(
        self, query: str, links: dict[str, OfferedLink], scores: dict[str, float]
    ) -> str | None:
        """The address that promises most; ``scores`` keeps what was compared before."""
        new = {address: link for address, link in links.items() if address not in scores}
        if new:
            texts = [f"{k.label} {k.path.replace('/', ' ')} {k.context}" for k in new.values()]
            scores.update(zip(new, await self._scores(query, texts), strict=True))
        return max(links, key=lambda address: scores[address], default=None)

    async def _ranked(self, query: str, pages: Sequence[CachedPage]) -> list[CachedPage]:
        scores = await self._scores(query, [f"{p.title}\n{p.text[:_RANKED_CHARS]}" for p in pages])
        return [pages[i] for i in sorted(range(len(pages)), key=lambda index: -scores[index])]

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How near each text is to the query: by meaning, where that can be told, and by words."""
        asked = {word for word in query.casefold().split() if len(word) > 3}
        literal = [
            sum(word in text.casefold() for word in asked) / max(1, len(asked)) for text in texts
        ]
        try:
            vectors = np.asarray(await self._embedder.embed([query, *texts]), dtype=np.float64)
        except MantaError as error:
            log.warning("links_not_embedded", extra={"code": error.code})
            return literal
        return [
            float(cosine) + _LITERAL * share
            for cosine, share in zip(vectors[1:] @ vectors[0], literal, strict=True)
        ]


def _delivered(run: CampusRun, page: CachedPage) -> Delivered:
    source = Source(kind="web", title=page.title, url=page.url)
    source_id = run.evidence.deliver(page.url, source, page.text)
    return Delivered(source_id, page.title, page.text)
