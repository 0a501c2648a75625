"""Tenant configuration: one JSON file a tenant, in the shape that operators already know.

An unknown key or a wrong value is refused at load with the path of the key, the reason and what
to write instead. The files name no secret: keys of providers stay in the process settings.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from config.addresses import ServiceUrl
from config.campus import CampusConfig
from config.policy import POLICY
from domain.errors import InvalidConfiguration, NotFound

Locale = Literal["en", "fr", "de"]
TenantId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
SpecialistName = Literal[
    "career_chat",
    "opportunity_search",
    "training_search",
    "talent_search",
    "person_disambiguation",
    "profile_analysis",
    "task_guidance",
    "campus_advisor",
]
SPECIALISTS: tuple[SpecialistName, ...] = get_args(SpecialistName)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class WebSourceConfig(_Strict):
    """One public site: its entry page and the path subtrees that may be read."""

    url: str
    allowed_path_prefixes: tuple[str, ...] = ()


class WebConfig(_Strict):
    """Public web sources. The entry page is depth zero; attempts count, failed ones included."""

    enabled: bool = False
    sources: tuple[WebSourceConfig, ...] = ()
    follow_links: bool = True
    max_depth: int = Field(default=1, ge=0, le=5)
    max_pages_per_source: int = Field(default=3, ge=1, le=50)
    max_pages: int = Field(default=8, ge=1, le=100)
    refresh_interval_seconds: int = Field(default=900, ge=0, le=7 * 24 * 3600)

    @property
    def active_sources(self) -> tuple[WebSourceConfig, ...]:
        return self.sources if self.enabled else ()

    def fingerprint(self) -> str:
        """A short hash of this configuration; part of the page cache's key."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


class KnowledgeBaseConfig(_Strict):
    web: WebConfig = Field(default_factory=WebConfig)


class RagConfig(_Strict):
    enabled: bool = False


class AgentConfig(_Strict):
    """One specialist: whether it may be selected, and which business tools it goes without."""

    active: bool = True
    tool_exclusion: tuple[str, ...] = ()


class ModelsConfig(_Strict):
    """The tenant's two model profiles; ``None`` is the process's default for that profile."""

    mini: str | None = None
    large: str | None = None


class DirectoryConfig(_Strict):
    """The tenant's own service of profiles, objectives and tasks; without one they come from the
    operator's files. ``timeout_seconds`` bounds one call, the policy's limit by default."""

    url: ServiceUrl
    timeout_seconds: float | None = Field(default=None, gt=0, le=POLICY.directory.seconds)


class MemoryConfig(_Strict):
    """Whether durable facts about a user are kept from one conversation to the next."""

    enabled: bool = True


class ChatbotConfig(_Strict):
    rag: RagConfig = Field(default_factory=RagConfig)
    knowledge_base: KnowledgeBaseConfig = Field(default_factory=KnowledgeBaseConfig)
    directory: DirectoryConfig | None = None
    memory: MemoryConfig = Field(default_factory=MemoryConfig)
    campus: CampusConfig | None = None
    agents: dict[SpecialistName, AgentConfig] | None = None
    models: ModelsConfig = Field(default_factory=ModelsConfig)


class TenantConfig(_Strict):
    """Everything that one organisation configures."""

    tenant: TenantId
    name: str = Field(min_length=1, max_length=200)
    locale: Locale = "en"
    chatbot: ChatbotConfig = Field(default_factory=ChatbotConfig)

    @property
    def web(self) -> WebConfig:
        return self.chatbot.knowledge_base.web

    def enabled_specialists(self) -> tuple[SpecialistName, ...]:
        """Without an ``agents`` key all specialists are available; with it only the listed
        ones whose ``active`` is not false (seed "Tenant-dependent availability"). The campus
        advisor belongs to a tenant that configures a campus."""
        agents = self.chatbot.agents
        known = tuple(n for n in SPECIALISTS if n != "campus_advisor" or self.chatbot.campus)
        if agents is None:
            return known
        return tuple(name for name in known if name in agents and agents[name].active)

    def excluded_tools(self, specialist: SpecialistName) -> frozenset[str]:
        agent = (self.chatbot.agents or {}).get(specialist)
        return frozenset(agent.tool_exclusion) if agent else frozenset()


def describe_validation(error: ValidationError, prefix: str = "") -> InvalidConfiguration:
    """The first complaint of pydantic as field, reason and mend."""
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"]) or "(the whole document)"
    if first["type"] == "extra_forbidden":
        mend = "remove the key or correct its spelling"
    elif first["type"] == "missing":
        mend = "add the key"
    else:
        mend = "correct the value"
    return InvalidConfiguration(f"{prefix}{path}", first["msg"], mend)


def load_tenant(path: Path) -> TenantConfig:
    """Read one tenant file.

    Raises:
        InvalidConfiguration: names the file and the path of the key.
    """
    try:
        document = path.read_text(encoding="utf-8")
        json.loads(document)
    except OSError as error:
        raise InvalidConfiguration(
            str(path), error.strerror or "cannot be read", "check the path"
        ) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidConfiguration(
            str(path), f"is not valid JSON ({error})", "correct the file"
        ) from error
    try:
        return TenantConfig.model_validate_json(document)
    except ValidationError as error:
        raise describe_validation(error, f"{path}: ") from error


class TenantDirectory:
    """The tenants of this process, by id."""

    def __init__(self, tenants: dict[str, TenantConfig]) -> None:
        self._tenants = dict(tenants)

    @classmethod
    def load(cls, folder: Path) -> TenantDirectory:
        """Read every ``*.json`` of ``folder``.

        Raises:
            InvalidConfiguration: a missing folder, no file in it, a broken file, a repeated id.
        """
        if not folder.is_dir():
            raise InvalidConfiguration(
                "MANTA_TENANTS", f"{folder} is not a directory", "name a folder of tenant files"
            )
        tenants: dict[str, TenantConfig] = {}
        for path in sorted(folder.glob("*.json")):
            tenant = load_tenant(path)
            if tenant.tenant in tenants:
                raise InvalidConfiguration(
                    f"{path}: tenant", f"{tenant.tenant} is defined twice", "give it another id"
                )
            tenants[tenant.tenant] = tenant
        if not tenants:
            raise InvalidConfiguration(
                "MANTA_TENANTS", f"{folder} holds no tenant file", "add one <tenant>.json"
            )
        return cls(tenants)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._tenants.values())

    def __len__(self) -> int:
        return len(self._tenants)

    def get(self, tenant: str) -> TenantConfig:
        """Raises NotFound when there is no such tenant."""
        try:
            return self._tenants[tenant]
        except KeyError:
            raise NotFound("the tenant") from None
