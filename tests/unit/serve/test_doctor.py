"""``manta doctor`` line by line, and the demo's settings and site."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from config.settings import Settings
from config.tenants import SPECIALISTS, TenantDirectory
from domain.errors import InvalidConfiguration
from retrieval.file_directory import FileDirectory
from serve.demo import SITE, SITES, TENANT, UNIVERSITY, USER, demo_network, demo_settings
from serve.doctor import examine
from serve.page_routes import load_examples
from serve.start_checks import check_loopback, check_port, check_start


def free_port(family: socket.AddressFamily = socket.AF_INET, host: str = "127.0.0.1") -> int:
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def tenants(folder: Path, **chatbot: Any) -> Path:
    document = {"tenant": "acme", "name": "Acme", "chatbot": chatbot}
    (folder / "acme.json").write_text(json.dumps(document))
    return folder


def lines(folder: Path, **given: Any) -> list[str]:
    settings = {"tenants": folder, "data": folder / "data", "port": free_port(), **given}
    return list(examine(Settings.load(**settings)))


def wrong(found: list[str]) -> list[str]:
    return [line for line in found if line.startswith("wrong")]


def test_a_sound_installation_has_nothing_wrong(tmp_path: Path) -> None:
    found = lines(tenants(tmp_path))
    assert wrong(found) == []
    assert all(line.split()[0] in {"ok", "note", "wrong"} for line in found)
    assert all("\n" not in line for line in found)
    text = "\n".join(found)
    for what in ("ray", "redis: embedded", "milvus: embedded", "offline", "placement per_role"):
        assert what in text
    specialists = ", ".join(name for name in SPECIALISTS if name != "campus_advisor")
    assert f"tenant acme: {specialists}; no documents; 0 web sources" in text


def test_the_doctor_starts_nothing(tmp_path: Path) -> None:
    found = lines(tenants(tmp_path))
    assert any("not running now" in line for line in found)
    assert not (tmp_path / "data").exists()


SOURCE = {"url": "http://a.example/hr/", "allowed_path_prefixes": ["/hr"]}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"redis_url": "redis://127.0.0.1:1/0"}, "wrong  redis"),
        ({"milvus_uri": "http://127.0.0.1:1"}, "wrong  milvus"),
        ({"host": "0.0.0.0"}, "wrong  address"),
        ({"directory": Path("gone")}, "wrong  directory"),
        ({"examples": Path("gone.json")}, "wrong  examples"),
    ],
)
def test_each_thing_that_is_wrong_has_one_line(
    tmp_path: Path, given: dict[str, Any], complaint: str
) -> None:
    (line,) = wrong(lines(tenants(tmp_path), **given))
    assert line.startswith(complaint)


def test_a_port_in_use_is_wrong(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (line,) = wrong(lines(tenants(tmp_path), port=port))
    assert f"{port} is in use" in line


def test_a_broken_tenant_file_is_wrong_with_file_and_key(tmp_path: Path) -> None:
    (tmp_path / "acme.json").write_text('{"tenant": "acme", "nmae": "A"}')
    (line,) = wrong(lines(tmp_path))
    assert "acme.json" in line
    assert "nmae" in line or "name" in line


def test_a_tenant_without_a_specialist_is_wrong(tmp_path: Path) -> None:
    assert wrong(lines(tenants(tmp_path, agents={}))) == [
        "wrong  tenant: acme: chatbot.agents: no specialist is active; activate at least one"
    ]


@pytest.mark.parametrize(
    ("source", "sound"), [(SOURCE, True), ({"url": "ftp://a.example/"}, False)]
)
def test_a_web_source_that_cannot_be_admitted_is_wrong(
    tmp_path: Path, source: dict[str, Any], sound: bool
) -> None:
    web = {"enabled": True, "sources": [source]}
    found = lines(tenants(tmp_path, knowledge_base={"web": web}))
    assert (wrong(found) == []) is sound
    assert any("1 web sources" in line for line in found)
    named = any("knowledge_base.web.sources.0" in line for line in wrong(found))
    assert named is not sound


def test_a_default_tenant_that_does_not_exist_is_wrong(tmp_path: Path) -> None:
    assert wrong(lines(tenants(tmp_path), default_tenant="nobody"))


def test_a_model_without_a_price_and_a_dialled_address_are_noted(tmp_path: Path) -> None:
    found = lines(
        tenants(tmp_path),
        provider="openai",
        openai_api_key="k-secret",
        connect_to={"a.example:443": "127.0.0.1:1"},
    )
    text = "\n".join(found)
    assert "no price of gpt-6-luna" in text
    assert "a.example:443 is dialled at 127.0.0.1:1" in text
    assert "k-secret" not in text


def test_the_way_of_authentication_is_told_without_its_secret(tmp_path: Path) -> None:
    folder = tenants(tmp_path)
    assert "ok     auth: none, whoever reaches the address is believed" in lines(folder)
    token = {"mode": "jwt", "issuer": "https://i/", "audience": "a", "algorithms": ["HS256"]}
    found = lines(folder, auth={**token, "secret": "s" * 32}, host="0.0.0.0")
    assert wrong(found) == []
    assert "ok     auth: tokens of https://i/ (HS256, a shared secret)" in found
    assert "s" * 32 not in "\n".join(found)
    (line,) = wrong(lines(folder, auth={"mode": "api_keys", "keys": tmp_path / "gone"}))
    assert line.startswith("wrong  auth: MANTA_AUTH.keys")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1"])
def test_without_authentication_only_loopback_is_served(host: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        check_loopback(Settings.load(host=host))
    assert caught.value.field == "MANTA_HOST"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_may_be_served(host: str) -> None:
    check_loopback(Settings.load(host=host))


def test_a_wrong_line_of_the_directory_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"tenant": "acme", "user": "ana", "id": "T-1"}')
    settings = Settings.load(tenants=tenants(tmp_path), directory=tmp_path)
    with pytest.raises(InvalidConfiguration) as caught:
        check_start(settings, TenantDirectory.load(settings.tenants))
    assert caught.value.field.endswith("tasks.jsonl, line 1: title")


def test_a_free_port_of_ipv6_loopback_is_free() -> None:
    try:
        port = free_port(socket.AF_INET6, "::1")
    except OSError:
        pytest.xfail("this machine has no IPv6")
    check_port(Settings.load(host="::1", port=port))


def test_the_demos_settings_load() -> None:
    settings = Settings.load(**demo_settings())
    directory = TenantDirectory.load(settings.tenants)
    assert settings.default_tenant == TENANT
    assert {tenant.tenant for tenant in directory} == {TENANT, UNIVERSITY, "blank"}
    assert directory.get(TENANT).chatbot.rag.enabled
    assert directory.get(UNIVERSITY).enabled_specialists() == ("campus_advisor",)
    examples = load_examples(settings)
    assert all(examples[tenant.tenant] for tenant in directory)
    assert FileDirectory(settings.directory, settings.data)._tasks[(TENANT, USER)]


def test_the_demos_sites_are_served_on_loopback_and_stop() -> None:
    with demo_network() as network:
        assert set(network["connect_to"]) == {*(f"{host}:80" for host in SITES), "localhost:8931"}
        addresses = {host: network["connect_to"][f"{host}:80"] for host in SITES}
        shown = {f"http://{host}/": f"http://{address}/" for host, address in addresses.items()}
        assert network["shown_urls"] == shown
        for address in network["connect_to"].values():
            assert address.startswith("127.0.0.1:")
        titles = {}
        for host, address in addresses.items():
            with urllib.request.urlopen(f"http://{address}/en/", timeout=5) as reply:
                titles[host] = reply.read().decode()
        assert "Tidewater" in titles[SITE]
        assert "University of Seehausen" in titles["www.uni-seehausen.example"]
        Settings.load(**network)
    for address in network["connect_to"].values():
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(f"http://{address}/", timeout=1)
