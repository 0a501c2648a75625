"""Tenant files: what is accepted, and what each refusal names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from config.tenants import SPECIALISTS, TenantConfig, TenantDirectory, WebConfig, load_tenant
from domain.errors import InvalidConfiguration, NotFound


def tenant(**chatbot: Any) -> TenantConfig:
    return TenantConfig.model_validate_json(
        json.dumps({"tenant": "acme", "name": "Acme", "chatbot": chatbot})
    )


def write(folder: Path, document: Any, name: str = "acme.json") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_the_smallest_tenant_has_the_documented_defaults(tmp_path: Path) -> None:
    found = load_tenant(write(tmp_path, {"tenant": "acme", "name": "Acme"}))
    assert found.locale == "en"
    assert found.chatbot.rag.enabled is False
    assert found.web.active_sources == ()
    # The campus advisor belongs to tenants that configure a campus.
    assert found.enabled_specialists() == SPECIALISTS[:-1]
    assert SPECIALISTS[-1] == "campus_advisor"


@pytest.mark.parametrize(
    ("document", "key", "mend"),
    [
        ({"tenant": "a", "name": "A", "nmae": 1}, "nmae", "remove the key"),
        ({"tenant": "a", "name": "A", "chatbot": {"rga": {}}}, "chatbot.rga", "remove the key"),
        (
            {
                "tenant": "a",
                "name": "A",
                "chatbot": {"knowledge_base": {"web": {"sources": [{"url": "u", "depth": 1}]}}},
            },
            "chatbot.knowledge_base.web.sources.0.depth",
            "remove the key",
        ),
        ({"tenant": "a"}, "name", "add the key"),
        ({"name": "A"}, "tenant", "add the key"),
        ({"tenant": "a", "name": ""}, "name", "correct the value"),
        ({"tenant": "Has Space", "name": "A"}, "tenant", "correct the value"),
        ({"tenant": "a", "name": "A", "locale": "it"}, "locale", "correct the value"),
        (
            {"tenant": "a", "name": "A", "chatbot": {"agents": {"barista": {}}}},
            "chatbot.agents.barista",
            "correct the value",
        ),
        ([], "(the whole document)", "correct the value"),
    ],
)
def test_a_wrong_file_is_refused_with_file_key_and_mend(
    tmp_path: Path, document: Any, key: str, mend: str
) -> None:
    path = write(tmp_path, document)
    with pytest.raises(InvalidConfiguration) as caught:
        load_tenant(path)
    assert caught.value.field.startswith(f"{path}: {key}")
    assert caught.value.mend.startswith(mend)
    assert caught.value.reason


def web(**values: Any) -> WebConfig:
    return tenant(knowledge_base={"web": values}).web


@pytest.mark.parametrize(
    ("key", "lowest", "highest"),
    [
        ("max_depth", 0, 5),
        ("max_pages_per_source", 1, 50),
        ("max_pages", 1, 100),
        ("refresh_interval_seconds", 0, 604_800),
    ],
)
def test_web_numbers_are_accepted_up_to_their_limits(
    tmp_path: Path, key: str, lowest: int, highest: int
) -> None:
    for allowed in (lowest, highest):
        assert getattr(web(**{key: allowed}), key) == allowed
    for refused in (lowest - 1, highest + 1):
        body = {
            "tenant": "a",
            "name": "A",
            "chatbot": {"knowledge_base": {"web": {key: refused}}},
        }
        with pytest.raises(InvalidConfiguration, match=rf"web\.{key}"):
            load_tenant(write(tmp_path, body))


@pytest.mark.parametrize(("length", "accepted"), [(1, True), (63, True), (64, False)])
def test_a_tenant_id_has_at_most_63_characters(tmp_path: Path, length: int, accepted: bool) -> None:
    path = write(tmp_path, {"tenant": "a" * length, "name": "A"})
    if accepted:
        assert len(load_tenant(path).tenant) == length
    else:
        with pytest.raises(InvalidConfiguration, match="tenant"):
            load_tenant(path)


@pytest.mark.parametrize("name", ["-a", "a_b", "a|b", "é", "a\n", "", "A"])
def test_a_tenant_id_is_lower_case_letters_digits_and_hyphens(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidConfiguration, match="tenant"):
        load_tenant(write(tmp_path, {"tenant": name, "name": "A"}))


def test_wrong_json_is_refused_with_the_place_of_the_mistake(tmp_path: Path) -> None:
    path = write(tmp_path, '{"tenant": "acme",\n "name": }')
    with pytest.raises(InvalidConfiguration, match="line 2") as caught:
        load_tenant(path)
    assert caught.value.field == str(path)
    assert caught.value.mend == "correct the file"


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "acme.json"
    path.write_bytes(b'{"tenant": "acme", "name": "\xff"}')
    with pytest.raises(InvalidConfiguration, match="not valid JSON"):
        load_tenant(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="check the path") as caught:
        load_tenant(tmp_path / "nobody.json")
    assert caught.value.field == str(tmp_path / "nobody.json")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="is not a directory") as caught:
        TenantDirectory.load(tmp_path / "gone")
    assert caught.value.field == "MANTA_TENANTS"
    assert "name a folder" in caught.value.mend


def test_a_folder_without_a_tenant_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "not a tenant", "README.md")
    with pytest.raises(InvalidConfiguration, match="holds no tenant file") as caught:
        TenantDirectory.load(tmp_path)
    assert str(tmp_path) in caught.value.reason
    assert "add one" in caught.value.mend


def test_the_same_id_twice_is_refused_with_the_second_file(tmp_path: Path) -> None:
    write(tmp_path, {"tenant": "acme", "name": "A"}, "1.json")
    second = write(tmp_path, {"tenant": "acme", "name": "B"}, "2.json")
    with pytest.raises(InvalidConfiguration, match="acme is defined twice") as caught:
        TenantDirectory.load(tmp_path)
    assert caught.value.field == f"{second}: tenant"
    assert "another id" in caught.value.mend


def test_one_broken_file_refuses_the_folder(tmp_path: Path) -> None:
    write(tmp_path, {"tenant": "acme", "name": "A"}, "1.json")
    broken = write(tmp_path, {"tenant": "zoo"}, "2.json")
    with pytest.raises(InvalidConfiguration) as caught:
        TenantDirectory.load(tmp_path)
    assert caught.value.field == f"{broken}: name"


def test_a_directory_gives_its_tenants_and_no_other(tmp_path: Path) -> None:
    write(tmp_path, {"tenant": "acme", "name": "A"}, "1.json")
    write(tmp_path, {"tenant": "zoo", "name": "Z"}, "2.json")
    directory = TenantDirectory.load(tmp_path)
    assert [each.tenant for each in directory] == ["acme", "zoo"]
    assert len(directory) == 2
    assert directory.get("zoo").name == "Z"
    with pytest.raises(NotFound, match="the tenant"):
        directory.get("Acme")


EVERYBODY = (
    "career_chat",
    "opportunity_search",
    "training_search",
    "talent_search",
    "person_disambiguation",
    "profile_analysis",
    "task_guidance",
)


@pytest.mark.parametrize(
    ("agents", "enabled"),
    [
        (None, EVERYBODY),
        ({}, ()),
        ({"task_guidance": {}}, ("task_guidance",)),
        ({"career_chat": {"active": False}, "task_guidance": {}}, ("task_guidance",)),
        ({"career_chat": {"active": False}}, ()),
        ({"task_guidance": {}, "career_chat": {}}, ("career_chat", "task_guidance")),
    ],
)
def test_without_an_agents_key_all_are_enabled_and_with_it_the_listed_active_ones(
    agents: Any, enabled: tuple[str, ...]
) -> None:
    config = tenant(**({} if agents is None else {"agents": agents}))
    assert config.enabled_specialists() == enabled


def test_excluded_tools_are_the_specialists_own() -> None:
    config = tenant(agents={"task_guidance": {"tool_exclusion": ["get_task", "get_task"]}})
    assert config.excluded_tools("task_guidance") == {"get_task"}
    assert config.excluded_tools("career_chat") == frozenset()
    assert tenant().excluded_tools("career_chat") == frozenset()


def test_disabled_web_sources_are_not_active() -> None:
    sources = [{"url": "https://a.example/"}]
    assert web(enabled=False, sources=sources).active_sources == ()
    assert len(web(enabled=True, sources=sources).active_sources) == 1


SAME = {"enabled": True, "sources": [{"url": "https://a.example/"}]}


@pytest.mark.parametrize(
    "change",
    [
        {"enabled": False},
        {"sources": [{"url": "https://b.example/"}]},
        {"sources": [{"url": "https://a.example/", "allowed_path_prefixes": ["/x"]}]},
        {"follow_links": False},
        {"max_depth": 2},
        {"max_pages_per_source": 4},
        {"max_pages": 9},
        {"refresh_interval_seconds": 901},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_fingerprint_changes_with_every_key_of_the_web_configuration(
    change: dict[str, Any],
) -> None:
    assert web(**SAME).fingerprint() == web(**SAME).fingerprint()
    assert web(**SAME).fingerprint() != web(**{**SAME, **change}).fingerprint()
    assert set(WebConfig.model_fields) == {
        "enabled",
        "sources",
        "follow_links",
        "max_depth",
        "max_pages_per_source",
        "max_pages",
        "refresh_interval_seconds",
    }
