"""Process settings: environment names, boundaries, and what a refusal names."""

from __future__ import annotations

from typing import Any

import pytest

from config.settings import Settings
from domain.errors import InvalidConfiguration


def test_a_fresh_machine_is_offline_on_loopback_with_a_role_an_actor() -> None:
    settings = Settings.load()
    assert (settings.provider, settings.placement) == ("offline", "per_role")
    assert (settings.host, settings.port, settings.is_loopback) == ("127.0.0.1", 8080, True)
    assert settings.redis_url is settings.milvus_uri is settings.openai_api_key is None


@pytest.mark.parametrize(
    ("variable", "name", "value"),
    [
        ("REDIS_URL", "redis_url", "redis://h:1/0"),
        ("MILVUS_URI", "milvus_uri", "http://h:1"),
        ("OPENAI_BASE_URL", "openai_base_url", "http://h:1/v1"),
        ("MANTA_DEFAULT_TENANT", "default_tenant", "acme"),
        ("MANTA_MINI_MODEL", "mini_model", "small"),
    ],
)
def test_a_setting_is_read_from_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, name: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert getattr(Settings.load(), name) == value


def test_secrets_are_read_and_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k-123")
    monkeypatch.setenv("MILVUS_TOKEN", "m-456")
    settings = Settings.load()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "k-123"
    assert settings.milvus_secret == "m-456"
    assert "k-123" not in repr(settings)
    assert "m-456" not in repr(settings)


def test_what_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANTA_PORT", "9001")
    monkeypatch.setenv("REDIS_URL", "redis://environment:1/0")
    assert Settings.load().port == 9001
    given = Settings.load(port=9002, redis_url="redis://given:1/0")
    assert (given.port, given.redis_url) == (9002, "redis://given:1/0")


@pytest.mark.parametrize(
    "target",
    ["127.0.0.1:8090", "localhost:1", "site.example:65535", "[::1]:8090"],
)
def test_an_endpoint_is_an_address_and_a_port(target: str) -> None:
    settings = Settings.load(connect_to={"www.acme.example:443": target})
    assert settings.connect_to == {"www.acme.example:443": target}


@pytest.mark.parametrize(
    "wrong",
    ["127.0.0.1", "127.0.0.1:", ":80", "host:0", "host:65536", "host:-1", "host:http", "", "h:²"],
)
@pytest.mark.parametrize("side", ["key", "value"])
def test_a_wrong_endpoint_is_refused_at_start(wrong: str, side: str) -> None:
    good = "a.example:80"
    with pytest.raises(InvalidConfiguration, match="MANTA_CONNECT_TO"):
        Settings.load(connect_to={wrong: good} if side == "key" else {good: wrong})


def test_a_wrong_endpoint_is_told_how_to_write_one() -> None:
    with pytest.raises(InvalidConfiguration, match=r"address:port, for example 127\.0\.0\.1:8090"):
        Settings.load(connect_to={"a.example:80": "nowhere"})


def test_openai_needs_a_key() -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        Settings.load(provider="openai")
    assert caught.value.field == "OPENAI_API_KEY"
    assert "MANTA_PROVIDER" in caught.value.mend
    assert Settings.load(provider="openai", openai_api_key="k").provider == "openai"


def test_a_compatible_server_needs_an_address_but_no_key() -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        Settings.load(provider="compatible")
    assert caught.value.field == "OPENAI_BASE_URL"
    loaded = Settings.load(provider="compatible", openai_base_url="http://127.0.0.1:1/v1")
    assert loaded.openai_api_key is None


def test_as_many_replicas_at_most_as_at_least_are_allowed_and_fewer_are_not() -> None:
    assert Settings.load(replicas_min=3, replicas_max=3).replicas_max == 3
    with pytest.raises(InvalidConfiguration) as caught:
        Settings.load(replicas_min=3, replicas_max=2)
    assert caught.value.field == "MANTA_REPLICAS_MAX"


@pytest.mark.parametrize(
    ("name", "lowest", "highest"),
    [("port", 1, 65_535), ("crawlers", 1, 64), ("embedding_dimensions", 8, 8192)],
)
def test_numbers_are_accepted_up_to_their_limits(name: str, lowest: int, highest: int) -> None:
    for allowed in (lowest, highest):
        assert getattr(Settings.load(**{name: allowed}), name) == allowed
    for refused in (lowest - 1, highest + 1):
        with pytest.raises(InvalidConfiguration, match=f"MANTA_{name.upper()}"):
            Settings.load(**{name: refused})


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"provider": "azure"}, "provider"),
        ({"placement": "spread"}, "placement"),
        ({"prices": {"m": {"input": -1, "cached": 0, "output": 0}}}, "prices.m.input"),
        ({"prices": {"m": {"input": 1, "cached": 0}}}, "prices.m.output"),
        ({"prices": {"m": {"input": 1, "cached": 0, "output": 0, "x": 1}}}, "prices.m.x"),
        ({"replica_cpus": 0}, "replica_cpus"),
    ],
)
def test_a_wrong_value_is_refused_with_the_path_of_its_key(
    given: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        Settings.load(**given)
    name, _, path = field.partition(".")
    variable = f"MANTA_{name.upper()}"
    assert caught.value.field == (f"{variable}.{path}" if path else variable)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_is_recognised(host: str) -> None:
    assert Settings.load(host=host).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "127.0.0.1.example"])
def test_what_is_not_loopback_is_not_taken_for_it(host: str) -> None:
    assert not Settings.load(host=host).is_loopback


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANTA_PORT", "eighty")
    with pytest.raises(InvalidConfiguration, match="MANTA_PORT"):
        Settings.load()


@pytest.mark.parametrize("variable", ["MANTA_CONNECT_TO", "MANTA_PRICES"])
def test_a_variable_that_is_not_json_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "not json")
    with pytest.raises(InvalidConfiguration):
        Settings.load()
