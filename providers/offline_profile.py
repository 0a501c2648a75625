"""What the offline model does with the user's own profile: it shows what is recorded, no more.

Judging strengths and gaps is writing. What it can do is read out the profile, the objectives and
the nearest occupations with the skills that the profile does not name, and prepare a plan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from config.prompt_files import phrase
from providers.offline_steps import REPLY, Step, language_of, questions, results_of

PROFILE, OBJECTIVES = "get_my_profile", "list_my_objectives"
OCCUPATION, PLAN = "match_occupation", "build_learning_plan"

_WANTS: dict[str, re.Pattern[str]] = {
    PLAN: re.compile(
        r"\b(?:learning|training|development|action)\s+plan|plan\s+d(?:e\s+formation|'action|'appren)"
        r"|\b(?:lern|entwicklungs|aktions|maßnahmen)plan",
        re.IGNORECASE,
    ),
    OBJECTIVES: re.compile(r"\bobjecti(?:ve|f)s?\b|\bgoals?\b|\bziele?n?\b", re.IGNORECASE),
    OCCUPATION: re.compile(
        r"\boccupations?\b|\bjobs?\s+fits?\b|\bmétiers?\b|\bberufe?\b|\black\b|\bgaps?\b|\bmissing\b"
        r"|\bmanque\w*|\blacunes?\b|\bfehl\w+|\blücken?\b",
        re.IGNORECASE,
    ),
}


def next_profile_step(messages: Sequence[BaseMessage], tools: frozenset[str]) -> Step:
    """The tool that the question asks for, the profile where it asks for none."""
    locale = language_of(messages)
    asked = questions(messages)
    latest = (asked[-1] if asked else "").replace("’", "'")
    wanted = next((name for name, words in _WANTS.items() if words.search(latest)), PROFILE)
    if wanted == PLAN and PLAN not in tools and not results_of(messages, PLAN):
        wanted = OBJECTIVES
    done = results_of(messages, wanted)
    if wanted == OCCUPATION and not done:
        profile = results_of(messages, PROFILE)
        if not profile and PROFILE in tools:
            return Step(call=PROFILE)
        described = _described(profile[-1]) if profile else ""
        if described and OCCUPATION in tools:
            return Step(call=OCCUPATION, arguments={"description": described})
    elif not done and wanted in tools:
        return Step(call=wanted)
    if tools:
        return REPLY
    return Step(text=_shown(wanted, done or results_of(messages, PROFILE), messages, locale))


def _described(profile: dict[str, Any]) -> str:
    kept = profile.get("profile") or {}
    parts = [kept.get("role", ""), kept.get("summary", ""), *kept.get("skills", ())]
    return " ".join(str(part) for part in parts if part)


def _shown(
    wanted: str, results: Sequence[dict[str, Any]], messages: Sequence[BaseMessage], locale: str
) -> str:
    result: dict[str, Any] = results[-1] if results else {"error": "not_executed"}
    if "error" in result:
        missing = {
            "no_profile": "offline_no_profile",
            "no_objectives": "offline_no_objectives",
            "no_trainings": "offline_no_records",
        }
        return phrase(missing.get(str(result["error"]), "offline_unavailable"), locale)
    if "saved" in result:
        return _plan(result, locale)
    if "objectives" in result:
        return _objectives(result["objectives"], locale)
    if "occupations" in result:
        return _occupations(result["occupations"], messages, locale)
    return _profile(result["profile"], locale)


def _profile(profile: dict[str, Any], locale: str) -> str:
    where = ", ".join(str(profile[n]) for n in ("role", "team", "place") if profile.get(n))
    lines = [phrase("offline_profile_intro", locale), "", f"- {profile['name']}: {where}"]
    if profile.get("summary"):
        lines.append(f"- {profile['summary']}")
    if profile.get("skills"):
        lines.append(f"- {phrase('offline_skills', locale)}: {', '.join(profile['skills'])}")
    lines += [f"- {wish}" for wish in profile.get("wishes", ())]
    return "\n".join(lines)


def _objectives(objectives: Sequence[dict[str, Any]], locale: str) -> str:
    if not objectives:
        return phrase("offline_no_objectives", locale)
    lines = [phrase("offline_objectives_intro", locale), ""]
    for objective in objectives:
        due = f" ({phrase('offline_due', locale)} {objective['due']})" if objective["due"] else ""
        lines.append(f"- **{objective['title']}**{due}: {objective['description']}".rstrip(": "))
        for step in objective["action_plan"]:
            mark = "✓" if step["done"] else "○"
            lines.append(f"  {mark} {step['text']}")
    return "\n".join(lines)


def _occupations(
    occupations: Sequence[dict[str, Any]], messages: Sequence[BaseMessage], locale: str
) -> str:
    if not occupations:
        return phrase("offline_no_records", locale)
    profiles = results_of(messages, PROFILE)
    own = (profiles[-1].get("profile") or {}).get("skills", ()) if profiles else ()
    known = {str(skill).casefold() for skill in own}
    lines = [phrase("offline_occupations_intro", locale), ""]
    for one in occupations[:3]:
        missing = [str(s) for s in one.get("skills", ()) if str(s).casefold() not in known]
        unnamed = f"; {phrase('offline_unnamed_skills', locale)}: {', '.join(missing[:6])}"
        lines.append(f"- **{one['title']}**{unnamed if missing else ''}")
    return "\n".join(lines)


def _plan(result: dict[str, Any], locale: str) -> str:
    if not result["saved"]:
        return phrase("offline_plan_discarded", locale)
    steps = [f"{number}. {step}" for number, step in enumerate(result["plan"]["steps"], start=1)]
    return "\n".join([phrase("offline_plan_saved", locale), "", *steps])
