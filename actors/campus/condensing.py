"""Shortening the longest results when a batch is more than a model should read.

Nothing is rewritten: whole blocks of the page are kept, the nearest to the question, every table
and every block with an address. So what is left is in the page's language, can still be quoted word
for word, and costs no model call.
"""

from __future__ import annotations

import re

import numpy as np
from langchain_core.messages import HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from actors.campus.run import CampusRun, Delivered
from domain.errors import MantaError
from providers.embedding import Embedder

LEFT_OUT = "[…]"
_BLOCKS = re.compile(r"\n\s*\n")
_ROW = re.compile(r"\s\|\s|\t")
_ADDRESS = re.compile(r"https?://|www\.|\S+@\S+\.\w+")
_SHARE = 0.5
"""A result is cut to no less than this share of its fair part."""


async def condensed(run: CampusRun) -> None:
    """Shorten the batch's longest results until the whole fits the tenant's threshold."""
    limit = run.campus.condensed_above_tokens
    results = run.latest
    total = sum(tokens(one.text) for one in results)
    if total <= limit:
        return
    fair = limit // len(results)
    for one in sorted(results, key=lambda result: tokens(result.text), reverse=True):
        if total <= limit:
            return
        before = tokens(one.text)
        room = max(int(fair * _SHARE), before - (total - limit))
        await _shorten(run, one, room)
        total -= before - tokens(one.text)


async def _shorten(run: CampusRun, one: Delivered, room: int) -> None:
    blocks = [block for block in _BLOCKS.split(one.text) if block.strip()]
    if len(blocks) < 2:
        return
    nearness = await _nearness(run.question, blocks, run.services.models.embedder)
    order = sorted(range(len(blocks)), key=lambda index: -nearness[index])
    # A page of nothing but addresses must not crowd out what was looked for.
    kept = {order[0], *(index for index in order if _stays(blocks[index]))}
    used = sum(tokens(blocks[index]) for index in kept) + tokens(LEFT_OUT)
    for index in order:
        size = tokens(blocks[index])
        if index not in kept and used + size <= room:
            kept.add(index)
            used += size
    if len(kept) == len(blocks):
        return
    text = _joined(blocks, kept)
    source = run.evidence.get(one.source_id)
    if source is not None:
        # Only what the model is shown may be quoted.
        source.excerpts = [text if excerpt == one.text else excerpt for excerpt in source.excerpts]
    one.text = text


async def _nearness(question: str, blocks: list[str], embedder: Embedder) -> list[float]:
    """How near each block is to the question; the order of the page where nothing embeds."""
    try:
        vectors = np.asarray(await embedder.embed([question, *blocks]), dtype=np.float64)
    except MantaError:
        return [-float(index) for index in range(len(blocks))]
    return [float(value) for value in vectors[1:] @ vectors[0]]


def _stays(block: str) -> bool:
    rows = [line for line in block.splitlines() if _ROW.search(line)]
    return len(rows) > 1 or bool(_ADDRESS.search(block))


def _joined(blocks: list[str], kept: set[int]) -> str:
    parts: list[str] = []
    for index, block in enumerate(blocks):
        if index in kept:
            parts.append(block)
        elif not parts or parts[-1] != LEFT_OUT:
            parts.append(LEFT_OUT)
    return "\n\n".join(parts)


def tokens(text: str) -> int:
    return count_tokens_approximately([HumanMessage(text)])
