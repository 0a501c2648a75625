"""The memory's work beside a turn: read, decide, write; its failure costs the turn nothing."""

from __future__ import annotations

import logging
import time
from typing import Any

from config.policy import POLICY
from domain.deadlines import within
from domain.errors import DeadlineExceeded, MantaError
from domain.messages import Message
from graph.state import TurnContext

log = logging.getLogger("manta.turn")


async def remember(context: TurnContext, said: tuple[Message, ...]) -> None:
    """Let the memory role reconcile the user's durable facts with what the user said now.

    The write names the version that was read at the turn's start: when the owner edited or erased
    the facts meanwhile, the owner's own act stands. Cancellation propagates.
    """
    assert context.preferences is not None
    started = time.monotonic()
    request = context.request
    about: dict[str, Any] = {"request_id": request.request_id, "tenant": request.tenant}
    try:
        async with within(POLICY.nodes.memory, "memory"):
            outcome = await context.roles.memory.update(
                request, context.tenant, said, context.facts
            )
            context.add(outcome.spent)
            if outcome.facts is None or outcome.facts == context.facts:
                return
            written = await context.preferences.write(
                request.tenant, request.user, outcome.facts, context.facts_version
            )
            if not written:
                log.warning("memory_superseded", extra=about)
    except DeadlineExceeded as error:
        elapsed = round(time.monotonic() - started, 3)
        log.warning(
            "memory_failed",
            extra={**about, "code": error.code, "elapsed": elapsed, "budget": error.seconds},
        )
    except MantaError as error:
        log.warning("memory_failed", extra={**about, "code": error.code})
    except Exception as error:  # noqa: BLE001 - best effort: whatever it was, the reply stands
        log.error("memory_failed", extra={**about, "error_type": type(error).__name__})
