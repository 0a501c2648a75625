"""What is asked of the fetcher, and what comes back. Values only; they travel between actors."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from crawler.extract import ExtractedPage
from crawler.scope import WebSource


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class PageValidators(_Frozen):
    """What a server gave to ask later whether a page changed.

    ``url`` is the canonical URL that gave them: after a redirect they belong to the target, and
    are sent to no other page.
    """

    etag: str | None = None
    last_modified: str | None = None
    url: str | None = None

    def __bool__(self) -> bool:
        return self.etag is not None or self.last_modified is not None


class PageRequest(_Frozen):
    """One page to fetch.

    ``url`` is canonical and admitted; ``secure`` says that https was already used for this host
    in the run; ``validators`` make the request conditional.
    """

    source: WebSource
    url: str
    secure: bool = False
    validators: PageValidators | None = None


class FetchedPage(_Frozen):
    """A page, or the word that it did not change (``not_modified``, then ``page`` is ``None``).

    ``requested_url`` is what was asked for, ``url`` the canonical URL that answered, ``secure``
    whether https was used for it.
    """

    requested_url: str
    url: str
    secure: bool
    not_modified: bool = False
    page: ExtractedPage | None = None
    validators: PageValidators = PageValidators()

    def renewing(self, stale: FetchedPage) -> FetchedPage:
        """A 304's answer with the content of ``stale``: the page that is cached again."""
        return self.model_copy(update={"not_modified": False, "page": stale.page})
