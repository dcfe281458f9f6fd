"""What each side took for each state, as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from bench import curves, report, spark_targets
from bench.core import IDLE, PeerRun, Run
from bench.processes import Cost
from bench.spark_events import Counts

TITLE = "Foreset beside Spark"
READ = """\
Foreset is measured from open to publish: capture, differentials, 200 rows verified, the manifest committed. Spark
overwrites every view with its query; where it has none (closures) the other side is our own recompute with the same
engine. Both are warm, with the same heap and as many cores, one after the other on each state, and every result was
compared with one that is computed without either. Memory is that of Python and JVM together; CPU and MB read (system
calls, so also what lies in the page cache and what tasks send each other) are of all processes of a side. Jobs, tasks,
rows that tasks read and spills come from Spark's event log (its bytes leave out what Parquet reads in vectors)."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side on one state; no seconds where it did not come to an end, and why."""

    seconds: float | None = None
    died: str = ""
    cost: Cost = field(default_factory=Cost)
    counts: Counts = field(default_factory=Counts)
    tables: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def took(self, seconds: float, tables: Mapping[str, tuple[str, int]] | None = None) -> Self:
        """It came to an end."""
        return replace(self, seconds=round(seconds, 3), tables=tables or {})

    def wrong(self, views: Sequence[str]) -> Self:
        """Without a time where views are wrong."""
        return replace(self, seconds=None, died=f"wrong result in {', '.join(views)}") if views else self


