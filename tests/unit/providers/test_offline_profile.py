"""Which of the user's own data the offline model reads for a question, and how it shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from config.prompt_files import phrase
from providers.labelled_data import labelled
from providers.offline_profile import (
    OBJECTIVES,
    OCCUPATION,
    PLAN,
    PROFILE,
    next_profile_step,
)
from providers.offline_steps import REPLY

TOOLS = frozenset({PROFILE, OBJECTIVES, OCCUPATION, PLAN})
OWN = {"profile": {"name": "Ana", "role": "Technician", "skills": ["rigging"], "wishes": ["lead"]}}
GOAL = {"title": "Lead", "due": None, "description": "", "action_plan": [
    {"text": "Ask", "done": True}, {"text": "Do", "done": False}]}  # fmt: skip


def messages(text: str, *results: tuple[str, Any], language: str = "en") -> list[BaseMessage]:
    found: list[BaseMessage] = [labelled("request", {"language": language}), HumanMessage(text)]
    for tool, result in results:
        found.append(ToolMessage(json.dumps(result), tool_call_id="c", name=tool))
    return found


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("What are my strengths?", PROFILE), ("Montre-moi mon profil", PROFILE),
        ("Was steht in meinem Profil?", PROFILE), ("How far am I with my objectives?", OBJECTIVES),
        ("Où en sont mes objectifs ?", OBJECTIVES), ("Was sind meine Ziele?", OBJECTIVES),
        ("Make me a learning plan", PLAN), ("Fais-moi un plan de formation", PLAN),
        ("Prépare un plan d’action", PLAN), ("Erstelle mir einen Lernplan", PLAN),
    ],
)  # fmt: skip
def test_the_question_chooses_the_tool(text: str, tool: str) -> None:
    assert next_profile_step(messages(text), TOOLS).call == tool


@pytest.mark.parametrize(
    "text", ["Which occupation fits me?", "Quel métier me convient ?", "Welche Lücken habe ich?"]
)
def test_an_occupation_is_matched_with_the_profile(text: str) -> None:
    assert next_profile_step(messages(text), TOOLS).call == PROFILE
    step = next_profile_step(messages(text, (PROFILE, OWN)), TOOLS)
    assert (step.call, step.arguments) == (OCCUPATION, {"description": "Technician rigging"})
    found = {"occupations": [{"title": "Rigger", "skills": ["Rigging", "knots"]}]}
    done = messages(text, (PROFILE, OWN), (OCCUPATION, found))
    assert next_profile_step(done, TOOLS) == REPLY
    assert next_profile_step(done, frozenset()).text.endswith("not named in your profile: knots")


def test_without_a_profile_there_is_nothing_to_match() -> None:
    missing = messages("Which gaps do I have?", (PROFILE, {"error": "no_profile"}))
    assert next_profile_step(missing, TOOLS) == REPLY
    assert next_profile_step(missing, frozenset()).text == phrase("offline_no_profile", "en")


def test_a_client_that_cannot_pause_sees_its_objectives_instead_of_a_plan() -> None:
    step = next_profile_step(messages("Make me a learning plan"), TOOLS - {PLAN})
    assert step.call == OBJECTIVES


def test_objectives_with_their_steps() -> None:
    shown = messages("My objectives?", (OBJECTIVES, {"objectives": [GOAL]}))
    text = next_profile_step(shown, frozenset()).text
    assert text.splitlines()[2:] == ["- **Lead**", "  ✓ Ask", "  ○ Do"]


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_a_plan_is_said_to_be_saved_only_when_it_is(language: str) -> None:
    saved = (PLAN, {"saved": True, "plan": {"steps": ["A", "B"]}})
    text = next_profile_step(messages("learning plan", saved, language=language), frozenset()).text
    assert text == f"{phrase('offline_plan_saved', language)}\n\n1. A\n2. B"
    dropped = messages("learning plan", (PLAN, {"saved": False}), language=language)
    text = next_profile_step(dropped, frozenset()).text
    assert text == phrase("offline_plan_discarded", language)


@pytest.mark.parametrize(
    ("error", "name"),
    [("no_objectives", "offline_no_objectives"), ("no_trainings", "offline_no_records"),
     ("timeout", "offline_unavailable")],
)  # fmt: skip
def test_a_failed_tool_is_told(error: str, name: str) -> None:
    failed = messages("Make me a learning plan", (PLAN, {"error": error}))
    assert next_profile_step(failed, TOOLS) == REPLY
    assert next_profile_step(failed, frozenset()).text == phrase(name, "en")
