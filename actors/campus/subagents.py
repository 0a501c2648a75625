"""The ``task`` tool: MCP servers with sources of their own, asked by a small loop of their own.

Only the passages that their tools retrieved come back. What the loop's model says is dropped, and a
reference is a bare address: whatever could hold a token is cut off before anybody sees it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage

from actors.campus.agent import calls_or_text
from actors.campus.documents import query_of
from actors.campus.mcp_services import McpServices, translated
from actors.campus.references import bare, with_bare_references
from actors.campus.run import AGENT, CampusRun, Delivered, Tell
from actors.evidence import Source
from config import prompt_files
from config.campus import SubagentConfig
from config.policy import POLICY
from domain.deadlines import within
from domain.errors import InvalidInput, MantaError, Unavailable
from domain.events import Activity
from providers.failures import model_failures
from providers.interface import Models
from providers.labelled_data import labelled

log = logging.getLogger("manta.campus")


class Subagents:
    """Lives with the process; a connection lives as long as one request to a subagent."""

    def __init__(self, models: Models, services: McpServices) -> None:
        self._models = models
        self._services = services

    async def ask(self, run: CampusRun, arguments: dict[str, Any], tell: Tell) -> list[Delivered]:
        """The passages that the named subagent's tools retrieved for a request. What they retrieved
        before the subagent failed is kept.

        Raises:
            InvalidInput: no such subagent.
            Unavailable: its server cannot be reached, and nothing was retrieved.
            DeadlineExceeded: it took longer than its configuration allows; likewise.
        """
        request = query_of(arguments, "request")
        name = str(arguments.get("subagent") or "")
        subagent = next((one for one in run.campus.active_subagents if one.name == name), None)
        if subagent is None:
            known = ", ".join(one.name for one in run.campus.active_subagents)
            raise InvalidInput("subagent", "does not exist", f"use one of {known}")
        run.queries.append(request)
        tell(Activity(code="consulting_specialist", agent=AGENT))
        passages: list[dict[str, str]] = []
        try:
            with translated(subagent):
                async with within(subagent.timeout_seconds, f"the subagent {name}"):
                    await self._loop(run, subagent, request, passages)
        except MantaError as error:
            if not passages:
                raise
            log.warning("subagent_cut", extra={**run.about_it(), "code": error.code})
        kept = passages[: POLICY.campus.subagent_passages]
        return [_delivered(run, name, passage) for passage in kept]

    async def _loop(
        self,
        run: CampusRun,
        subagent: SubagentConfig,
        request: str,
        passages: list[dict[str, str]],
    ) -> None:
        """At most ``recursion_limit`` model turns; the passages of all their tool calls are added
        to ``passages`` as they come."""
        async with self._services.connection(subagent) as client:
            tools = [_schema(tool) for tool in (await client.list_tools()).tools]
            if not tools:
                raise Unavailable(f"the subagent {subagent.name}", "its server has no tools")
            chat = self._models.chat(run.model, "manta.campus_advisor.subagent").bind_tools(tools)
            messages: list[BaseMessage] = [
                SystemMessage(f"{subagent.prompt}\n\n{prompt_files.text('campus_subagent')}"),
                labelled("request", {"language": run.context.locale}),
                HumanMessage(request),
            ]
            known = {tool["function"]["name"] for tool in tools}
            failed = False
            for _ in range(subagent.recursion_limit):
                run.meter.take("model_calls")
                with model_failures():
                    answered = await chat.ainvoke(messages, {"callbacks": [run.calls]})
                reply = calls_or_text(answered)
                if not reply.tool_calls:
                    break
                messages.append(reply)
                for call in reply.tool_calls:
                    found = await _called(client, call) if call["name"] in known else None
                    failed = found is None
                    passages += [one for one in found or () if one not in passages]
                    body = {"passages": found} if found is not None else {"error": "failed"}
                    text = json.dumps(body, ensure_ascii=False)
                    messages.append(ToolMessage(text, tool_call_id=call["id"] or ""))
        if failed and not passages:
            raise Unavailable(f"the subagent {subagent.name}", "its tools failed")


async def _called(client: Any, call: Mapping[str, Any]) -> list[dict[str, str]] | None:
    """What one tool of the server retrieved; ``None`` when it refuses the call or fails."""
    from mcp import MCPError

    try:
        result = await client.call_tool(call["name"], call["args"])
    except MCPError as error:
        log.info("subagent_call_failed", extra={"code": error.code})
        return None
    return None if result.is_error else passages_of(result)


def passages_of(result: Any) -> list[dict[str, str]]:
    """Texts with title, place and a bare address, from structured content or from text blocks."""
    structured = result.structured_content
    listed = structured.get("passages") if isinstance(structured, dict) else None
    if isinstance(listed, list):
        return [_passage(one) for one in listed if isinstance(one, dict) and one.get("text")]
    texts = [block.text for block in result.content if getattr(block, "type", "") == "text"]
    return [_passage({"text": text}) for text in texts if text.strip()]


def _passage(one: Mapping[str, Any]) -> dict[str, str]:
    return {
        "title": with_bare_references(str(one.get("title") or "")),
        "section": with_bare_references(str(one.get("section") or one.get("heading") or "")),
        "url": bare(str(one.get("url") or "")),
        "text": with_bare_references(str(one["text"]))[: POLICY.campus.subagent_chars],
    }


def _schema(tool: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description or tool.name,
            "parameters": tool.input_schema,
        },
    }


def _delivered(run: CampusRun, name: str, passage: Mapping[str, str]) -> Delivered:
    title = passage["title"] or name
    source = Source(
        kind="web" if passage["url"] else "document",
        title=title,
        url=passage["url"] or None,
        heading=passage["section"] or None,
    )
    key = f"{name}|{passage['url']}|{passage['section']}|{title}"
    source_id = run.evidence.deliver(key, source, passage["text"])
    return Delivered(source_id, title, passage["text"], passage["section"])
