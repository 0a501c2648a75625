"""The request of one turn: who asks, in what language, with what allowances.

Nothing in here is checkpointed.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from domain.budgets import Budget


class RequestContext(BaseModel):
    """Identity and limits of one request; travels to every actor of the turn.

    ``request_id`` and ``tenant``/``user`` are the correlation that logs carry.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    request_id: str
    tenant: str
    user: str
    conversation: str
    locale: str
    budget: Budget = Field(default_factory=Budget)
