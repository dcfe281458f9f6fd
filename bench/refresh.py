"""`make bench-refresh`: refreshes against a full recompute of the same change, in one session, on the same data.

Two groups hold the same view over the same tables. After each change one is refreshed as it chooses, the other
with `--mode recompute`; each from open to publish, with 200 rows verified. Both results are compared with one that
is computed without Foreset.

    python -m bench.refresh [--case dag|digraph|generation|join|growth|views] [--scale full|medium|small]
                            [--only "delete 1"] [--engine spark] [--built-by spark] [--peer]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import machine, report
from bench.graphs import Tree, digraph, layered
from bench.peers import duckdb_recompute
from bench.shop import Shop
from bench.views import Views
from bench.worlds import Change, World, fingerprint

import foreset
from foreset.refresh.inprocess import VARIABLE
from foreset.refresh.whole import RefreshResult
from foreset.session import SessionHandle, open_session
from foreset.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS = Path(__file__).parent / "results"
CASES = ("dag", "digraph", "generation", "join", "growth", "views")
KEPT, BUILT = "kept", "built"  # the two groups


@dataclass(slots=True)
class Run:
    """One refresh as it was measured."""

    status: str
    strategy: str
    engine: str
    reason: str
    seconds: float
    phases: dict[str, float]
    rounds: int
    rows_read: int
    overdeleted: int
    rederived: int
    inserted: int
    deleted: int
    peak_mb: int


@dataclass(slots=True)
class Line:
    """One change, refreshed both ways."""

    case: str
    change: str
    came: int
    gone: int
    kept: Run
    built: Run | None
    rows: int = 0
    peer: float | None = None  # seconds of DuckDB's recompute and deltalake's write

    @property
    def ratio(self) -> float | None:
        """How many times longer the recompute takes."""
        return self.built.seconds / self.kept.seconds if self.built else None

    @property
    def peer_ratio(self) -> float | None:
        """How many times longer DuckDB takes for all of it."""
        return self.peer / self.kept.seconds if self.peer else None


@dataclass(slots=True)
class Watch:
    """Listens to a refresh: when its phases end, and what its strategy had to touch."""

    started: float = field(default_factory=time.monotonic)
    phases: dict[str, float] = field(default_factory=dict)
    work: dict[str, int] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)
    _last: float = field(default_factory=time.monotonic)

    def __call__(self, event: dict[str, Any]) -> None:
        """Take one event."""
        now = time.monotonic()
        if event["event"] == "finished":
            name = str(event["phase"]).partition("-")[0]
            spent = now - self._last
            if not self.phases:
                self.phases["open"] = max(spent - float(event.get("seconds", 0.0)), 0.0)
                spent -= self.phases["open"]
            self.phases[name] = self.phases.get(name, 0.0) + spent
            self._last = now
            self.engines |= {str(event["engine"])} if "engine" in event else set()
        elif event["event"] == "work":
            for key in ("overdeleted", "rederived"):
                self.work[key] = max(self.work.get(key, 0), int(event.get(key) or 0))


def worlds(scale: str) -> dict[str, list[World]]:
    """The worlds of a scale, by case; `small` runs in seconds."""
    if scale == "small":
        return {"dag": [layered(5, 12, 3)], "digraph": [digraph(40, 60)], "generation": [Tree(5)],
                "join": [Shop(5_000)], "growth": [grown(1_000), grown(5_000)], "views": [Views(2_000)]}  # fmt: skip
    if scale == "medium":  # for machines that others use too
        return {"dag": [layered(16, 100, 3)], "digraph": [digraph(1_000, 1_500)], "generation": [Tree(9)],
                "join": [Shop(1_000_000)], "growth": [grown(10**n) for n in (4, 5, 6)], "views": [Views()]}  # fmt: skip
    return {"dag": [layered(30, 120, 3)], "digraph": [digraph(2_000, 3_000)], "generation": [Tree(11)],
            "join": [Shop(5_000_000)], "growth": [grown(10**n) for n in (5, 6, 7)], "views": [Views()]}  # fmt: skip


def grown(lines: int) -> World:
    """The join over so many lines, of which a thousand change whatever their number."""
    return Shop(lines, f"join of {lines:,}", fixed=min(1_000, lines // 10))


def measured(warehouse: Warehouse, root: str, group: str, mode: str, engine: str) -> Run:
    """One refresh from open to publish."""
    watch = Watch()
    os.environ[VARIABLE] = engine
    with machine.PeakMemory(root) as memory:
        result: RefreshResult = warehouse.refresh(group, mode=mode, verify=200, listen=watch)
    view = max(result.views.values(), key=lambda one: one.inserted + one.deleted)
    return Run(
        result.status,
        view.strategy,
        " and ".join(sorted(watch.engines)),
        view.reason,
        round(result.seconds, 2),
        {name: round(seconds, 2) for name, seconds in watch.phases.items()},
        view.rounds,
        sum(read for one in result.views.values() for read in one.rows_read.values()),
        watch.work.get("overdeleted", 0),
        watch.work.get("rederived", 0),
        sum(one.inserted for one in result.views.values()),
        sum(one.deleted for one in result.views.values()),
        memory.peak >> 20,
    )


@dataclass(slots=True)
class Bench:
    """One world in a warehouse of its own."""

    world: World
    root: str
    handle: SessionHandle
    given: argparse.Namespace

    def lines(self) -> Iterator[Line]:
        """Load, then every change; nothing new to take in comes last."""
        only, baseline = self.given.only, self.given.baseline
        specs = Path(self.root, "specs")
        specs.mkdir()
        groups = [KEPT] if baseline == "none" else [BUILT, KEPT]
        for group in groups:
            (specs / f"{group}.yaml").write_text(self.world.spec(group))
        self.world.create(self.root)
        warehouse = foreset.open(self.root, str(specs), self.handle.spark)
        for group in groups:
            yield self._line(warehouse, "first load", Change(0, 0), group, None)
        compared = False
        for label, size, kind in self.world.changes():
            if only and label not in only:
                continue
            change = self.world.apply(self.root, size, kind)
            # The other group is brought along even where it is not the measure, or its differential would grow.
            against = BUILT if baseline == "each" or (baseline == "first" and not compared) else None
            yield self._line(warehouse, label, change, KEPT, against)
            compared = True
        yield self._line(warehouse, "no-op", Change(0, 0), KEPT, None)

    def _line(self, warehouse: Warehouse, label: str, change: Change, group: str, against: str | None) -> Line:
        kept = measured(warehouse, self.root, group, "auto", self.given.engine)
        by = self.given.built_by or self.given.engine
        built = measured(warehouse, self.root, against, "recompute", by) if against else None
        rows = self._checked(warehouse, [group, *([against] if against else [])])
        peer = duckdb_recompute(self.world, self.root) if self.given.peer and group == KEPT else None
        return Line(self.world.name, label, change.inserted, change.deleted, kept, built, rows, peer)

    def _checked(self, warehouse: Warehouse, groups: Sequence[str]) -> int:
        """Hold what was published to a result of another hand; a benchmark of wrong results is worth nothing."""
        expected = self.world.expected(self.root)
        for group in groups:
            found = fingerprint(warehouse.read(f"{group}.{self.world.view}"))
            if found != expected:
                raise SystemExit(f"{self.world.name}: {group} has {found}, expected {expected}")
        return expected[0]


def run(given: argparse.Namespace, spark: str | SparkSession) -> list[Line]:
    """Run the cases, each in a warehouse and a session of its own."""
    lines = []
    chosen = given.case or CASES
    for world in (world for name, found in worlds(given.scale).items() if name in chosen for world in found):
        with tempfile.TemporaryDirectory() as root, open_session(spark, root) as handle:
            try:
                for line in Bench(world, root, handle, given).lines():
                    print(report.plain(line), flush=True)
                    lines.append(line)
            finally:
                foreset.session.stop_server(root)
    return lines


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=CASES, help="default: all")
    parser.add_argument("--scale", choices=("full", "medium", "small"), default="full")
    parser.add_argument("--only", action="append", default=[], help="label of a change, such as `delete 10`")
    parser.add_argument("--baseline", choices=("each", "first", "none"), default="each", help="recompute which changes")
    parser.add_argument("--engine", choices=("auto", "spark", "inproc"), default="auto", help="what runs the steps")
    parser.add_argument(
        "--built-by", choices=("auto", "spark", "inproc"), help="what runs the recompute (default: the same)"
    )
    parser.add_argument("--peer", action="store_true", help="time DuckDB's recompute and deltalake's write as well")
    parser.add_argument("--spark", default="embedded", help="as FORESET_SPARK")
    parser.add_argument("--out", type=Path, default=None, help="folder for the report (default: bench/results)")
    parser.add_argument("--name", default="refresh", help="name of the report's files")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Line]:
    """Run, print, keep."""
    given = options(arguments)
    facts = {
        **machine.facts(),
        "scale": given.scale,
        "engine": given.engine,
        "recompute": given.built_by or given.engine,
    }
    lines = run(given, given.spark)
    out = given.out or (None if given.scale == "small" else RESULTS)
    text = report.markdown(lines, facts)
    print(text)
    if out:
        report.keep(out, given.name, lines, facts)
    return lines


if __name__ == "__main__":
    main()
