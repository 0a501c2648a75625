"""The policy's values are the design's numbers, one by one."""

from __future__ import annotations

import dataclasses

import pytest

from config.policy import POLICY

NUMBERS: list[tuple[str, str, float]] = [
    # Design section 2, the table of nodes.
    ("nodes", "gate", 15),
    ("nodes", "memory", 30),
    ("nodes", "supervisor", 30),
    ("nodes", "supervisor_decision", 15),
    ("nodes", "specialist", 180),
    ("nodes", "knowledge", 45),
    # Design section 3: about 40 ms or 24 tokens, whichever comes first.
    ("stream", "coalesce_seconds", 0.040),
    ("stream", "coalesce_tokens", 24),
    # Design section 4: one LRU of 128 pages per tenant.
    ("page", "cached_pages_per_tenant", 128),
    # Design section 5, the table of limits.
    ("research", "model_calls", 4),
    ("research", "searches", 2),
    ("research", "reads", 4),
    ("research", "seconds", 45),
    ("research", "source_seconds", 20),
    ("research", "entry_seconds", 18),
    ("research", "passages", 5),
    ("research", "readiness_seconds", 2),
    ("research", "comment_chars", 240),
    ("page", "window_chars", 6_000),
    ("page", "link_context_chars", 240),
    ("page", "seconds", 8),
    ("page", "redirects", 5),
    ("page", "body_bytes", 2 * 1024 * 1024),
    # Design section 6: three attempts at most.
    ("model", "attempts", 3),
    # The seeds' specialist and conversation limits.
    ("specialist", "model_calls", 8),
    ("specialist", "tool_calls", 6),
    ("specialist", "history_messages", 30),
    ("specialist", "history_tokens", 12_000),
    ("specialist", "editing_threshold_tokens", 8_000),
    ("specialist", "tool_results_kept", 3),
    ("gate", "recent_messages", 10),
    ("gate", "reply_tokens", 512),
]


@pytest.mark.parametrize(("group", "name", "value"), NUMBERS)
def test_a_limit_is_the_designs_number(group: str, name: str, value: float) -> None:
    assert getattr(getattr(POLICY, group), name) == value


def test_the_research_of_the_node_and_of_the_run_have_one_wall_clock() -> None:
    assert POLICY.nodes.knowledge == POLICY.research.seconds


def test_inner_clocks_end_before_outer_ones() -> None:
    research = POLICY.research
    assert POLICY.page.seconds < research.entry_seconds < research.source_seconds
    assert research.source_seconds < research.seconds < POLICY.nodes.specialist
    assert POLICY.nodes.supervisor_decision < POLICY.nodes.supervisor


def test_the_policy_is_frozen() -> None:
    for group in (POLICY, *(getattr(POLICY, field.name) for field in dataclasses.fields(POLICY))):
        name = dataclasses.fields(group)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(group, name, 1)
