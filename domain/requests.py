"""The request of one turn: who asks, in what language, with what allowances.

Nothing in here is checkpointed.
"""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from domain.budgets import Budget
from domain.messages import Message
from domain.outcomes import Summary
from domain.pauses import Resumption
from domain.preferences import Fact

_SAFE = re.compile(r"[^A-Za-z0-9_.@-]")


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

    @property
    def thread(self) -> str:
        """The conversation's key in the store."""
        return thread_id(self.tenant, self.user, self.conversation)


class SpecialistRequest(BaseModel):
    """What a specialist is given beside the request's context.

    ``messages`` end with the current turn; ``summary`` stands for what came before them.
    ``interactive`` says whether the client can show a pause: without it no tool that pauses is
    offered. ``token`` is the user's validated bearer token; it reaches only the tools that call the
    tenant's own systems.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    messages: tuple[Message, ...]
    summary: Summary | None = None
    facts: tuple[Fact, ...] = ()
    may_hand_off: bool = True
    interactive: bool = False
    resumption: Resumption | None = None
    token: SecretStr | None = None


def thread_id(tenant: str, user: str, conversation: str) -> str:
    """The key of a conversation. Its parts are escaped, so that no choice of names can make one
    owner's key equal another's."""
    return "|".join(escaped(part) for part in (tenant, user, conversation))


def owner_id(tenant: str, user: str) -> str:
    """The key of a user; escaped like a conversation's."""
    return "|".join(escaped(part) for part in (tenant, user))


def escaped(part: str) -> str:
    return _SAFE.sub(lambda match: "%" + match[0].encode("utf-8").hex(), part)
