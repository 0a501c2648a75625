"""The supervisor role: which enabled specialist answers this turn."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from actors.compaction import Compaction, due
from actors.conversation import routing_evidence_json
from actors.redirects import redirected
from config import prompt_files
from config.policy import POLICY
from config.settings import Settings
from config.tenants import SPECIALISTS, TenantConfig
from domain.budgets import Spent
from domain.deadlines import within
from domain.errors import DeadlineExceeded, InvalidConfiguration, ModelUnavailable
from domain.messages import Message, latest_user_text
from domain.outcomes import RoutingOutcome, Summary
from domain.requests import RequestContext
from providers.build import model_name
from providers.interface import Choice, Models, Question

log = logging.getLogger("manta.supervisor")


def routing_question(specialists: Sequence[str]) -> Question:
    """One choice question whose choices are the tenant's enabled specialists only."""
    table = prompt_files.table("specialists")
    return Question(
        name="supervisor_decision",
        instructions=table["instructions"],
        choices=tuple(
            Choice(
                value=name,
                description=table[name]["description"],
                examples=_examples(name),
            )
            for name in specialists
        ),
        rules={name: tuple(table[name].get("rules", ())) for name in specialists},
    )


def _examples(specialist: str) -> tuple[str, ...]:
    """What users say to a specialist, in every language that the folder has."""
    by_language: dict[str, list[str]] = prompt_files.table(f"examples/{specialist}")
    return tuple(text for texts in by_language.values() for text in texts)


class Supervisor:
    """Chooses a specialist and keeps long conversations short; it never writes to the user."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models = models
        self._settings = settings
        self._compaction = Compaction(models, settings)

    async def prepare(self) -> None:
        await self._models.prepare([routing_question(SPECIALISTS)])

    async def decide(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        completed: tuple[Message, ...],
        current: tuple[Message, ...],
        summary: Summary | None,
        active_agent: str | None,
    ) -> RoutingOutcome:
        """With exactly one enabled specialist no routing model is called; with none the turn fails.

        Args:
            completed: the messages of completed turns since ``summary``.
            current: this turn's messages.

        Raises:
            InvalidConfiguration: no specialist is enabled.
            ModelUnavailable: no usable decision.
            DeadlineExceeded: none in time, retries and their waits included.
        """
        enabled = tenant.enabled_specialists()
        if not enabled:
            raise InvalidConfiguration(
                "chatbot.agents", "no specialist is active", "activate at least one"
            )
        model = model_name(self._settings, tenant, "mini")
        renewed, spent = await self._renewed(context, model, completed, summary)
        if renewed is not None:
            completed = completed[renewed.covers - (summary.covers if summary else 0) :]
        if len(enabled) == 1:
            return RoutingOutcome(specialist=enabled[0], summary=renewed, spent=spent)
        known = renewed or summary
        messages = (*completed, *current)
        evidence = routing_evidence_json(
            messages,
            current_agent=active_agent,
            requested_language=context.locale,
            summary=known.text if known else None,
        )
        async with within(POLICY.nodes.supervisor_decision, "the routing decision"):
            decision = await self._models.decide(
                routing_question(enabled),
                evidence,
                latest=latest_user_text(messages),
                model=model,
                task="manta.supervisor",
                request_id=context.request_id,
            )
        if decision.value not in enabled:
            raise ModelUnavailable("the decision model", "malformed reply")
        destination = redirected(decision.value, messages, active_agent, enabled)
        log.info(
            "routing",
            extra={
                "request_id": context.request_id,
                "tenant": context.tenant,
                "specialist": destination,
                "redirected": destination != decision.value,
                "probabilities": decision.probabilities,
            },
        )
        return RoutingOutcome(specialist=destination, summary=renewed, spent=spent + decision.spent)

    async def _renewed(
        self,
        context: RequestContext,
        model: str,
        completed: tuple[Message, ...],
        summary: Summary | None,
    ) -> tuple[Summary | None, Spent]:
        """A new summary where one is due. Without one the turn goes on: histories are trimmed as
        well, so a failed summary costs memory and not the answer."""
        covered = due(completed)
        if covered == 0:
            return None, Spent()
        try:
            async with within(POLICY.nodes.summary, "the summary"):
                return await self._compaction.summarised(
                    context, model, completed[:covered], summary
                )
        except (ModelUnavailable, DeadlineExceeded) as error:
            log.warning(
                "summary_failed", extra={"request_id": context.request_id, "code": error.code}
            )
            return None, Spent()
