"""The nodes of the advisor's graph, and what their results mean for the state."""

from __future__ import annotations

import logging
from functools import partial

from langgraph.runtime import Runtime

from actors.campus.agent import decided
from actors.campus.batch import run_batch
from actors.campus.closing import closing
from actors.campus.documents import FAQ, DocumentTools, faq_query
from actors.campus.judging import JUSTIFIED
from actors.campus.offered_tools import DOCUMENTS, TASK, TROUBLESHOOTING, WEB, offered_names
from actors.campus.routing import last_call
from actors.campus.run import AGENT, CampusRun, CampusState, CampusTool
from actors.campus.selecting import selected
from actors.campus.writing import written
from domain.events import Activity, TextDelivered
from providers.labelled_data import labelled

log = logging.getLogger("manta.campus")
Campus = Runtime[CampusRun]


async def agent(state: CampusState, runtime: Campus) -> CampusState:
    reply = await decided(runtime.context, state["messages"])
    return CampusState(messages=[reply], visits=1, text=reply.text)


async def tools(state: CampusState, runtime: Campus) -> CampusState:
    """Run the agent's calls. After a rewrite the FAQ is searched as well, whatever they are."""
    run, tell = runtime.context, runtime.stream_writer
    documents = DocumentTools(run.services.retriever, tell)
    known: dict[str, CampusTool] = {
        DOCUMENTS: documents.documents,
        WEB: partial(run.services.web.search, tell=tell),
        TROUBLESHOOTING: documents.troubleshooting,
        TASK: partial(run.services.subagents.ask, tell=tell),
    }
    offered = {name: known[name] for name in offered_names(run.tenant)}
    calls, beside = last_call(state).tool_calls, None
    if state["lap"] > 0 and run.campus.faq:
        offered[FAQ] = documents.faq
        beside = {"name": FAQ, "args": {"query": faq_query(calls[0]["args"], run.question)}}
    results = await run_batch(run, offered, calls, beside)
    return CampusState(messages=list(results), visits=1)


async def grade(state: CampusState, runtime: Campus) -> CampusState:
    run = runtime.context
    runtime.stream_writer(Activity(code="checking_documents", agent=AGENT))
    verdict = await run.services.grader.grade(run)
    runtime.stream_writer(verdict)
    log.info("campus_grade", extra={**run.about_it(), "reason": verdict.reason})
    return CampusState(verdict=verdict.decision, visits=1)


async def rewrite(state: CampusState, runtime: Campus) -> CampusState:
    """Tell the agent what was tried, and ask for another query."""
    run = runtime.context
    runtime.stream_writer(Activity(code="refining_search", agent=AGENT))
    note = labelled(
        "rewrite",
        {
            "note": "These searches did not answer the question. Search again, differently.",
            "tried": run.queries,
            "failed_tools": run.failed,
        },
    )
    return CampusState(messages=[note], visits=1, lap=1)


async def judge(state: CampusState, runtime: Campus) -> CampusState:
    """Let the agent's own text pass, or send it back with the reason."""
    run = runtime.context
    runtime.stream_writer(Activity(code="checking_response", agent=AGENT))
    verdict = await run.services.judge.judge(run, state["text"])
    runtime.stream_writer(verdict)
    log.info("campus_judge", extra={**run.about_it(), "reason": verdict.reason})
    if verdict.decision == JUSTIFIED:
        text = state["text"].strip()
        runtime.stream_writer(TextDelivered(agent=AGENT, text=text))
        return CampusState(verdict=JUSTIFIED, visits=1, text=text)
    note = labelled(
        "judgement",
        {
            "note": "This cannot be answered without looking it up. Use a tool.",
            "reason": verdict.reason,
        },
    )
    return CampusState(messages=[note], verdict=verdict.decision, visits=1)


async def generate(state: CampusState, runtime: Campus) -> CampusState:
    """Select and check the evidence, then write from it; without evidence, close honestly."""
    run = runtime.context
    runtime.stream_writer(Activity(code="preparing_answer", agent=AGENT))
    citations = await selected(run)
    if not citations:
        return await close(state, runtime)
    answer = await written(run, citations, runtime.stream_writer)
    return CampusState(answer=answer, text=answer.answer)


async def close(state: CampusState, runtime: Campus) -> CampusState:
    """End without an answer."""
    answer = closing(runtime.context)
    runtime.stream_writer(TextDelivered(agent=AGENT, text=answer.answer))
    return CampusState(answer=answer, text=answer.answer)
