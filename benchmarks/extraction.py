"""Quality and CPU of reading pages, against trafilatura alone and an lxml parse alone.

    OMP_NUM_THREADS=1 uv run python benchmarks/extraction.py [--data ../shared/data] [--json]

``--data`` names a folder with ``aeb`` (181 news articles of the Article Extraction Benchmark) and
``wcxb`` (pages of the Web Content Extraction Benchmark by type), each with its pages' HTML and the
text that people marked in them; ``README.md`` there says where they come from. Nothing is fetched.
One run takes about a minute of one CPU.

All three readers read the same page in the same run, one after the other, in a rotating order.
Quality: AEB is F1 over 4-word shingles of the text without its first level-1 heading, precision
and recall averaged over the pages; WCXB is F1 over the multiset of words of a page, averaged by
page type. CPU is process time in milliseconds a page; it is compared within a run only, as the
ratio of the two medians, which another process on the same machine hardly moves. Ours reads text,
headings with ids, and all links of a page; the others give text alone.

The quality figures are the same in every run. What they cannot tell: of five of the 89 pages of
documentation (PostgreSQL's SELECT, Python's asyncio tasks, MDN's table element, Rust's Result,
Django's models) a quarter to a half was marked, and reading the whole page scores .44 to .70 there.

The exit code is 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import trafilatura  # noqa: E402
from lxml import html  # noqa: E402

from crawler.extract import extract  # noqa: E402

BARS = {"aeb": 0.95, "documentation": 0.93, "service": 0.81}
CPU_BAR = 1.5
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Case:
    """One page with what a reader should get from it."""

    kind: str
    url: str
    body: bytes
    gold: str


@dataclass
class Tally:
    """One reader's scores by kind, and its milliseconds a page."""

    scores: dict[str, list[tuple[float, float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    cpu: list[float] = field(default_factory=list)


def cases(data: Path) -> Iterator[Case]:
    truth = json.loads((data / "aeb/ground-truth.json").read_text(encoding="utf-8"))
    for name, entry in truth.items():
        body = gzip.decompress((data / f"aeb/html/{name}.html.gz").read_bytes())
        yield Case("aeb", entry["url"], body, entry["articleBody"])
    for name, entry in json.loads((data / "wcxb/pages.json").read_text(encoding="utf-8")).items():
        document = json.loads((data / f"wcxb/ground-truth/{name}.json").read_text("utf-8"))
        gold = document["ground_truth"]
        gold = ast.literal_eval(gold) if isinstance(gold, str) else gold
        body = gzip.decompress((data / f"wcxb/html/{name}.html.gz").read_bytes())
        yield Case(entry["page_type"], document["url"], body, gold["main_content"])


def read_ours(case: Case) -> str:
    page = extract(case.body, "text/html", case.url)
    if case.kind == "aeb":
        for heading in page.headings:
            if heading.level == 1:
                end = heading.offset + len(heading.title)
                return page.text[: heading.offset] + page.text[end:]
    return page.text


def read_trafilatura(case: Case) -> str:
    return trafilatura.extract(case.body) or ""


def read_lxml(case: Case) -> str:
    root = html.document_fromstring(case.body)
    return str(root.text_content())


READERS: dict[str, Callable[[Case], str]] = {
    "ours": read_ours,
    "trafilatura": read_trafilatura,
    "lxml parse": read_lxml,
}


def score(case: Case, text: str) -> tuple[float, float, float]:
    """F1, precision and recall of one page."""
    found, gold = _WORD.findall(text.lower()), _WORD.findall(case.gold.lower())
    size = 4 if case.kind == "aeb" else 1
    ours, theirs = _shingles(found, size), _shingles(gold, size)
    common = sum((ours & theirs).values())
    precision = common / sum(ours.values()) if ours else float(not theirs)
    recall = common / sum(theirs.values()) if theirs else 1.0
    return _f1(precision, recall), precision, recall


def _shingles(words: list[str], size: int) -> Counter[tuple[str, ...]]:
    if not words:
        return Counter()
    starts = range(max(1, len(words) - size + 1))
    return Counter(tuple(words[start : start + size]) for start in starts)


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def measure(data: Path) -> dict[str, Tally]:
    tallies = {name: Tally() for name in READERS}
    names = list(READERS)
    for number, case in enumerate(cases(data)):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            begun = time.process_time()
            text = READERS[name](case)
            tallies[name].cpu.append((time.process_time() - begun) * 1000)
            tallies[name].scores[case.kind].append(score(case, text))
    return tallies


def summary(tally: Tally) -> dict[str, float]:
    figures: dict[str, float] = {}
    for kind, scores in tally.scores.items():
        precision = statistics.mean(one[1] for one in scores)
        recall = statistics.mean(one[2] for one in scores)
        mean = statistics.mean(one[0] for one in scores)
        figures[kind] = _f1(precision, recall) if kind == "aeb" else mean
    figures["cpu_median_ms"] = statistics.median(tally.cpu)
    figures["cpu_p95_ms"] = statistics.quantiles(tally.cpu, n=20)[-1]
    return figures


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    tallies = measure(given.data)
    figures = {name: summary(tally) for name, tally in tallies.items()}
    pairs = zip(tallies["ours"].cpu, tallies["trafilatura"].cpu, strict=True)
    paired = statistics.median(ours / theirs for ours, theirs in pairs if theirs)
    ratio = figures["ours"]["cpu_median_ms"] / figures["trafilatura"]["cpu_median_ms"]
    if given.json:
        print(json.dumps({"figures": figures, "cpu_ratio": ratio, "cpu_ratio_paired": paired}))
    else:
        columns = list(figures["ours"])
        print(f"{'':14}" + "".join(f"{column:>15}" for column in columns))
        for name, row in figures.items():
            print(f"{name:14}" + "".join(f"{row[column]:15.3f}" for column in columns))
        print(f"CPU: median over median {ratio:.2f}, median of the paired ratios {paired:.2f}")
    missed = [kind for kind, bar in BARS.items() if figures["ours"][kind] < bar]
    if ratio > CPU_BAR:
        missed.append("cpu")
    if missed:
        print(f"bars missed: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
