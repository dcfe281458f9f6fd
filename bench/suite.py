"""`make bench`: every benchmark with its peers in one run on one machine, and one report.

    python -m bench.suite [--only B1,B6] [--scale small|medium|full] [--peers spark,nemo | --no-peers]
        [--factor 0.1] [--limit SECONDS]
    python -m bench.suite --engine spark ...    what bench/beside_spark.py does: Foreset in Spark beside Spark itself

The report goes to bench/results/bench-DATE.md, with its numbers in .json and its charts in .svg files beside it. It is
written after each world, so that a run that is cut leaves behind what it has.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench import beside_spark, instances, machine, report, summary
from bench.carried import Lines
from bench.core import Bench, Line, Settings
from bench.peers import away, install, own
from bench.peers.here import DuckDb, Peer
from bench.refresh import RESULTS, place, some_of
from bench.scales import SCALES, Missing, worlds
from bench.strata import Line as Strata
from bench.targets import Results
from bench.worlds import World

BENCHMARKS = ("B1", "B2", "B4", "B5", "B6", "B7", "growth", "join")
IN_SPARK = ("B1", "B2", "B5")  # whose targets are ratios to our own recompute
PEERS = (own.KEY, *away.KEYS)


@dataclass(slots=True)
class Suite:
    """One run of the command."""

    given: argparse.Namespace
    found: dict[str, list[Line]] = field(default_factory=dict)
    instances: list[Strata] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what could not be measured, and why
    facts: dict[str, object] = field(default_factory=machine.facts)

    def run(self) -> None:
        """Measure what was asked for, and keep it."""
        makers = worlds(self.given.scale, self.given.factor)
        for benchmark in self.given.only:
            for make in makers[benchmark]:
                self._world(benchmark, make)
                self.keep()
            if benchmark == "B4":
                self._instances()
                self.keep()

    def _world(self, benchmark: str, make: Callable[[], World]) -> None:
        try:
            world = make()
        except (Missing, RuntimeError) as problem:
            self._note(f"{benchmark} was not run: {problem}")
            return
        lines = self.found.setdefault(benchmark, [])
        try:
            lines.extend(self._lines(benchmark, world))
        except Exception as problem:  # noqa: BLE001 - the other benchmarks go on; the report says what happened
            self._note(f"{benchmark}, {world.name}: stopped by {type(problem).__name__}: {problem}")

    def _lines(self, benchmark: str, world: World) -> Iterator[Line]:
        with place(self.given.spark, warm=self.given.scale != "small") as (root, session):
            lines = []
            here: list[Peer] = [DuckDb(self.given.limit)]
            if benchmark in IN_SPARK and own.KEY in self.given.peers:
                here.append(own.OwnInSpark(session))
            bench = Bench(world, root, session, Settings(self.given.engine), here)
            for line in bench.lines():
                print(report.plain(line), flush=True)
                lines.append(line)
                yield line
            if others := [name for name in self.given.peers if name in away.KEYS]:
                with tempfile.TemporaryDirectory(prefix="foreset-bench-") as folder:
                    away.run_all(world, root, lines, Path(folder), self.given.limit, others)
                print(*map(summary.told_peers, lines), sep="\n", flush=True)

    def _instances(self) -> None:
        for one in instances.measured(self.given.scale):
            print(one, flush=True)
            if isinstance(one, instances.Failed):
                self._note(f"B4, {one.shape} of {one.size}, {one.deleted} deleted: {one.reason}")
            else:
                self.instances.append(one)

    def _note(self, text: str) -> None:
        print(text, flush=True)
        self.notes.append(text)

    def keep(self) -> None:
        """Write the report as far as it has come."""
        facts = {**self.facts, "scale": self.given.scale, "engine": self.given.engine}
        summary.keep(self.given.out, Results(self.found, self.instances), facts, self.notes)


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told = f"some of {','.join(BENCHMARKS)}"
    parser.add_argument("--only", type=partial(some_of, known=BENCHMARKS), default=BENCHMARKS, help=told)
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--factor", type=float, help="the scale factor of TPC-H, if not that of the scale")
    parser.add_argument("--engine", choices=("auto", "inproc"), default="auto", help="what runs the steps")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that a peer may take for one state")
    told = f"beside DuckDB, some of {','.join(PEERS)}; {own.KEY}: our own recompute in Spark"
    parser.add_argument("--peers", type=partial(some_of, known=PEERS), default=PEERS, help=told)
    parser.add_argument("--no-peers", dest="peers", action="store_const", const=(), help="no peers but DuckDB")
    parser.add_argument("--spark", default="embedded", help="as FORESET_SPARK")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the report")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> Suite | Lines:
    """Install peers, run, keep."""
    engine = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    engine.add_argument("--engine", default="auto")
    if engine.parse_known_args(arguments)[0].engine in ("spark", "both"):
        return beside_spark.main(arguments)
    suite = Suite(options(arguments))
    machine.end_in_order()
    if set(suite.given.peers) & set(away.KEYS):
        suite.notes.extend(install.all_peers())
    suite.run()
    suite.keep()
    return suite


if __name__ == "__main__":
    main()
