"""`make bench ARGS="--engine spark"`: Foreset beside Spark's own overwrite of the same views, state by state.

    python -m bench.beside_spark [--engine spark|auto|both] [--factor 0.1,1,10] [--world tpch,closures]
                                 [--only "mixed 1 %"] [--limit SECONDS] [--add] [--out FOLDER]

Both are warm processes with a JVM of the same heap and as many cores; after each change first the one, then the other
brings all ten views of TPC-H to the new state. Where Spark has no query for a view (closures), the other side is our
own recompute with the same engine. One that dies or is late is told so, and the run goes on. The report is written
after each line: bench/results/spark-DATE.md, .json and .svg.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench import carried, graphs, machine
from bench.carried import Line, Lines, Side
from bench.core import BUILT, FIRST, IDLE, KEPT, Run, vanilla
from bench.peers import install
from bench.peers.here import DuckDb, Peer, Written
from bench.processes import Answer, Worker
from bench.refresh import RESULTS, some_of
from bench.scales import TPCHGEN, Missing, tpch
from bench.spark_events import EventLog, asked_for
from bench.worlds import Change, Fingerprints, World, fingerprint, raw
from deltalake import DeltaTable

import foreset
from foreset.session import stop_server
from foreset.session.locations import state_files
from foreset.session.state import read_state

HERE = Path(__file__).resolve().parent
ENGINES = ("spark", "auto")
WORLDS = ("tpch", "closures")
CHANGES = ("mixed 0.1 %", "mixed 1 %", "mixed 10 %", "insert 1", "delete 1", "delete 100")
EVENTS = "spark-events"


@dataclass(slots=True)
class Both:
    """One world in a warehouse of its own, kept by Foreset and by the other side."""

    world: World
    engine: str
    limit: float
    only: Sequence[str]
    root: Path
    peers: Sequence[Peer] = ()
    own: Worker = field(init=False)
    other: Worker | None = field(init=False)  # None: our own recompute is the other side
    _logs: dict[str, EventLog] = field(default_factory=dict)
    _given_up: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the world and the specs; nothing is started yet."""
        specs, home = self.root / "specs", str(HERE.parent)
        specs.mkdir()
        for group in (KEPT, BUILT):
            (specs / f"{group}.yaml").write_text(self.world.spec(group))
        self.world.create(str(self.root))
        self.own = Worker(
            [sys.executable, "-m", "bench.refreshes", self.root, specs, self.engine], self.root,
            {"PYTHONPATH": home, **self._events(KEPT)}, partial(server, str(self.root)),
        )  # fmt: skip
        self.other = None
        if not self.world.peers["spark"].startswith("not: "):
            job = {
                "sources": {name: raw(str(self.root), name) for name in self.world.tables},
                "queries": dict(self.world.queries),
                "views": str(self.root / "by-spark"),
            }
            (self.root / "job.json").write_text(json.dumps(job))
            script = HERE / "peers" / "serve_spark.py"
            self.other = Worker(
                [sys.executable, script, self.root / "job.json"], self.root, {"PYTHONPATH": home, **self._events(BUILT)}
            )

    def _events(self, side: str) -> dict[str, str]:
        folder = self.root / EVENTS / side
        self._logs[side] = EventLog(folder)
        return asked_for(folder)

    def lines(self) -> Iterator[Line]:
        """The load, the changes, nothing new."""
        yield self._line(FIRST, Change(0, 0))
        for label, size, kind in self.world.changes():
            if label in self.only:
                yield self._line(label, self.world.apply(str(self.root), size, kind))
        yield self._line(IDLE, Change(0, 0))

    def end(self) -> None:
        """End both sides."""
        for worker in (self.own, self.other):
            if worker is not None:
                worker.end()
        stop_server(str(self.root))

    def _line(self, label: str, change: Change) -> Line:
        """Both sides in turn; then what they have is compared with what another hand computes."""
        kept, run = self._refresh(KEPT, "auto", KEPT)
        built = Side(died="not measured")
        if label != IDLE:
            built = self._spark() if self.other else self._refresh(BUILT, "recompute", KEPT)[0]
        expected = self.world.expected(str(self.root))
        if kept.seconds is not None:
            kept = self._held(kept, KEPT, expected)
        if built.seconds is not None and self.other is None:
            built = self._held(built, BUILT, expected)
        elif built.seconds is not None:
            built = self._judged(built, expected)
        line = Line(self.world.name, self.engine, label, change.inserted, change.deleted, kept, built)
        line.rows, line.run = sum(count for count, _ in expected.values()), run
        line.vanilla = vanilla(self.world, str(self.root))
        if label != IDLE:
            line.peers = {peer.name: peer.run(self.world, str(self.root), expected) for peer in self.peers}
        return line

    def _refresh(self, group: str, mode: str, side: str) -> tuple[Side, Run | None]:
        if reason := self._given_up.get(group):
            return Side(died=reason), None
        answer = self.own.ask({"group": group, "mode": mode}, self.limit)
        found = self._side(side, answer)
        if answer.said is None:
            stop_server(str(self.root))
            if not self._loaded(group):
                self._given_up[group] = "not measured: the first load died"
            return found, None
        run = Run(**answer.said)
        return found.took(run.seconds), run

    def _loaded(self, group: str) -> bool:
        """Whether a group has ever been committed."""
        return bool(foreset.open(str(self.root), str(self.root / "specs")).manifest(group))

    def _spark(self) -> Side:
        assert self.other is not None
        versions = {name: DeltaTable(raw(str(self.root), name)).version() for name in self.world.tables}
        answer = self.other.ask({"versions": versions}, self.limit)
        side = self._side(BUILT, answer)
        return side if answer.said is None else side.took(answer.said["seconds"], answer.said["tables"])

    def _side(self, which: str, answer: Answer) -> Side:
        return Side(None, answer.died, answer.cost, self._logs[which].since())

    def _held(self, side: Side, group: str, expected: Fingerprints) -> Side:
        """A time counts only for right results."""
        warehouse = foreset.open(str(self.root), str(self.root / "specs"))
        wrong = [view for view in expected if fingerprint(warehouse.read(f"{group}.{view}")) != expected[view]]
        return side.wrong(wrong)

    def _judged(self, side: Side, expected: Fingerprints) -> Side:
        tables = {view: DeltaTable(path, version=version) for view, (path, version) in side.tables.items()}
        found = {view: fingerprint(table.to_pyarrow_table()) for view, table in tables.items()}
        return side.wrong([view for view in expected if found[view] != expected[view]])


