"""The memory role: what should be remembered about a user from now on.

It reads the latest user message and never the generated answer, beside the rest of the turn.
"""

from __future__ import annotations

import json
import logging
from datetime import date

from langchain_core.messages import SystemMessage
from pydantic import BaseModel, ConfigDict, Field

from actors.conversation import evidence_json
from config import prompt_files
from config.policy import POLICY
from config.settings import Settings
from config.tenants import TenantConfig
from domain.errors import ModelUnavailable
from domain.messages import Message, latest_user_text
from domain.outcomes import MemoryOutcome
from domain.preferences import Fact
from domain.requests import RequestContext
from providers.build import model_name
from providers.failures import model_failures
from providers.interface import Choice, Models, Question
from providers.labelled_data import labelled
from providers.usage import CallMeter

log = logging.getLogger("manta.memory")


class FactList(BaseModel):
    """The complete list of durable facts."""

    model_config = ConfigDict(extra="forbid")

    facts: list[RememberedFact]


class RememberedFact(BaseModel):
    """One fact as a model writes it; dates are plain text, because strict schemas know no dates."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(description="One sentence in the first person.")
    language: str = Field(description="The two letters of its language.")
    since: str = Field(description="YYYY-MM-DD: unchanged for a kept fact, today for a new one.")


def memory_question() -> Question:
    """The one choice question ``memory_update_decision``; ``skip`` is the ordinary choice."""
    table = prompt_files.table("memory")
    return Question(
        name="memory_update_decision",
        instructions=table["instructions"],
        choices=tuple(
            Choice(
                value=value,
                description=table[value]["description"],
                examples=tuple(table[value]["examples"]),
            )
            for value in ("skip", "update")
        ),
        rules={value: tuple(patterns) for value, patterns in table["rules"].items()},
    )


class Memory:
    """Decides skip or update; only an update generates, and it reconciles the whole list."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models = models
        self._settings = settings
        self._question = memory_question()

    async def prepare(self) -> None:
        await self._models.prepare([self._question])

    async def update(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        messages: tuple[Message, ...],
        known: tuple[Fact, ...],
    ) -> MemoryOutcome:
        """The new list, or ``None`` in it when the message changes nothing.

        Raises:
            ModelUnavailable: no usable decision or list. Nothing is then changed.
        """
        model = model_name(self._settings, tenant, "mini")
        evidence = evidence_json(messages)
        decision = await self._models.decide(
            self._question,
            evidence,
            latest=latest_user_text(messages),
            model=model,
            task="manta.memory.decision",
            request_id=context.request_id,
        )
        if decision.value == "skip":
            return MemoryOutcome(spent=decision.spent)
        if decision.value != "update":
            raise ModelUnavailable("the decision model", "malformed reply")
        meter = CallMeter("manta.memory.update", self._settings.prices, context.request_id)
        chat = self._models.chat(model, "manta.memory.update")
        structured = chat.with_structured_output(FactList, method="json_schema", strict=True)
        prompt = [
            SystemMessage(prompt_files.text("memory_update")),
            labelled("facts", [fact.model_dump(mode="json") for fact in known]),
            labelled(
                "conversation",
                {
                    "date": date.today().isoformat(),
                    "language": context.locale,
                    **json.loads(evidence),
                },
            ),
        ]
        with model_failures():
            reply = await structured.ainvoke(prompt, {"callbacks": [meter]})
        facts = reconciled(reply, known, date.today())
        log.info(
            "memory_updated",
            extra={
                "request_id": context.request_id,
                "tenant": context.tenant,
                "before": len(known),
                "after": len(facts),
            },
        )
        return MemoryOutcome(facts=facts, spent=decision.spent + meter.spent)


def reconciled(reply: object, known: tuple[Fact, ...], today: date) -> tuple[Fact, ...]:
    """A model's list, checked: a fact that it kept keeps its own language and date, whatever the
    model wrote there, and a fact of today has today's date.

    Raises:
        ModelUnavailable: it is no list of facts, or longer than the policy allows.
    """
    if not isinstance(reply, FactList) or len(reply.facts) > POLICY.preferences.facts:
        raise ModelUnavailable("the model", "malformed reply")
    before = {fact.text: fact for fact in known}
    facts: dict[str, Fact] = {}
    for remembered in reply.facts:
        text = " ".join(remembered.text.split())
        if not text or len(text) > POLICY.preferences.fact_chars:
            raise ModelUnavailable("the model", "malformed reply")
        language = remembered.language.strip().lower()[:2]
        facts[text] = before.get(text) or Fact(text=text, language=language, since=today)
    return tuple(facts.values())
