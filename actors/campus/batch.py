"""The tools node: one batch of calls, run at the same time, each failure its own.

A call that fails gets a result that says so, under its own id; the others are kept, and the turn
goes on. Only a cancellation passes.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage

from actors.campus.condensing import condensed
from actors.campus.run import CampusRun, CampusTool, Delivered, as_shown
from config.policy import POLICY
from domain.errors import AllowanceExhausted, InvalidInput, MantaError

log = logging.getLogger("manta.campus")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call found nothing. ``error`` is a code; ``mend`` says what a right call is like.

    A failure is the ``source``'s unless the call itself was wrong or one too many.
    """

    error: str
    mend: str = ""
    source: bool = True


async def run_batch(
    run: CampusRun,
    tools: Mapping[str, CampusTool],
    calls: Sequence[Mapping[str, Any]],
    beside: Mapping[str, Any] | None = None,
    seconds: float = POLICY.campus.tool_seconds,
) -> list[ToolMessage]:
    """The results of ``calls``, in their order.

    Args:
        beside: a call of ours; what it finds is shown with the first result.
        seconds: wall clock of each call, around what the tools keep to by themselves.
    """
    made = [*calls, *([beside] if beside else [])]
    before = len(run.queries)
    outcomes = await asyncio.gather(*(_one(run, tools, call, seconds) for call in made))
    run.asked = run.queries[before:]
    run.failed = [outcome.error for outcome in outcomes if isinstance(outcome, Failure)]
    _note_silence(run, [str(call["name"]) for call in made], outcomes)
    # Two calls may find the same passage: it is one result, and condensed for both.
    found: dict[tuple[str, str], Delivered] = {}
    results = [
        [found.setdefault((one.source_id, one.text), one) for one in outcome]
        if isinstance(outcome, list)
        else []
        for outcome in outcomes
    ]
    run.latest = list(found.values())
    await condensed(run)
    if beside is not None:
        results[0] = [*results.pop(), *results[0]]
    return [
        _message(call, outcome if isinstance(outcome, Failure) else None, shown)
        for call, outcome, shown in zip(calls, outcomes, results, strict=False)
    ]


def _note_silence(
    run: CampusRun, names: Sequence[str], outcomes: Sequence[list[Delivered] | Failure]
) -> None:
    """A source that answered is silent no longer, unless another call to it failed."""
    answered = {n for n, o in zip(names, outcomes, strict=True) if isinstance(o, list)}
    failed = {
        n for n, o in zip(names, outcomes, strict=True) if isinstance(o, Failure) and o.source
    }
    run.silent.difference_update(answered)
    run.silent.update(failed)


async def _one(
    run: CampusRun, tools: Mapping[str, CampusTool], call: Mapping[str, Any], seconds: float
) -> list[Delivered] | Failure:
    """What one call found, or why it found nothing."""
    name = str(call["name"])
    failure = Failure("tool_not_available", source=False)
    if name in tools:
        try:
            run.meter.take("tool_calls")
            async with asyncio.timeout(seconds):
                return await tools[name](run, dict(call["args"]))
        except TimeoutError:
            failure = Failure("timeout")
        except AllowanceExhausted:
            failure = Failure("limit_reached", source=False)
        except InvalidInput as error:
            failure = Failure(error.code, error.mend, source=False)
        except MantaError as error:
            failure = Failure(error.code)
        except Exception as error:  # noqa: BLE001 - one broken tool must not fail its whole batch
            failure = Failure("unexpected")
            log.error(
                "defect",
                extra={**run.about_it(), "tool": name, "error_type": type(error).__name__},
            )
    # A model may invent a name; only ours are logged.
    known = name if name in tools else "unknown"
    log.warning("tool_failed", extra={**run.about_it(), "tool": known, "code": failure.error})
    return failure


def _message(
    call: Mapping[str, Any], failure: Failure | None, shown: Sequence[Delivered]
) -> ToolMessage:
    body: dict[str, Any] = {}
    if failure is not None:
        body["error"] = failure.error
        if failure.mend:
            body["mend"] = failure.mend
    if failure is None or shown:
        body["results"] = [as_shown(one) for one in shown]
    return ToolMessage(
        json.dumps(body, ensure_ascii=False),
        tool_call_id=str(call["id"]),
        name=str(call["name"]),
        status="error" if failure is not None else "success",
    )
