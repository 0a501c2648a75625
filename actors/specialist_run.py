"""What one specialist invocation carries beside its messages; it is never checkpointed."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from config.tenants import TenantConfig
from domain.requests import RequestContext


@dataclass(frozen=True, slots=True)
class SpecialistRun:
    """Runtime context of an agent: who asks, which tools are offered, and the public model."""

    context: RequestContext
    tenant: TenantConfig
    offered: frozenset[str]
    public_model: BaseChatModel
