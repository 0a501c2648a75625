"""The guardrail role: may this message be handled, and what is said when it may not."""

from __future__ import annotations

import logging

from langchain_core.messages import SystemMessage

from actors.conversation import evidence_json, to_langchain
from config import prompt_files
from config.policy import POLICY
from config.settings import Settings
from config.tenants import TenantConfig
from domain.budgets import Spent
from domain.errors import ModelUnavailable
from domain.messages import Message, latest_user_text
from domain.outcomes import GateOutcome
from domain.requests import RequestContext
from providers.build import model_name
from providers.failures import model_failures
from providers.interface import Choice, Models, Question
from providers.labelled_data import labelled
from providers.usage import CallMeter

log = logging.getLogger("manta.guardrail")


def gate_question() -> Question:
    """The one choice question ``guardrail_decision``; ``allow`` is the ordinary choice."""
    table = prompt_files.table("guardrail")
    choices = tuple(
        Choice(
            value=value,
            description=table[value]["description"],
            examples=tuple(table[value]["examples"]),
        )
        for value in ("allow", "doubt", "block")
    )
    rules = {value: tuple(patterns) for value, patterns in table["rules"].items()}
    return Question(
        name="guardrail_decision",
        instructions=table["instructions"],
        choices=choices,
        rules=rules,
    )


class Guardrail:
    """Decides once a turn; the caller holds the deadline over decision and reply together."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models = models
        self._settings = settings
        self._question = gate_question()

    async def prepare(self) -> None:
        await self._models.prepare([self._question])

    async def decide(
        self, context: RequestContext, tenant: TenantConfig, messages: tuple[Message, ...]
    ) -> GateOutcome:
        """Classify the latest user text; write a boundary reply unless it is allowed.

        Raises:
            ModelUnavailable: no usable decision, or a generation that failed. The turn stops:
                nothing is ever allowed because a check could not be made.
        """
        model = model_name(self._settings, tenant, "mini")
        decision = await self._models.decide(
            self._question,
            evidence_json(messages),
            latest=latest_user_text(messages),
            model=model,
            task="manta.guardrail.decision",
            request_id=context.request_id,
        )
        log.info(
            "gate_decision",
            extra={
                "request_id": context.request_id,
                "tenant": context.tenant,
                "decision": decision.value,
                "probabilities": decision.probabilities,
            },
        )
        if decision.value == "allow":
            return GateOutcome(decision="allow", spent=decision.spent)
        if decision.value not in ("doubt", "block"):
            raise ModelUnavailable("the decision model", "malformed reply")
        text, spent = await self._reply(context, model, decision.value, messages)
        if not text.strip():
            text = prompt_files.phrase(f"boundary_{decision.value}", context.locale)
        return GateOutcome(
            decision=decision.value,
            reply=text.strip(),
            spent=decision.spent + spent,
        )

    async def _reply(
        self,
        context: RequestContext,
        model: str,
        decision: str,
        messages: tuple[Message, ...],
    ) -> tuple[str, Spent]:
        meter = CallMeter("manta.guardrail.reply", self._settings.prices, context.request_id)
        chat = self._models.chat(
            model, "manta.guardrail.reply", max_tokens=POLICY.gate.reply_tokens
        )
        recent = [m for m in messages if m.role != "tool" and m.text.strip()]
        prompt = [
            SystemMessage(prompt_files.text("guardrail_reply")),
            *to_langchain(recent[-POLICY.gate.recent_messages :]),
            labelled("boundary", {"decision": decision, "language": context.locale}),
        ]
        with model_failures():
            reply = await chat.ainvoke(prompt, {"callbacks": [meter]})
        ended = reply.response_metadata
        if ended.get("finish_reason") not in (None, "stop") or ended.get("status") == "incomplete":
            raise ModelUnavailable("the model", "incomplete reply")
        return reply.text, meter.spent