@dataclass(slots=True)
class Line:
    """One state of one world, brought about by both sides."""

    world: str
    engine: str
    change: str
    came: int
    gone: int
    kept: Side
    built: Side
    rows: int = 0  # of the views
    run: Run | None = None
    vanilla: dict[str, int] = field(default_factory=dict)
    peers: dict[str, PeerRun] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times longer the other side takes."""
        if self.kept.seconds is None or self.built.seconds is None:
            return None
        return self.built.seconds / self.kept.seconds

    @property
    def worst_read(self) -> tuple[str, float] | None:
        """The view that reads most for each row that its query has to read."""
        if self.run is None or not self.vanilla:
            return None
        ratios = {view: self.run.reads.get(view, 0) / max(1, rows) for view, rows in self.vanilla.items()}
        return max(ratios.items(), key=lambda one: one[1])


@dataclass(slots=True)
class Lines:
    """A report as far as it has come."""

    name: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, line: Line) -> None:
        """Add a line, in place of one for the same."""
        same = (line.world, line.engine, line.change)
        self.lines = [one for one in self.lines if (one.world, one.engine, one.change) != same] + [line]

    def keep(self, folder: Path) -> None:
        """Write all of it."""
        data = {"machine": self.facts, "notes": self.notes, "lines": [asdict(line) for line in self.lines],
                "targets": [asdict(one) for one in spark_targets.judged(self.lines)]}  # fmt: skip
        report.keep(folder, self.name, text(self), data)
        (folder / f"{self.name}.svg").write_text(curves.growth(self.lines))

    @classmethod
    def read(cls, path: Path) -> Self:
        """What an earlier run has kept, if it has."""
        if not path.exists():
            return cls()
        told = json.loads(path.read_text(encoding="utf-8"))
        return cls(path.stem, told["machine"], [_line(one) for one in told["lines"]], told["notes"])


def _line(told: dict[str, Any]) -> Line:
    run = told["run"] and Run(**told["run"])
    peers = {name: PeerRun(**one) for name, one in told["peers"].items()}
    sides = {which: _side(told[which]) for which in ("kept", "built")}
    return Line(**{**told, **sides, "run": run, "peers": peers})


def _side(told: dict[str, Any]) -> Side:
    return Side(**{**told, "cost": Cost(**told["cost"]), "counts": Counts(**told["counts"])})


def plain(line: Line) -> str:
    """One line for people who wait."""
    ratio = f"{line.ratio:5.1f}x" if line.ratio else ""
    built = f"beside {seconds(line.built)}  {ratio}" if line.change != IDLE else ""
    worst = f", {line.worst_read[0]} reads {line.worst_read[1]:.2f} of its sources" if line.worst_read else ""
    kept, other = line.kept, line.built
    costs = (
        f"CPU {kept.cost.cpu_s:.0f}/{other.cost.cpu_s:.0f} s, {kept.cost.peak_mb:,}/{other.cost.peak_mb:,} MB, "
        f"jobs {kept.counts.jobs}/{other.counts.jobs}, tasks {kept.counts.tasks}/{other.counts.tasks}, "
        f"read {kept.cost.read_mb:,}/{other.cost.read_mb:,} MB{worst}"
    )
    told = f"; {report.told(line.run)}" if line.run else ""
    peers = "".join(f"  {name} {report.told_peer(one)}" for name, one in line.peers.items() if one.seconds is not None)
    return f"{line.world:10} {line.engine:5} {line.change:12} {seconds(kept)}  {built}{peers}  {costs}{told}"


def seconds(side: Side) -> str:
    """Its seconds, or why it has none."""
    if side.seconds is not None:
        return f"{side.seconds:.2f} s"
    return side.died if side.died.startswith("not measured") else f"died: {side.died}"


def text(found: Lines) -> str:
    """As Markdown."""
    parts = [f"# {TITLE}", "", report.head(found.facts), "", READ, "", "## Targets", ""]
    parts += [*targets(found.lines), ""]
    if found.notes:
        parts += ["## Not measured", "", *(f"- {note}" for note in found.notes), ""]
    parts += [f"![growth]({found.name}.svg)", ""]
    for world, engine in dict.fromkeys((line.world, line.engine) for line in found.lines):
        those = [line for line in found.lines if (line.world, line.engine) == (world, engine)]
        parts += [f"## {world}, {engine}", "", *table(those), "", "Foreset's phases:", "", *phases(those), ""]
        parts += ["Rows that each view reads, for each row of its sources:", "", *reads(those), ""]
    return "\n".join(parts)


def targets(lines: Sequence[Line]) -> list[str]:
    """The table of targets, each with what was measured."""
    rows = [(one.benchmark, one.target, one.measured, one.verdict) for one in spark_targets.judged(lines)]
    return [report.row(("", "target", "measured", "")), report.row(["---"] * 4), *map(report.row, rows)]


def table(lines: Sequence[Line]) -> list[str]:
    """A line of figures for each state: ours, then those of the other side."""
    peers = list(dict.fromkeys(name for line in lines for name in line.peers))
    names = ("change", "rows changed", "rows of the views", "Foreset s", "Spark s", "ratio", *(f"{p} s" for p in peers),
             "CPU s", "its", "peak MB", "its", "MB read", "its", "jobs", "its", "tasks", "its", "rows in", "its",
             "spilled MB", "its")  # fmt: skip
    if lines[0].built.tables == {} and not any(line.built.tables for line in lines):
        names = tuple("own recompute s" if name == "Spark s" else name for name in names)
    return [report.row(names), report.row(["---"] * len(names)), *(report.row(_cells(line, peers)) for line in lines)]


def _cells(line: Line, peers: Sequence[str]) -> Iterable[str]:
    yield from (line.change, f"{line.came + line.gone:,}", f"{line.rows:,}")
    yield from (seconds(line.kept).removesuffix(" s"), seconds(line.built).removesuffix(" s"))
    yield report.times(line.ratio)
    yield from (report.told_peer(line.peers[name]).removesuffix(" s") if name in line.peers else "" for name in peers)
    for what in (
        lambda side: f"{side.cost.cpu_s:.0f}",
        lambda side: f"{side.cost.peak_mb:,}",
        lambda side: f"{side.cost.read_mb:,}",
        lambda side: f"{side.counts.jobs:,}",
        lambda side: f"{side.counts.tasks:,}",
        lambda side: f"{side.counts.input_rows:,}",
        lambda side: f"{side.counts.spilled_mb:,.0f}",
    ):
        yield from (what(line.kept), what(line.built) if line.built.cost.seconds else "")


def phases(lines: Sequence[Line]) -> list[str]:
    """Where Foreset's seconds go."""
    names = ("change", "strategy", "engine", "rounds", "rows read", "rows written", *(f"{p} s" for p in report.PHASES))
    rows = [
        (line.change, run.strategy, run.engine, run.rounds, f"{run.rows_read:,}", f"{run.written:,}",
         *(f"{run.phases[name]:.2f}" if name in run.phases else "" for name in report.PHASES))
        for line in lines if (run := line.run)
    ]  # fmt: skip
    return [report.row(names), report.row(["---"] * len(names)), *map(report.row, rows)]


def reads(lines: Sequence[Line]) -> list[str]:
    """A column for each view."""
    views = list(lines[0].vanilla)
    rows = [
        (line.change, *(f"{line.run.reads.get(view, 0) / max(1, line.vanilla[view]):.2f}" for view in views))
        for line in lines if line.run
    ]  # fmt: skip
    return [report.row(("change", *views)), report.row(["---"] * (1 + len(views))), *map(report.row, rows)]
