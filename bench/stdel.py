"""What deletions cost by StDel, by the other strategies, and by a recompute; and what supports cost in space.

    python -m bench.stdel                             10^5 and 10^6 view rows, 1 to 1,000 deleted rows
    python -m bench.stdel --sizes small --deleted 1,100

Three shapes. `joins`: four views, each a join of the one below with a source, `l1(A, C) :- r1(A, B), r2(B, C)` and so
on, so that rows have many derivations. `dag`: the closure of a layered graph. `sparse`: one rule that joins four
sources, each eight times as large as the view. The in-process reader maintains all strata; its inputs are files, as in
a refresh, and what a refresh does around it (capture, verification, commit) is left out, as it is the same for all.
Every strategy must delete the same rows. CPU seconds are of all threads, and say more than seconds where a machine is
shared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bench.graphs import layered
from bench.machine import facts

from foreset.inproc.budget import Budget
from foreset.inproc.counters import CounterTables
from foreset.inproc.run import InProcess
from foreset.inproc.tables import Part, Sql, Table, Tables, connect
from foreset.ir.program import Program, is_hidden
from foreset.ir.steps import Ref
from foreset.ir.strata import Layering
from foreset.ir.versions import Version
from foreset.plan.translate import COUNTED, refusal, translate
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text
from foreset.store.types import column_names

RESULTS = Path(__file__).resolve().parent / "results"
STRATEGIES = ("stdel", "dred", "dredf", "dredc", "counting", "recompute")
UNBOUNDED = 10**10
JOINS = """group: joins
sources: {{{sources}}}
views:
{views}"""
DAG = """group: dag
sources:
  edge: {{table: raw/edge, columns: {{src: bigint, dst: bigint}}}}
views:
  closure:
    columns: {{src: bigint, dst: bigint}}
    strategy: {strategy}
    rules: ["closure(X, Y) :- edge(X, Y)", "closure(X, Y) :- edge(X, Z), closure(Z, Y)"]
"""
SPARSE = """group: sparse
sources:
  r1: {{table: raw/r1, columns: {{a: bigint, b: bigint}}}}
  r2: {{table: raw/r2, columns: {{a: bigint, b: bigint}}}}
  r3: {{table: raw/r3, columns: {{a: bigint, b: bigint}}}}
  r4: {{table: raw/r4, columns: {{a: bigint, b: bigint}}}}
views:
  v:
    columns: {{a: bigint, b: bigint}}
    strategy: {strategy}
    rules: ["v(A, E) :- r1(A, B), r2(B, C), r3(C, D), r4(D, E)"]
