"""Choosing the evidence: quotes, checked word for word, before anything is written for the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from actors.campus.condensing import tokens
from actors.campus.run import CampusRun, Delivered, as_shown
from actors.evidence import Evidence, citation, folded
from actors.structured_answer import MIN_QUOTE_CHARS
from config import prompt_files
from domain.answers import Citation
from providers.failures import model_failures
from providers.labelled_data import labelled

SELECT = "select_evidence"
SELECT_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": SELECT,
        "description": "Name the passages that answer the question, or none.",
        "parameters": {
            "type": "object",
            "properties": {
                "citations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "source_id": {"type": "string"},
                            "quote": {
                                "type": "string",
                                "description": "Copied letter by letter from that source.",
                            },
                        },
                        "required": ["source_id", "quote"],
                    },
                }
            },
            "required": ["citations"],
        },
    },
}


async def selected(run: CampusRun) -> tuple[Citation, ...]:
    """The checked quotes, numbered by source; a quote that is not in its source is dropped.

    Raises:
        ModelUnavailable: the call failed.
    """
    run.meter.take("model_calls")
    chat = run.services.models.chat(run.model, "manta.campus_advisor.evidence")
    bound = chat.bind_tools([SELECT_TOOL], tool_choice="any")
    shown = within_threshold(run.latest, run.campus.condensed_above_tokens)
    prompt: list[BaseMessage] = [
        SystemMessage(prompt_files.text("campus_evidence")),
        labelled("request", {"language": run.context.locale}),
        labelled("evidence", [as_shown(one) for one in shown]),
        HumanMessage(run.question),
    ]
    with model_failures():
        reply = await bound.ainvoke(prompt, {"callbacks": [run.calls]})
    calls = reply.tool_calls if isinstance(reply, AIMessage) else []
    asked = calls[0]["args"].get("citations") if calls else []
    return checked(run.evidence, asked if isinstance(asked, list) else [])


def within_threshold(results: Sequence[Delivered], limit: int) -> list[Delivered]:
    """The results that fit ``limit`` tokens together. Condensing keeps the whole batch within it,
    but for tables and addresses, which it never cuts; one result is always shown."""
    shown: list[Delivered] = []
    room = limit
    for one in results:
        size = tokens(one.text)
        if size <= room or not shown:
            shown.append(one)
            room -= size
    return shown


def checked(evidence: Evidence, asked: Sequence[Any]) -> tuple[Citation, ...]:
    """Citations of the quotes that their sources hold; one number a source, in order."""
    numbers: dict[str, int] = {}
    citations: dict[tuple[str, str], Citation] = {}
    for one in asked:
        if not isinstance(one, dict):
            continue
        source_id, quote = str(one.get("source_id")), str(one.get("quote") or "")
        source = evidence.get(source_id)
        if source is None or len(folded(quote)) < MIN_QUOTE_CHARS:
            continue
        excerpt = source.excerpt_with(quote)
        if excerpt is None:
            continue
        number = numbers.setdefault(source_id, len(numbers) + 1)
        found = citation(number, source, quote, excerpt)
        citations.setdefault((source_id, folded(quote)), found)
    return tuple(citations.values())
