"""Shortening what is too long: blocks are left out, words never change."""

from __future__ import annotations

from typing import Any

import pytest
from campus_bench import DOWN, EVIDENCE, SEARCH, CampusBench, cite, results
from campus_runs import delivered, run_of
from fake_roles import passage
from model_server import ModelServer
from scripted_replies import Chosen, Text

from actors.campus.condensing import LEFT_OUT, condensed, tokens
from actors.campus.run import CampusRun
from actors.campus.selecting import checked, within_threshold

ANSWER = Text("Bis 15. Juli [1].")
LIMIT = 500
"""The lowest threshold that a tenant may configure."""
TABLE = "Fach | Frist\nBiologie | 15. Juli\nChemie | 30. September"
ADDRESS = "Fragen: studium@uni.example oder www.uni.example/hilfe"
GERMAN = "Die Bewerbungsfrist für zulassungsbeschränkte Fächer endet am 15. Juli."


def filler(number: int, words: int = 100) -> str:
    return f"Abschnitt {number}. " + " ".join(["Füllwort"] * words)


def page(*blocks: str) -> str:
    return "\n\n".join(blocks)


def run_with(*texts: str, near: dict[str, float] | None = None, **more: Any) -> CampusRun:
    run = run_of(near=near or {"Abschnitt": 0.1}, condensed_above_tokens=LIMIT, **more)
    run.latest = [delivered(run, text, key=str(n)) for n, text in enumerate(texts)]
    return run


def text_of_tokens(count: int) -> str:
    text = page("A.", "B.")
    return text + "x" * (4 * (count - tokens(text)))


@pytest.mark.parametrize(("size", "cut"), [(LIMIT - 1, False), (LIMIT, False), (LIMIT + 1, True)])
async def test_only_what_exceeds_the_threshold_is_shortened(size: int, cut: bool) -> None:
    text = text_of_tokens(size)
    assert tokens(text) == size
    run = run_with(text, near={"A.": 0.9, "B.": 0.1})
    await condensed(run)
    assert (run.latest[0].text != text) is cut
    assert run.services.models.embedder.embedded == (
        [] if not cut else [run.question, *text.split("\n\n")]
    )


async def test_the_nearest_blocks_stay_and_what_is_left_out_is_marked() -> None:
    run = run_with(page(filler(1), filler(2), GERMAN, filler(3), filler(4)))
    await condensed(run)
    text = run.latest[0].text
    assert GERMAN in text and tokens(text) <= LIMIT
    assert LEFT_OUT in text and LEFT_OUT * 2 not in text.replace("\n", "")


async def test_tables_and_addresses_stay_although_they_are_far() -> None:
    blocks = [filler(1), TABLE, filler(2), ADDRESS, GERMAN, filler(3), filler(4)]
    run = run_with(page(*blocks), near={"Abschnitt": 0.5, "Fach": 0.0, "Fragen": 0.0})
    await condensed(run)
    text = run.latest[0].text
    assert TABLE in text and ADDRESS in text and GERMAN in text and tokens(text) <= LIMIT


async def test_addresses_do_not_crowd_out_what_was_looked_for() -> None:
    links = [f"Seite {n}: https://uni.example/{'x' * 300}" for n in range(8)]
    near = {"Seite": 0.1, "Abschnitt": 0.1}
    run = run_with(page(*links[:4], GERMAN, *links[4:], filler(1)), near=near)
    await condensed(run)
    assert GERMAN in run.latest[0].text and all(link in run.latest[0].text for link in links)
    assert filler(1) not in run.latest[0].text


async def test_words_and_language_are_the_pages_own() -> None:
    blocks = [filler(1), GERMAN, filler(2), TABLE, filler(3)]
    run = run_with(page(*blocks))
    await condensed(run)
    kept = run.latest[0].text.split("\n\n")
    assert [block for block in kept if block != LEFT_OUT] == [b for b in blocks if b in kept]
    assert set(kept) <= {*blocks, LEFT_OUT}


async def test_the_longest_result_is_shortened_first_and_a_short_one_not_at_all() -> None:
    short = page("Kurz.", "Ganz kurz.")
    run = run_with(short, page(*(filler(n) for n in range(5))))
    await condensed(run)
    assert run.latest[0].text == short
    assert tokens(run.latest[1].text) < tokens(filler(1)) * 5


async def test_without_embeddings_the_beginning_stays() -> None:
    run = run_with(page(*(filler(n) for n in range(5))), embedding=DOWN)
    await condensed(run)
    assert run.latest[0].text.startswith("Abschnitt 0.") and "Abschnitt 4" not in run.latest[0].text


async def test_a_single_block_is_left_whole() -> None:
    run = run_with(filler(1, words=600))
    await condensed(run)
    assert run.latest[0].text == filler(1, words=600)


async def test_what_was_left_out_can_no_longer_be_quoted() -> None:
    run = run_with(page(filler(1), GERMAN, filler(2), filler(3)), near={"Abschnitt": 0.0})
    asked = [
        {"source_id": "d1", "quote": "endet am 15. Juli"},
        {"source_id": "d1", "quote": "Abschnitt 3. Füllwort"},
    ]
    assert len(checked(run.evidence, asked)) == 2
    await condensed(run)
    assert [one.quote for one in checked(run.evidence, asked)] == ["endet am 15. Juli"]


def test_the_evidence_fits_the_threshold_and_is_never_empty() -> None:
    run = run_with(filler(1, words=900), filler(2, words=10), filler(3, words=900))
    shown = within_threshold(run.latest, LIMIT)
    assert shown == [run.latest[0]]
    assert within_threshold(run.latest[1:], LIMIT) == [run.latest[1]]
    assert within_threshold([], LIMIT) == []


async def test_agent_and_evidence_see_the_same_shortened_text(models: ModelServer) -> None:
    long = passage(page(filler(1), GERMAN, *(filler(n) for n in range(2, 6))), "Bewerbung")
    grades = [Chosen("not_relevant"), Chosen("relevant")]
    bench = CampusBench(
        models, passages=[long], near={"Abschnitt": 0.4}, condensed_above_tokens=LIMIT
    )
    _, outcome = await bench.run(
        SEARCH, SEARCH, ANSWER, grading=grades, evidence=[cite("d1", "15. Juli")]
    )
    [result] = results(models, 1)
    [evidence] = models.asked(EVIDENCE)
    for shown in (result["results"][0]["text"], str(evidence)):
        assert "15. Juli" in shown and LEFT_OUT in shown and "Abschnitt 5" not in shown
    assert outcome.text.startswith("Bis 15. Juli")