"""
SIZES: dict[str, dict[str, Any]] = {
    "joins": {"small": 250, "large": 1000},
    "dag": {"small": (15, 40), "large": (20, 80)},
    "sparse": {"small": 800_000, "large": 4_000_000},
}


def joins_spec(strategy: str) -> str:
    """Four levels of joins."""
    sources = ", ".join(f"r{i}: {{table: raw/r{i}, columns: {{a: bigint, b: bigint}}}}" for i in range(1, 6))
    below = ["r1", "l1", "l2", "l3"]
    views = "".join(
        f"  l{i}:\n    columns: {{a: bigint, b: bigint}}\n    strategy: {strategy}\n"
        f'    rules: ["l{i}(A, C) :- {below[i - 1]}(A, B), r{i + 1}(B, C)"]\n'
        for i in range(1, 5)
    )
    return JOINS.format(sources=sources, views=views)


def joins_data(width: int) -> dict[str, pa.Table]:
    """Five bipartite graphs, each node with four edges."""
    rng = np.random.default_rng(1)
    return {
        f"r{i}": _edges({(node, int(to)) for node in range(width) for to in rng.choice(width, 4, replace=False)})
        for i in range(1, 6)
    }


def sparse_data(rows: int) -> dict[str, pa.Table]:
    """Keys and references, half of which find a key."""
    rng = np.random.default_rng(1)
    keys = np.arange(rows, dtype=np.int64)
    return {f"r{i}": pa.table({"c0": keys, "c1": rng.integers(0, 2 * rows, rows)}) for i in range(1, 5)}


def dag_data(shape: tuple[int, int]) -> dict[str, pa.Table]:
    """A layered graph, each node with three edges."""
    return {"edge": _edges(layered(*shape, 3).edges)}


def _edges(pairs: set[tuple[int, int]]) -> pa.Table:
    both = np.array(sorted(pairs), dtype=np.int64)
    return pa.table({"c0": both[:, 0], "c1": both[:, 1]})


@dataclass(slots=True)
class World:
    """A program with and without supports, and its whole contents as files."""

    shape: str
    folder: Path
    plain: tuple[Program, Layering]
    supported: tuple[Program, Layering]
    rows: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)

    def program(self, strategy: str) -> tuple[Program, Layering]:
        """The one that the strategy maintains."""
        return self.supported if strategy == "stdel" else self.plain

    def file(self, name: str) -> Path:
        """Where a relation lies."""
        return self.folder / f"{name}.parquet"

    def keep(self, name: str, rows: pa.Table) -> None:
        """Write a relation or its counters."""
        pq.write_table(rows, self.file(name), compression="zstd")
        self.rows[name], self.bytes[name] = rows.num_rows, self.file(name).stat().st_size

    @property
    def views(self) -> list[str]:
        """Those that users see."""
        return [view.name for view in self.plain[0].views]


@dataclass(slots=True)
class Line:
    """One deletion by one strategy."""

    shape: str
    size: str
    deleted: int
    strategy: str
    seconds: float
    cpu: float
    gone: int  # rows of the views
    overdeleted: int


def world(shape: str, size: str, folder: Path) -> World:
    """Build it by recomputes, with counters and with supports."""
    spec, data = SHAPES[shape]
    made = World(
        shape, folder, _prepared(spec("auto")), _prepared(spec("stdel-acyclic" if shape == "dag" else "stdel"))
    )
    tables = data(SIZES[shape][size])
    for name, rows in tables.items():
        made.keep(name, rows)
    for strategy in ("counting", "stdel"):
        program, layering = made.program(strategy)
        machine = _machine(made, program, {}, list(tables))
        for stratum in layering.strata:
            for phase in translate(stratum, "recompute", counted=strategy == "counting").phases:
                machine.run(phase)
            for name in stratum.names:
                if strategy == "counting" or is_hidden(name):
                    made.keep(name, machine.tables.arrow(machine.tables.whole(Ref(name, Version.PLUS))))
                if name in machine.counters:
                    counters = machine.counters[name].current()
                    assert counters is not None
                    made.keep(f"{name}.counters", machine.tables.arrow(counters))
                machine.tables.put(Ref(name, Version.OLD))
    return made


SHAPES: dict[str, tuple[Callable[[str], str], Callable[[Any], dict[str, pa.Table]]]] = {
    "joins": (joins_spec, joins_data),
    "dag": (lambda strategy: DAG.format(strategy=strategy), dag_data),
    "sparse": (lambda strategy: SPARSE.format(strategy=strategy), sparse_data),
}


def _prepared(text: str) -> tuple[Program, Layering]:
    loaded = load_text(text)
    assert loaded.program is not None, [fault.message for fault in loaded.report]
    found = prepare(loaded.program)
    assert found.program is not None, [fault.message for fault in found.report]
    assert found.layering is not None
    return found.program, found.layering


def _machine(made: World, program: Program, gone: Mapping[str, pa.Table], there: Sequence[str] = ()) -> InProcess:
    """A reader whose inputs are the files (of what is `there`), less what goes."""
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    tables = Tables(connect("8GB"), schemas, Budget(UNBOUNDED, UNBOUNDED, UNBOUNDED))
    for name in there or schemas:
        if made.rows[name]:
            tables.put(Ref(name, Version.OLD), Part(_outside(tables, made, name, name)))
    for name, rows in gone.items():
        tables.put(Ref(name, Version.MINUS), Part(tables.take_arrow(rows)))
    return InProcess(tables, 1000)


def _outside(tables: Tables, made: World, relation: str, file: str) -> Table:
    view = tables.fresh("v")
    tables.connection.read_parquet(str(made.file(file))).create_view(view)
    return Table(view, made.rows[file], relation, outside=True)


def delete(made: World, strategy: str, gone: Mapping[str, pa.Table]) -> tuple[Line, int]:
    """Delete rows of the sources; the line, and a hash of what the views lose."""
    program, layering = made.program(strategy)
    machine = _machine(made, program, gone)
    tables = machine.tables
    started, spent = time.perf_counter(), time.process_time()
    for stratum in layering.strata:
        procedure = translate(stratum, strategy)
        for helper in procedure.helpers:
            tables.schemas[helper.name] = tuple(column.type for column in helper.columns)
        if strategy in COUNTED:
            machine.counters = {name: _counters(made, tables, name) for name in stratum.names}
        for phase in procedure.phases:
            machine.run(phase)
    seconds, cpu = time.perf_counter() - started, time.process_time() - spent
    lost = [tables.whole(Ref(name, Version.MINUS)) for name in made.views]
    mark = "SELECT coalesce(sum(hash(c0, c1) % 1000003), 0) FROM {}"
    marks = [int(tables.run(Sql(mark.format(table.name)))[0][0]) for table in lost]
    over = sum(tables.count(Ref(name, Version.DEL)) for name in made.views)
    line = Line(made.shape, "", 0, strategy, seconds, cpu, sum(table.rows for table in lost), over)
    tables.connection.close()
    return line, sum(marks)


def _counters(made: World, tables: Tables, view: str) -> CounterTables:
    names = column_names(2)
    stored = _outside(tables, made, "", f"{view}.counters")

    def lookup(asked: Table) -> Table:
        return tables.look(stored, asked, [(name, f"r.{name}", True) for name in names])

    return CounterTables(tables, view, lookup)


def picked(made: World, count: int, seed: int) -> dict[str, pa.Table]:
    """Rows of the sources to delete, from all of them alike."""
    rng = np.random.default_rng(seed)
    sources = [source.name for source in made.plain[0].sources]
    all_rows = {name: pq.read_table(made.file(name)) for name in sources}
    places = [(name, i) for name in sources for i in range(all_rows[name].num_rows)]
    chosen = [places[i] for i in rng.choice(len(places), count, replace=False)]
    found = {name: [i for other, i in chosen if other == name] for name in sources}
    return {name: all_rows[name].take(rows) for name, rows in found.items() if rows}


def measure(made: World, size: str, deleted: int, repeat: int) -> Iterator[Line]:
    """Each strategy that the shape admits: the median over some picks of rows, the same for all."""
    for strategy in STRATEGIES:
        if any(refusal(stratum, strategy) for stratum in made.program(strategy)[1].strata):
            continue
        times = repeat if strategy != "recompute" else 1
        lines = [delete(made, strategy, picked(made, deleted, seed)) for seed in range(times)]
        for seed, (line, mark) in enumerate(lines):
            assert known.setdefault((made.shape, size, deleted, seed), (line.gone, mark)) == (line.gone, mark), strategy
        seconds, cpu = (statistics.median(getattr(line, what) for line, _ in lines) for what in ("seconds", "cpu"))
        yield replace(lines[0][0], size=size, deleted=deleted, seconds=round(seconds, 3), cpu=round(cpu, 3))


known: dict[tuple[str, str, int, int], tuple[int, int]] = {}  # what a deletion takes, by whoever came first


def space(made: World, size: str) -> dict[str, Any]:
    """Rows and bytes (Parquet, zstd) for each row of the views."""
    rows = sum(made.rows[name] for name in made.views)
    supports = [name for name in made.rows if is_hidden(name)]
    counters = [name for name in made.rows if name.endswith(".counters")]

    def per_row(names: Sequence[str], what: Mapping[str, int]) -> float:
        return round(sum(what[name] for name in names) / rows, 2)

    return {"shape": made.shape, "size": size, "view_rows": rows, "view_bytes": per_row(made.views, made.bytes),
            "supports": per_row(supports, made.rows), "support_bytes": per_row(supports, made.bytes),
            "counter_bytes": per_row(counters, made.bytes)}  # fmt: skip


def table(lines: Sequence[Line], spaces: Sequence[Mapping[str, Any]]) -> str:
    """As text: how often StDel goes into each of the others, and the space for each row."""
    stdel = {(one.shape, one.size, one.deleted): one.cpu for one in lines if one.strategy == "stdel"}
    text = ["shape  size    deleted strategy    seconds   cpu s  cpu/stdel       gone  over-deleted"]
    for one in lines:
        own = stdel.get((one.shape, one.size, one.deleted))
        ratio = f"{one.cpu / own:9.1f}x" if own else ""
        what = f"{one.shape:<6} {one.size:<6} {one.deleted:>8,} {one.strategy:<10}"
        text.append(f"{what} {one.seconds:>8.2f} {one.cpu:>7.2f} {ratio:>10} {one.gone:>10,} {one.overdeleted:>13,}")
    text += [
        f"{one['shape']} {one['size']}: {one['view_rows']:,} view rows of {one['view_bytes']} bytes each; for each "
        f"{one['supports']} supports of {one['support_bytes']} bytes together; counters {one['counter_bytes']} bytes"
        for one in spaces
    ]
    return "\n".join(text)


def main() -> None:
    """Parse arguments, measure, print and keep the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="joins,dag,sparse")
    parser.add_argument("--sizes", default="small,large")
    parser.add_argument("--deleted", default="1,10,100,1000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    about, lines, spaces = facts(), list[Line](), list[dict[str, Any]]()
    for shape in options.shapes.split(","):
        for size in options.sizes.split(","):
            with tempfile.TemporaryDirectory(prefix="foreset-bench-") as folder:
                made = world(shape, size, Path(folder))
                spaces.append(space(made, size))
                print(spaces[-1], flush=True)
                for deleted in map(int, options.deleted.split(",")):
                    for line in measure(made, size, deleted, options.repeat):
                        lines.append(line)
                        print(table([line], []).splitlines()[1], flush=True)
                    keep(lines, spaces, about, options.out)
    print(table(lines, spaces))


def keep(lines: Sequence[Line], spaces: Sequence[Mapping[str, Any]], about: Mapping[str, Any], folder: Path) -> None:
    """Write what is known so far: a long run that is cut leaves its lines behind."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"stdel-inproc-{about['date']}.json"
    kept = {"machine": about, "lines": [asdict(one) for one in lines], "space": spaces}
    path.write_text(json.dumps(kept, indent=1) + "\n")
    path.with_suffix(".txt").write_text(table(lines, spaces) + "\n")


if __name__ == "__main__":
    main()
