"""The settings of authentication and the file of API keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from config.auth import ApiKeyAuth, JwtAuth, NoAuth, hash_of, load_keys, new_key
from config.settings import Settings
from domain.errors import InvalidConfiguration

HASH = hash_of("manta_" + "a" * 43)
ENTRY: dict[str, Any] = {
    "id": "page",
    "hash": HASH,
    "tenant": "acme",
    "user": "ana",
    "permissions": ["chat", "history"],
}
JWT: dict[str, Any] = {
    "mode": "jwt",
    "issuer": "https://login.example/",
    "audience": "manta",
    "algorithms": ["RS256"],
    "jwks_url": "https://login.example/keys",
}
SECRET = "s" * 32


def without(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != name}


def test_without_a_setting_nobody_proves_who_they_are() -> None:
    assert isinstance(Settings.load().auth, NoAuth)


def test_one_variable_holds_the_whole_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANTA_AUTH", '{"mode": "api_keys", "keys": "/etc/manta/keys.json"}')
    auth = Settings.load().auth
    assert isinstance(auth, ApiKeyAuth)
    assert auth.keys == Path("/etc/manta/keys.json")


def test_tokens_have_usual_claims_and_a_small_leeway() -> None:
    auth = Settings.load(auth=JWT).auth
    assert isinstance(auth, JwtAuth)
    assert (auth.tenant_claim, auth.user_claim, auth.leeway_seconds) == ("tenant", "sub", 30.0)


@pytest.mark.parametrize(
    ("auth", "field", "reason"),
    [
        ({"mode": "cookies"}, "MANTA_AUTH", "does not match"),
        ({"mode": "none", "keys": "x"}, "MANTA_AUTH.keys", "not permitted"),
        ({"mode": "api_keys"}, "MANTA_AUTH.keys", "required"),
        (without(JWT, "issuer"), "MANTA_AUTH.issuer", "required"),
        (without(JWT, "audience"), "MANTA_AUTH.audience", "required"),
        (without(JWT, "algorithms"), "MANTA_AUTH.algorithms", "required"),
        ({**JWT, "algorithms": []}, "MANTA_AUTH.algorithms", "at least 1"),
        ({**JWT, "algorithms": ["none"]}, "MANTA_AUTH.algorithms.0", "HS256"),
        ({**JWT, "algorithms": ["RS256", "HS256"]}, "MANTA_AUTH", "HS256 needs a secret"),
        ({**JWT, "secret": SECRET}, "MANTA_AUTH", "either jwks_url or secret"),
        (without(JWT, "jwks_url"), "MANTA_AUTH", "either jwks_url or secret"),
        ({**without(JWT, "jwks_url"), "secret": SECRET}, "MANTA_AUTH", "HS256, HS384 or HS512"),
        ({**JWT, "jwks_url": "http://login.example/keys"}, "MANTA_AUTH", "https://"),
        ({**JWT, "jwks_url": "file:///keys"}, "MANTA_AUTH", "https://"),
        ({**JWT, "jwks_url": "https:///keys"}, "MANTA_AUTH", "https://"),
        ({**JWT, "leeway_seconds": 121}, "MANTA_AUTH.leeway_seconds", "120"),
        ({**JWT, "leeway_seconds": -1}, "MANTA_AUTH.leeway_seconds", "0"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_key(
    auth: dict[str, Any], field: str, reason: str
) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        Settings.load(auth=auth)
    assert caught.value.field == field
    assert reason in caught.value.reason


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_keys_of_loopback_may_come_without_tls(host: str) -> None:
    assert Settings.load(auth={**JWT, "jwks_url": f"http://{host}:1/keys"}).auth.mode == "jwt"


def test_a_secret_has_32_bytes_at_least_and_is_never_shown() -> None:
    secret = {**without(JWT, "jwks_url"), "algorithms": ["HS256"]}
    kept = Settings.load(auth={**secret, "secret": SECRET})
    assert SECRET not in repr(kept)
    with pytest.raises(InvalidConfiguration, match="shorter than 32 bytes") as caught:
        Settings.load(auth={**secret, "secret": SECRET[1:]})
    assert SECRET[1:] not in str(caught.value)


def written(folder: Path, *entries: Any) -> Path:
    path = folder / "keys.json"
    path.write_text(json.dumps({"keys": list(entries)}))
    return path


def test_a_file_of_keys_is_read(tmp_path: Path) -> None:
    service = {**without(ENTRY, "user"), "id": "bot", "scope": "tenant", "hash": hash_of("other")}
    found = load_keys(written(tmp_path, ENTRY, service))
    assert [(key.id, key.user, key.scope) for key in found] == [
        ("page", "ana", None),
        ("bot", None, "tenant"),
    ]
    assert found[0].permissions == {"chat", "history"}


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({**ENTRY, "hash": "sha256:abc"}, "hash"),
        ({**ENTRY, "hash": "manta_secret"}, "hash"),
        ({**ENTRY, "hash": HASH + "\n"}, "hash"),
        ({**ENTRY, "tenant": "Acme!"}, "tenant"),
        ({**ENTRY, "user": "a b"}, "user"),
        ({**ENTRY, "permissions": []}, "permissions"),
        ({**ENTRY, "permissions": ["root"]}, "permissions"),
        ({**ENTRY, "key": "manta_secret"}, "key"),
        (without(ENTRY, "hash"), "hash"),
        ({**ENTRY, "scope": "world"}, "scope"),
    ],
)
def test_a_wrong_entry_is_named_with_its_field(
    tmp_path: Path, entry: dict[str, Any], field: str
) -> None:
    path = written(tmp_path, {**ENTRY, "id": "first", "hash": hash_of("first")}, entry)
    with pytest.raises(InvalidConfiguration) as caught:
        load_keys(path)
    assert caught.value.field.startswith(f"{path}: keys.1 (page).{field}")
    assert "manta_secret" not in str(caught.value)


@pytest.mark.parametrize("owner", [{}, {"user": "ana", "scope": "tenant"}])
def test_a_key_stands_for_one_person_or_for_a_tenant(tmp_path: Path, owner: dict[str, str]) -> None:
    with pytest.raises(InvalidConfiguration, match="either user or"):
        load_keys(written(tmp_path, {**without(ENTRY, "user"), **owner}))


@pytest.mark.parametrize("field", ["id", "hash"])
def test_two_entries_do_not_share(tmp_path: Path, field: str) -> None:
    other = {**ENTRY, "id": "other", "hash": hash_of("other"), field: ENTRY[field]}
    with pytest.raises(InvalidConfiguration, match=rf"keys\.1 .*\.{field}: stands for another"):
        load_keys(written(tmp_path, ENTRY, other))


@pytest.mark.parametrize("content", ["{", "[]", '{"keys": {}}', '{"keys": [], "more": 1}', "1"])
def test_a_file_that_is_no_list_of_keys_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content)
    with pytest.raises(InvalidConfiguration, match=r"keys\.json"):
        load_keys(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        load_keys(tmp_path / "gone.json")
    assert caught.value.field == "MANTA_AUTH.keys"


def test_a_new_key_has_256_random_bits_and_only_its_hash_is_kept() -> None:
    (first, hashed), (second, _) = new_key(), new_key()
    assert first != second
    assert first.startswith("manta_") and len(first) >= len("manta_") + 43
    assert hashed == hash_of(first)
    assert first not in hashed


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080/"),
        ("0.0.0.0", "http://127.0.0.1:8080/"),
        ("::1", "http://[::1]:8080/"),
        ("::", "http://[::1]:8080/"),
        ("10.1.2.3", "http://10.1.2.3:8080/"),
    ],
)
def test_the_server_is_reached_where_it_listens(host: str, address: str) -> None:
    assert Settings.load(host=host).address == address
