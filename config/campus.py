"""What a university configures for its assistant: ``chatbot.campus`` of a tenant file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from config.addresses import ServiceUrl, TemplateUrl
from config.policy import POLICY

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
SettingName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,40}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class GradingConfig(_Strict):
    """The cosine from which tool output is relevant, and up to which it is not; between the two a
    model grades."""

    high: float = Field(default=0.62, ge=0, le=1)
    low: float = Field(default=0.18, ge=0, le=1)

    @model_validator(mode="after")
    def _ordered(self) -> GradingConfig:
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self


class SubagentConfig(_Strict):
    """An MCP server that the ``task`` tool may ask, with the instructions for asking it.

    ``token_setting`` names an entry of ``MANTA_SERVICE_KEYS``, so that no secret stands here.
    """

    name: Name
    description: str = Field(min_length=1, max_length=500)
    url: ServiceUrl
    prompt: str = Field(min_length=1, max_length=4_000)
    recursion_limit: int = Field(default=4, ge=1, le=12)
    timeout_seconds: float = Field(default=20.0, gt=0, le=POLICY.campus.tool_seconds)
    enabled: bool = True
    check_at_start: bool = False
    token_setting: SettingName | None = None


class SearchEndpointConfig(_Strict):
    """A search of the site, or a programmable search engine, that proposes links.

    ``url`` is a template with ``{query}`` and, where one is needed, ``{key}``; ``links`` is the
    path of the absolute links in its JSON answer, ``*`` standing for every entry of a list:
    ``items.*.link``.
    ``key_setting`` names an entry of ``MANTA_SERVICE_KEYS``.
    """

    url: TemplateUrl
    links: str = Field(pattern=r"^[A-Za-z0-9_*-]+(\.[A-Za-z0-9_*-]+)*$", max_length=200)
    key_setting: SettingName | None = None
    timeout_seconds: float = Field(default=5.0, gt=0, le=20)

    @model_validator(mode="after")
    def _complete(self) -> SearchEndpointConfig:
        if "{query}" not in self.url:
            raise ValueError("the url holds no {query}")
        if ("{key}" in self.url) != (self.key_setting is not None):
            raise ValueError("{key} in the url and key_setting belong together")
        return self


class CampusConfig(_Strict):
    """The campus advisor of a tenant.

    ``programmes`` are the study programmes that documents may be filtered by: the names of the
    folders that hold their documents. ``faq`` and ``troubleshooting`` say whether those collections
    of documents are searched (``manta index FOLDER --collection faq``).
    """

    programmes: tuple[Annotated[str, StringConstraints(min_length=1, max_length=80)], ...] = ()
    history_messages: int = Field(default=POLICY.campus.history_messages, ge=1, le=50)
    faq: bool = False
    troubleshooting: bool = False
    grading: GradingConfig = Field(default_factory=GradingConfig)
    condensed_above_tokens: int = Field(default=POLICY.campus.condensed_tokens, ge=500, le=60_000)
    recursion_limit: int = Field(default=POLICY.campus.recursion, ge=4, le=24)
    subagents: tuple[SubagentConfig, ...] = ()
    search_endpoint: SearchEndpointConfig | None = None

    @model_validator(mode="after")
    def _named_once(self) -> CampusConfig:
        names = [one.name for one in self.subagents]
        if len(set(names)) != len(names):
            raise ValueError("two subagents have the same name")
        return self

    @property
    def active_subagents(self) -> tuple[SubagentConfig, ...]:
        return tuple(one for one in self.subagents if one.enabled)
