"""What one specialist invocation carries beside its messages; it is never checkpointed."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from config.tenants import TenantConfig
from domain.budgets import Meter
from domain.requests import RequestContext, SpecialistRequest


@dataclass(frozen=True, slots=True)
class SpecialistRun:
    """Runtime context of an agent: who asks, which tools are offered, and the public model."""

    context: RequestContext
    tenant: TenantConfig
    request: SpecialistRequest
    offered: frozenset[str]
    public_model: BaseChatModel
    meter: Meter
    """Counts against the request's own allowances, which may be narrower than the policy's."""
