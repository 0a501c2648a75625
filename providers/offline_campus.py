"""What the offline model does as a university's assistant: look everywhere, quote what answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from config import prompt_files
from config.prompt_files import phrase
from providers.embedding import Embedder
from providers.extractive import findings
from providers.extractive_units import Delivered
from providers.extractive_verdict import ANSWER, chance, quotable
from providers.interface import Choice, Question
from providers.labelled_data import read_labelled
from providers.offline_decisions import OfflineDecider
from providers.offline_follow_ups import earlier_questions, is_continuation
from providers.offline_steps import Step, language_of, questions
from providers.offline_vectors import RememberedVectors

AGENT = "manta.campus_advisor"
DOCUMENTS, WEB, TROUBLESHOOTING, TASK = "search_documents", "search_web", "troubleshooting", "task"
SELECT = "select_evidence"

_APPLICATION = re.compile(
    r"\bappl(?:y|ication|ying)\w*|\badmission|\benrol|\bnumerus\s+clausus|\bnc\b"
    r"|\bbewerb\w*|\bzulass\w*|\beinschreib\w*|\bimmatrikul\w*"
    r"|\bcandidat\w*|\badmis\w*|\binscri\w*",
    re.IGNORECASE,
)
_TEACHING = re.compile(
    r"\bteach(?:ing|er)\w*|\blehr(?:amt|er)\w*|\bmaster\s+of\s+education|\benseign\w*|\bprofesseur",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\blog\s?in|\bpassword|\bwi-?fi|\bwlan|\beduroam|\bvpn|\be-?mail|\bprint\w*|\baccount"
    r"|\banmelden\s+im\s+portal|\bkennwort|\bpasswort|\bdruck\w*|\bmot\s+de\s+passe|\bimprim\w*",
    re.IGNORECASE,
)
_REGULATION = re.compile(
    r"\bregulation|\bretake|\bresit|\bwithdraw|\bthesis|\bexam\w*|\bcredit"
    r"|\bprüfung\w*|\bwiederhol\w*|\brücktritt|\babschlussarbeit|\bbachelorarbeit|\bmasterarbeit"
    r"|\bleistungspunkt\w*|\brègl\w*|\brattrap\w*|\bmémoire",
    re.IGNORECASE,
)


class CampusPolicy:
    """Lives with the process."""

    def __init__(self, embedder: Embedder, decider: OfflineDecider) -> None:
        self._vectors = RememberedVectors(embedder)
        self._decider = decider
        self._judge = _judge_question()

    async def next_step(
        self, task: str, messages: Sequence[BaseMessage], tools: frozenset[str]
    ) -> Step:
        if task == f"{AGENT}.subagent":
            return _ask_service(messages, tools)
        if task == f"{AGENT}.evidence":
            return await self._select(messages)
        if not tools:
            return _written(messages)
        return await self._look(messages, tools)

    async def relevant(self, evidence: str) -> bool:
        """The grader's decision: whether anything delivered would be quoted."""
        given = json.loads(evidence)
        sources = [_source(str(n), one) for n, one in enumerate(given["results"])]
        found = await findings(self._vectors, given["question"], sources, "")
        return bool(found) and chance(found[0]) >= ANSWER

    async def _look(self, messages: Sequence[BaseMessage], tools: frozenset[str]) -> Step:
        locale = language_of(messages)
        asked = questions(messages)
        latest = asked[-1] if asked else ""
        if read_labelled(messages, "judgement") is None:
            kind = (await self._decider.decide(self._judge, latest)).value
            if kind != "needs_tools":
                return Step(text=phrase(f"offline_campus_{kind}", locale))
        query = latest
        if is_continuation(latest) and len(asked) > 1:
            query = f"{next(iter(earlier_questions(asked)), '')} {latest}".strip()
        about = "teaching" if _TEACHING.search(query) else "general"
        if about == "general" and _APPLICATION.search(query):
            about = "application"
        asked_of: dict[str, dict[str, Any]] = {
            WEB: {"query": query, "about": about},
            DOCUMENTS: {"query": query},
        }
        if _TROUBLE.search(query):
            asked_of[TROUBLESHOOTING] = {"query": query}
        services = _services(messages)
        if services and _REGULATION.search(query):
            asked_of[TASK] = {"subagent": services[0], "request": query}
        calls = [(name, arguments) for name, arguments in asked_of.items() if name in tools]
        if not calls:
            # Of what is offered nothing suits the question; nothing is better than no search.
            name = sorted(tools)[0]
            calls = [
                (name, {"query": query, "request": query, "subagent": next(iter(services), "")})
            ]
        (name, arguments), *also = calls
        return Step(call=name, arguments=arguments, also=tuple(also))

    async def _select(self, messages: Sequence[BaseMessage]) -> Step:
        evidence = read_labelled(messages, "evidence") or []
        sources = [_source(one["source_id"], one) for one in evidence]
        asked = next(iter(reversed(questions(messages))), "")
        chosen = quotable(await findings(self._vectors, asked, sources, language_of(messages)))
        citations = [
            {"source_id": finding.unit.source.source_id, "quote": finding.unit.text}
            for finding in chosen
        ]
        return Step(call=SELECT, arguments={"citations": citations})


def _source(source_id: str, one: dict[str, Any]) -> Delivered:
    return Delivered(source_id, one["text"], one["title"], heading=one["place"])


def _written(messages: Sequence[BaseMessage]) -> Step:
    """The checked quotes, each with its number."""
    lines = [phrase("offline_quote_intro", language_of(messages)), ""]
    for one in read_labelled(messages, "evidence") or ():
        quoted = [line for line in str(one["quote"]).split("\n") if line.strip()]
        lines += [f"> {line}" for line in quoted[:-1]]
        lines += [f"> {quoted[-1]} [{one['number']}]", ""]
    return Step(text="\n".join(lines).strip())


def _ask_service(messages: Sequence[BaseMessage], tools: frozenset[str]) -> Step:
    """One search with the request's own words; what it returns is all there is."""
    if any(message.type == "tool" for message in messages) or not tools:
        return Step(text=phrase("offline_quote_intro", language_of(messages)))
    asked = next(iter(reversed(questions(messages))), "")
    return Step(call=sorted(tools)[0], arguments={"query": asked})


def _services(messages: Sequence[BaseMessage]) -> list[str]:
    return list((read_labelled(messages, "request") or {}).get("specialists", ()))


def _judge_question() -> Question:
    table = prompt_files.table("campus_judge")
    return Question(
        name="campus_judge",
        instructions=table["instructions"],
        choices=tuple(
            Choice(
                value=value,
                description=table[value]["description"],
                examples=tuple(table[value]["examples"]),
            )
            for value in ("needs_tools", "clarification", "greeting", "out_of_scope")
        ),
    )
