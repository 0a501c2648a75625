"""The supervisor role: which enabled specialist answers this turn."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from actors.conversation import evidence_json
from config import prompt_files
from config.settings import Settings
from config.tenants import SPECIALISTS, TenantConfig
from domain.errors import InvalidConfiguration, ModelUnavailable
from domain.messages import Message, latest_user_text
from domain.outcomes import RoutingOutcome
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
                examples=tuple(table[name]["examples"]),
            )
            for name in specialists
        ),
    )


class Supervisor:
    """Chooses a specialist; it never writes to the user."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models = models
        self._settings = settings

    async def prepare(self) -> None:
        await self._models.prepare([routing_question(SPECIALISTS)])

    async def decide(
        self,
        context: RequestContext,
        tenant: TenantConfig,
        messages: tuple[Message, ...],
        active_agent: str | None,
    ) -> RoutingOutcome:
        """With exactly one enabled specialist no model is called; with none the turn fails.

        Raises:
            InvalidConfiguration: no specialist is enabled.
            ModelUnavailable: no usable decision.
        """
        enabled = tenant.enabled_specialists()
        if not enabled:
            raise InvalidConfiguration(
                "chatbot.agents", "no specialist is active", "activate at least one"
            )
        if len(enabled) == 1:
            return RoutingOutcome(specialist=enabled[0])
        evidence = evidence_json(
            messages, current_agent=active_agent, requested_language=context.locale
        )
        decision = await self._models.decide(
            routing_question(enabled),
            evidence,
            latest=latest_user_text(messages),
            model=model_name(self._settings, tenant, "mini"),
            task="manta.supervisor",
            request_id=context.request_id,
        )
        if decision.value not in enabled:
            raise ModelUnavailable("the decision model", "malformed reply")
        log.info(
            "routing",
            extra={
                "request_id": context.request_id,
                "tenant": context.tenant,
                "specialist": decision.value,
                "probabilities": decision.probabilities,
            },
        )
        return RoutingOutcome(specialist=decision.value, spent=decision.spent)
