"""Process settings, read from the environment once at start.

Variables carry the prefix ``MANTA_``, but for the names that other software already uses
(``REDIS_URL``, ``MILVUS_URI``, ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from config.auth import MODES, AuthSettings, NoAuth
from config.tenants import describe_validation
from domain.errors import InvalidConfiguration

Placement = Literal["per_role", "compact"]


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    cached: float = Field(ge=0)
    output: float = Field(ge=0)


def _endpoint(value: object) -> object:
    """``host:port`` to ``host:port`` with a checked port, so that a typo is found at start."""
    if not isinstance(value, str):
        return value
    host, separator, port = value.rpartition(":")
    if (
        not separator
        or not host
        or not port.isascii()
        or not port.isdecimal()
        or not 0 < int(port) < 65_536
    ):
        raise ValueError("write address:port, for example 127.0.0.1:8090")
    return value


Endpoint = Annotated[str, BeforeValidator(_endpoint)]


class Settings(BaseSettings):
    """What the operator decides for one process.

    ``service_keys`` holds the keys of the services that tenants name, by the names that they use.
    ``connect_to`` maps ``host:port`` of a configured site to ``address:port`` that is dialled
    instead; it is the operator's own decision and therefore exempt from the public-address rule.
    ``shown_urls`` maps the beginning of a source's URL to what people open instead, for a site that
    Manta reads under another name than they do. ``metrics_token`` is the bearer token of
    ``/metrics`` where requests are authenticated. A conversation that was not updated for
    ``retention_days`` is deleted, ``None`` keeps all; of a kept one the last ``checkpoints_kept``
    checkpoints stay. A run whose clients have all gone away is cancelled after
    ``disconnect_grace_seconds``, an OpenAI client's turn after ``disconnect_grace_openai_seconds``.
    """

    model_config = SettingsConfigDict(
        env_prefix="MANTA_", extra="ignore", frozen=True, populate_by_name=True
    )

    data: Path = Path(".manta")
    tenants: Path = Path("tenants")
    default_tenant: str | None = None
    default_user: str = "local"
    directory: Path | None = None
    examples: Path | None = None

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=1, le=65_535)
    auth: AuthSettings = Field(default_factory=NoAuth)
    metrics_token: SecretStr | None = None

    retention_days: float | None = Field(default=None, gt=0)
    checkpoints_kept: int = Field(default=2, ge=1)

    disconnect_grace_seconds: float = Field(default=30.0, ge=0)
    disconnect_grace_openai_seconds: float = Field(default=0.0, ge=0)

    redis_url: str | None = Field(
        default=None, validation_alias=AliasChoices("REDIS_URL", "redis_url")
    )
    milvus_uri: str | None = Field(
        default=None, validation_alias=AliasChoices("MILVUS_URI", "milvus_uri")
    )
    milvus_token: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("MILVUS_TOKEN", "milvus_token")
    )

    provider: Literal["offline", "openai", "compatible"] = "offline"
    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key")
    )
    openai_base_url: str | None = Field(
        default=None, validation_alias=AliasChoices("OPENAI_BASE_URL", "openai_base_url")
    )
    mini_model: str = "gpt-6-luna"
    large_model: str = "gpt-6-astra"
    embedding_model: str | None = None
    embedding_dimensions: int = Field(default=1024, ge=8, le=8192)
    prices: dict[str, Price] = Field(default_factory=dict)

    placement: Placement = "per_role"
    crawlers: int = Field(default=2, ge=1, le=64)
    replicas_min: int = Field(default=1, ge=1)
    replicas_max: int = Field(default=1, ge=1)
    replica_cpus: float = Field(default=1.0, gt=0)
    target_ongoing_requests: int = Field(default=16, ge=1)
    service_keys: dict[str, SecretStr] = Field(default_factory=dict)
    connect_to: dict[Endpoint, Endpoint] = Field(default_factory=dict)
    shown_urls: dict[str, str] = Field(default_factory=dict)

    @property
    def milvus_secret(self) -> str | None:
        return self.milvus_token.get_secret_value() if self.milvus_token else None

    @property
    def is_loopback(self) -> bool:
        return self.host in {"127.0.0.1", "::1", "localhost"}

    @property
    def address(self) -> str:
        """Where this machine itself reaches the server, as the beginning of a URL."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @classmethod
    def load(cls, **overrides: object) -> Settings:
        """Read the environment.

        Raises:
            InvalidConfiguration: names the variable.
        """
        try:
            settings = cls(**overrides)  # type: ignore[arg-type]
        except SettingsError as error:
            named = re.search(r'field "(\w+)"', str(error))
            variable = f"MANTA_{named[1].upper()}" if named else "a setting"
            raise InvalidConfiguration(variable, "is not valid JSON", "write JSON") from error
        except ValidationError as error:
            wrong = describe_validation(error)
            name, _, rest = wrong.field.partition(".")
            if name == "auth":
                # The mode is a choice among models and part of pydantic's path, not of the key's.
                rest = ".".join(part for part in rest.split(".") if part not in MODES)
            variable = name if name.isupper() else f"MANTA_{name.upper()}"
            path = f"{variable}.{rest}" if rest else variable
            raise InvalidConfiguration(path, wrong.reason, wrong.mend) from error
        settings._check()
        return settings

    def _check(self) -> None:
        if self.provider == "openai" and self.openai_api_key is None:
            raise InvalidConfiguration(
                "OPENAI_API_KEY", "the provider openai needs a key", "set it, or MANTA_PROVIDER"
            )
        if self.provider == "compatible" and self.openai_base_url is None:
            raise InvalidConfiguration(
                "OPENAI_BASE_URL", "a compatible provider needs an address", "set it"
            )
        if self.replicas_max < self.replicas_min:
            raise InvalidConfiguration(
                "MANTA_REPLICAS_MAX", "is below MANTA_REPLICAS_MIN", "raise it"
            )
