"""The report of `make bench`: which targets are met, then every world in full, with charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import charts, report
from bench.core import FIRST, IDLE, Line
from bench.targets import Judgement, Results, judged

TITLE = "Foreset beside recomputation and its peers"
READ = """\
A refresh is measured from open to publish: capture, differentials, 200 rows verified, the manifest committed. `ratio`
says how many times longer the one to its left takes: our own recompute in the same session, or a peer. "Own, in Spark"
is our recompute with every step in Spark: the load, then one recompute. DuckDB: the
views' SQL over the same Delta tables, deltalake writes the results. Spark: every view overwritten with its query, as
Declarative Pipelines do in a full refresh. MERGE: keys that a change touches, where a view has such keys. Nemo and
clingo compute anew in memory and write nothing; Pathway and pg_ivm (PostgreSQL in WebAssembly) keep state in memory
and write nothing. No peer verifies, and none but Spark, MERGE and DuckDB leaves a table behind. Every result, of
Foreset and of peers, was compared with one that is computed without Foreset."""


def keep(folder: Path, found: Results, facts: Mapping[str, Any], notes: Sequence[str]) -> Path:
    """Write Markdown, JSON and charts; the path of the first."""
    name = f"bench-{facts['date']}"
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {f"{name}-{benchmark}.svg": chart for benchmark, chart in plots(found).items()}
    for file, chart in drawn.items():
        (folder / file).write_text(chart)
    verdicts = judged(found)
    report.keep(folder, name, text(found, verdicts, facts, notes, list(drawn)), data(found, verdicts, facts, notes))
    return folder / f"{name}.md"


def text(
    found: Results, verdicts: Sequence[Judgement], facts: Mapping[str, Any], notes: Sequence[str], drawn: Sequence[str]
) -> str:
    """As Markdown."""
    parts = [f"# {TITLE}", "", report.head(facts), "", READ, "", "## Targets", "", *_table(verdicts), ""]
    if notes:
        parts += ["## Not measured", "", *(f"- {note}" for note in notes), ""]
    for benchmark, lines in found.lines.items():
        charts_here = [f"![{benchmark}]({file})" for file in drawn if file.endswith(f"-{benchmark}.svg")]
        parts += [f"## {benchmark}", "", *charts_here, "", report.tables(lines)]
    if found.instances:
        parts += ["## B4, rule instances", "", *_instances(found), ""]
    return "\n".join(parts)


def _table(verdicts: Sequence[Judgement]) -> list[str]:
    head = [report.row(("", "target", "measured", "")), report.row(["---"] * 4)]
    return [*head, *(report.row((one.benchmark, one.target, one.measured, one.verdict)) for one in verdicts)]


def _instances(found: Results) -> list[str]:
    names = ("shape", "size", "deleted", "strategy", "rule instances", "over-deleted", "gone", "seconds", "CPU s")
    rows = [
        (one.shape, one.size, one.deleted, one.strategy, f"{one.instances:,}", f"{one.overdeleted:,}",
         f"{one.gone:,}", one.seconds, one.cpu)
        for one in found.instances
    ]  # fmt: skip
    return [report.row(names), report.row(["---"] * len(names)), *map(report.row, rows)]


def data(
    found: Results, verdicts: Sequence[Judgement], facts: Mapping[str, Any], notes: Sequence[str]
) -> dict[str, Any]:
    """For programs."""
    return {
        "machine": dict(facts),
        "targets": [asdict(one) for one in verdicts],
        "notes": list(notes),
        "lines": {name: report.data(lines, {})["lines"] for name, lines in found.lines.items()},
        "instances": [asdict(one) for one in found.instances],
    }


def plots(found: Results) -> dict[str, str]:
    """A chart of seconds for each benchmark: a group of bars for each change."""
    return {
        name: charts.bars(f"{name}: seconds, logarithmic", [_bars(line) for line in lines if line.change != IDLE])
        for name, lines in found.lines.items()
        if lines
    }


def _bars(line: Line) -> tuple[str, dict[str, float]]:
    values = {"Foreset": line.kept.seconds}
    if line.built:
        values["its recompute"] = line.built.seconds
    elif line.change == FIRST:
        values = {"its recompute": line.kept.seconds}
    peers = {name: one.seconds for name, one in line.peers.items() if one.seconds is not None}
    return f"{line.case}, {line.change}", values | peers


def told_peers(line: Line) -> str:
    """One line of what peers took."""
    found = ((name, one) for name, one in line.peers.items() if one.seconds is not None)
    return f"{line.case} {line.change}: " + ", ".join(f"{name} {report.told_peer(one)}" for name, one in found)
