"""The one exception to routing: a training request that elaborates a profile's action plan.

Such a request is about the plan, which profile analysis knows; career chat takes it where a tenant
has no profile analysis (seed "Supervisor and handoffs").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from config import prompt_files
from config.policy import POLICY
from config.tenants import SpecialistName
from domain.messages import Message, latest_user_text

TRAINING: SpecialistName = "training_search"
PROFILE: SpecialistName = "profile_analysis"
CAREER: SpecialistName = "career_chat"
PLAN_TOOLS = frozenset({"list_my_objectives", "match_occupation", "build_learning_plan"})


def redirected(
    chosen: str, messages: Sequence[Message], active: str | None, enabled: Sequence[str]
) -> str:
    """Where the turn goes, ``chosen`` unless the exception holds."""
    if chosen != TRAINING or not elaborates_plan(messages, active):
        return chosen
    return next((name for name in (PROFILE, CAREER) if name in enabled), chosen)


def elaborates_plan(messages: Sequence[Message], active: str | None) -> bool:
    """Whether the conversation has such a plan and the latest message speaks of it."""
    recent = messages[-POLICY.records.excluded_messages :]
    has_plan = active == PROFILE or any(m.tool_name in PLAN_TOOLS for m in recent)
    return has_plan and any(p.search(latest_user_text(tuple(messages))) for p in _plan_words())


@cache
def _plan_words() -> tuple[re.Pattern[str], ...]:
    words = prompt_files.table("specialists")["redirect"]["plan_words"]
    return tuple(re.compile(word, re.IGNORECASE) for word in words)
