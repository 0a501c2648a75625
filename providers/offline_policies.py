"""What the offline model does next: one fixed policy a task, over the bound tools.

A policy reads the same messages as a model that writes would, and decides from scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from config import prompt_files
from config.prompt_files import phrase
from providers.embedding import Embedder
from providers.interface import Choice, Question
from providers.labelled_data import read_labelled
from providers.offline_campus import CampusPolicy
from providers.offline_decisions import OfflineDecider
from providers.offline_distress import INTENT as DISTRESS
from providers.offline_distress import is_harassed
from providers.offline_documents import DocumentPolicy
from providers.offline_facts import asks_what_is_remembered, besides, tells_of_author
from providers.offline_follow_ups import added, earlier_questions, is_continuation, is_retry
from providers.offline_memory import MemoryPolicy
from providers.offline_people import next_person_step
from providers.offline_profile import next_profile_step
from providers.offline_records import SEARCHES, SearchPolicy
from providers.offline_research import ResearchPolicy
from providers.offline_steps import REPLY, Step, results_of, users
from providers.offline_summary import summary_step
from providers.offline_tasks import list_text, names_id, task_text

EARLIER_MESSAGES = 4
TASK_THRESHOLD = 0.34
NO_TASK_INTENTS = frozenset({"greeting", "thanks", "distress"})
"""What needs no list, also where the user entered task guidance directly."""


def intent_question() -> Question:
    """Whether a message in career chat needs a fact about the organisation."""
    table = prompt_files.table("knowledge_intent")
    return Question(
        name="knowledge_intent",
        instructions=table["instructions"],
        choices=tuple(
            Choice(value=name, description=entry["description"], examples=tuple(entry["examples"]))
            for name, entry in table.items()
            if isinstance(entry, dict) and "examples" in entry
        ),
        rules={name: tuple(patterns) for name, patterns in table["rules"].items()},
    )


class OfflinePolicies:
    """Lives with the process."""

    def __init__(self, embedder: Embedder, decider: OfflineDecider) -> None:
        self._embedder = embedder
        self._decider = decider
        self._research = ResearchPolicy(embedder)
        self._memory = MemoryPolicy(embedder)
        self.campus = CampusPolicy(embedder, decider)
        self._searches = SearchPolicy(embedder)
        self._documents = DocumentPolicy(embedder)
        self._intent = intent_question()

    async def next_step(
        self, task: str, messages: Sequence[BaseMessage], tools: frozenset[str]
    ) -> Step:
        if task == "manta.research":
            name, arguments = await self._research.next_call(messages, tools)
            return Step(call=name, arguments=arguments)
        if task == "manta.career_chat":
            return await self._career_chat(messages, tools)
        if task == "manta.task_guidance":
            return await self._task_guidance(messages, tools)
        if task in SEARCHES:
            return await self._searches.next_step(SEARCHES[task], messages, tools)
        if task == "manta.person_disambiguation":
            return next_person_step(messages, tools)
        if task == "manta.profile_analysis":
            return next_profile_step(messages, tools)
        if task.startswith("manta.campus_advisor"):
            return await self.campus.next_step(task, messages, tools)
        if task == "manta.memory.update":
            return await self._memory.updated(messages)
        if task == "manta.compaction":
            return summary_step(messages)
        if task == "manta.guardrail.reply":
            boundary = read_labelled(messages, "boundary")
            return Step(text=phrase(f"boundary_{boundary['decision']}", boundary["language"]))
        raise ValueError(f"the offline model has no policy for {task}")

    async def _career_chat(self, messages: Sequence[BaseMessage], tools: frozenset[str]) -> Step:
        request = read_labelled(messages, "request") or {}
        locale = request.get("language", "en")
        closed = results_of(messages, "transfer_to_knowledge_base")
        if closed:
            status = closed[-1].get("status")
            kind = "offline_unavailable" if status == "unavailable" else "offline_miss"
            return Step(text=phrase(kind, locale))
        asked = users(messages)
        if asked and asks_what_is_remembered(asked[-1]):
            return REPLY if tools else Step(text=_remembered(messages, locale))
        intent, question = await self._meant(asked)
        if intent != DISTRESS:
            company = intent == "company_fact"
            read = await self._documents.next_step(messages, tools, company=company)
            if read is not None:
                return read
        if "transfer_to_knowledge_base" in tools:
            if intent == "company_fact":
                if is_harassed(question):
                    # Who is told of harassment needs a contact; the words of the tale lead nowhere.
                    question = phrase("offline_harassment_question", locale)
                return Step(call="transfer_to_knowledge_base", arguments={"question": question})
            return Step(call="reply_to_user")
        if intent == "company_fact":
            unavailable = request.get("knowledge_sources") == "unavailable"
            return Step(
                text=phrase("offline_unavailable" if unavailable else "offline_no_sources", locale)
            )
        return Step(text=phrase(f"offline_{intent}", locale))

    async def _meant(self, asked: Sequence[str]) -> tuple[str, str]:
        """The intent of the latest message, and the question that it asks or asks again."""
        latest = asked[-1] if asked else ""
        if is_retry(latest):
            for end in range(len(asked) - 1, max(0, len(asked) - 1 - EARLIER_MESSAGES), -1):
                if is_retry(asked[end - 1]):
                    continue
                intent, question = await self._meant(asked[:end])
                if intent == "company_fact":
                    return intent, f"{question} {added(latest)}".strip()
        if tells_of_author(latest):
            latest = besides(latest)
            if "?" not in latest:
                return "told", latest
        intent = (await self._decider.decide(self._intent, latest)).value
        if intent == "company_fact" and is_continuation(latest):
            earlier = next(iter(earlier_questions(asked)), "")
            return intent, f"{earlier} {latest}".strip()
        return intent, latest

    async def _task_guidance(self, messages: Sequence[BaseMessage], tools: frozenset[str]) -> Step:
        locale = (read_labelled(messages, "request") or {}).get("language", "en")
        latest = users(messages)[-1]
        intent = (await self._decider.decide(self._intent, latest)).value
        if intent in NO_TASK_INTENTS:
            if tools:
                return Step(call="reply_to_user")
            return Step(text=phrase(f"offline_{intent}", locale))
        listed = results_of(messages, "list_my_tasks")
        if tools:
            if not listed:
                return Step(call="list_my_tasks")
            chosen = await self._named_task(latest, listed[-1].get("tasks") or [])
            if chosen and not results_of(messages, "get_task"):
                return Step(call="get_task", arguments={"task_id": chosen})
            return Step(call="reply_to_user")
        details = results_of(messages, "get_task")
        if details and "task" in details[-1]:
            return Step(text=task_text(details[-1]["task"], locale))
        tasks = listed[-1].get("tasks") if listed else None
        if not tasks:
            failed = not listed or "error" in listed[-1]
            return Step(
                text=phrase("offline_unavailable" if failed else "offline_no_tasks", locale)
            )
        return Step(text=list_text(tasks, latest, locale))

    async def _named_task(self, question: str, tasks: list[dict[str, Any]]) -> str | None:
        """The task that the question names, by its id or by its title's meaning."""
        for task in tasks:
            if names_id(question, str(task["id"])):
                return str(task["id"])
        if not tasks:
            return None
        vectors = await self._embedder.embed([question, *(str(task["title"]) for task in tasks)])
        scores = [
            sum(a * b for a, b in zip(vectors[0], vector, strict=True)) for vector in vectors[1:]
        ]
        best = max(range(len(scores)), key=scores.__getitem__)
        return str(tasks[best]["id"]) if scores[best] >= TASK_THRESHOLD else None


def _remembered(messages: Sequence[BaseMessage], locale: str) -> str:
    """The facts about the user, word for word."""
    facts = read_labelled(messages, "preferences")
    if not facts:
        return phrase("offline_nothing_remembered", locale)
    lines = [f"- {fact['text']}" for fact in facts]
    return "\n".join([phrase("offline_remembered", locale), "", *lines])
