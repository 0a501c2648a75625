"""Placement is data: every role stands somewhere, once, after the roles that it calls."""

from __future__ import annotations

from typing import Any

import pytest

from actors.cell import LocalCell, placement_groups
from actors.resources import ProcessResources
from actors.roles import NEEDS, PAGE_CACHE, build_role, needs, role_names
from config.settings import Settings
from config.tenants import SPECIALISTS

PLACEMENTS = ["per_role", "compact"]


def settings(**given: Any) -> Settings:
    return Settings.load(**given)


@pytest.mark.parametrize("crawlers", [1, 2, 5])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_role_is_hosted_exactly_once(placement: str, crawlers: int) -> None:
    given = settings(placement=placement, crawlers=crawlers)
    hosted = [role for _, roles in placement_groups(given) for role in roles]
    assert sorted(hosted) == sorted(role_names(given))
    assert len(set(hosted)) == len(hosted)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_role_is_created_after_the_roles_that_it_calls(placement: str) -> None:
    given = settings(placement=placement, crawlers=3)
    created = {PAGE_CACHE}
    for _, roles in placement_groups(given):
        for role in roles:
            assert set(needs(role, given)) <= created | set(roles), role
        created |= set(roles)


def test_per_role_names_every_actor_after_its_role() -> None:
    for name, roles in placement_groups(settings()):
        assert roles == (name,)


def test_compact_puts_the_light_roles_into_one_actor_and_the_heavy_ones_apart() -> None:
    groups = dict(placement_groups(settings(placement="compact", crawlers=2)))
    assert set(groups["conversation"]) == {"guardrail", "memory", "supervisor", *SPECIALISTS}
    assert set(groups) == {"conversation", "retriever", "researcher", "crawler_1", "crawler_2"}


def test_the_pool_has_as_many_crawlers_as_configured() -> None:
    names = role_names(settings(crawlers=3))
    assert [name for name in names if name.startswith("crawler_")] == [
        "crawler_1",
        "crawler_2",
        "crawler_3",
    ]


@pytest.mark.parametrize(
    ("role", "called"),
    [
        ("guardrail", ()),
        ("career_chat", ("retriever",)),
        ("task_guidance", ("retriever",)),
        ("researcher", ("retriever", "crawler_1", "crawler_2", PAGE_CACHE)),
        ("crawler_2", ()),
        (PAGE_CACHE, ()),
    ],
)
def test_needs_spell_the_crawler_pool_out(role: str, called: tuple[str, ...]) -> None:
    assert needs(role, settings(crawlers=2)) == called


def test_every_role_says_what_it_needs() -> None:
    kinds = {"crawler" if n.startswith("crawler_") else n for n in role_names(settings())}
    assert kinds | {PAGE_CACHE} == set(NEEDS)


def test_an_unknown_role_is_an_error() -> None:
    with pytest.raises(KeyError, match="barista"):
        build_role("barista", ProcessResources(settings()), {})


async def test_a_local_cell_reaches_every_role_and_closes_them() -> None:
    given = settings(crawlers=1, milvus_uri="http://127.0.0.1:1", redis_url="redis://127.0.0.1:1/0")
    cell = LocalCell(given)
    assert set(cell.handles.ports) == {PAGE_CACHE, *role_names(given)}
    await cell.close()