def server(root: str) -> list[int]:
    """The JVM that serves a warehouse, which is no child of who asked for it."""
    state = read_state(state_files(root))
    return [] if state is None else [state.jvm.pid]


def makers(given: argparse.Namespace, engine: str) -> Iterator[tuple[str, Callable[[], World]]]:
    """What makes each world that was asked for."""
    if "tpch" in given.world:
        for factor in given.factor:
            yield f"TPC-H {factor:g}", partial(tpch, factor, f"TPC-H {factor:g}")
    if "closures" in given.world:
        yield "random", partial(graphs.digraph, 2_000, 3_000)
        yield "layered", partial(graphs.layered, 30, 120, 3)
        if engine == "auto":
            yield "large", partial(graphs.layered, 30, 210, 3)


def run(given: argparse.Namespace, found: Lines) -> None:
    """All worlds with all engines; the report grows with each line."""
    for engine in given.engine:
        for name, make in makers(given, engine):
            try:
                world = make()
            except (Missing, RuntimeError) as problem:
                found.notes.append(f"{name} was not run: {problem}")
                continue
            world.name = name
            peers = [DuckDb(given.limit), Written()] if engine == "auto" else []
            with tempfile.TemporaryDirectory(prefix="foreset-bench-", dir=given.temporary) as root:
                both = Both(world, engine, given.limit, given.only, Path(root), peers)
                try:
                    for line in both.lines():
                        print(carried.plain(line), flush=True)
                        found.take(line)
                        found.keep(given.out)
                finally:
                    both.end()


def _engines(text: str) -> Sequence[str]:
    return ENGINES if text == "both" else some_of(text, ENGINES)


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=_engines, default=("spark",), help="spark, auto, both: what runs the steps")
    parser.add_argument(
        "--factor", type=lambda text: [float(one) for one in text.split(",")], default=[0.1, 1.0, 10.0],
        help="scale factors of TPC-H",
    )  # fmt: skip
    world = partial(some_of, known=WORLDS)
    parser.add_argument("--world", type=world, default=("tpch",), help="tpch, closures, or both with a comma")
    parser.add_argument("--only", action="append", default=[], help=f"labels of changes (default: {CHANGES})")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds that a side may take for one state")
    parser.add_argument("--add", action="store_true", help="keep the lines of today's report for what is not run now")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the report")
    parser.add_argument("--temporary", default=None, help="folder for warehouses (TPC-H 10 needs 20 GB)")
    given = parser.parse_args(arguments)
    given.only = given.only or CHANGES
    return given


def main(arguments: Sequence[str] | None = None) -> Lines:
    """Run, print, keep."""
    given = options(arguments)
    machine.end_in_order()
    name = f"spark-{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    found = Lines.read(given.out / f"{name}.json") if given.add else Lines()
    found.name, found.facts = name, {**machine.facts(), **found.facts}
    if "tpch" in given.world and not TPCHGEN.exists():
        found.notes.extend(install.all_peers())
    run(given, found)
    print(carried.text(found))
    return found


if __name__ == "__main__":
    main()
