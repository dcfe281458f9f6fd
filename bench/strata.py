"""Strata alone, in process: a program's contents as files, and what a deletion costs each strategy.

What a refresh does around it (capture, verification, commit) is left out, as it is the same for all strategies.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import Budget
from foreset.backends.duckdb.counters import CounterTables
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.ir.program import Program, is_hidden
from foreset.ir.steps import Ref
from foreset.ir.strata import Layering
from foreset.ir.versions import Version
from foreset.machine.machine import Machine
from foreset.plan.translate import COUNTED, refusal, translate
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text
from foreset.store.types import column_names

UNBOUNDED = 10**10
ROUNDS = 10_000


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of program and its data; `supported` is the strategy with which supports are kept, if any."""

    name: str
    spec: Callable[[str], str]  # by strategy
    data: Callable[[Any], dict[str, pa.Table]]  # by size
    supported: str = ""


@dataclass(slots=True)
class World:
    """A program with and without supports, and its whole contents as files."""

    shape: str
    folder: Path
    plain: tuple[Program, Layering]
    supported: tuple[Program, Layering] | None
    rows: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)

    def program(self, strategy: str) -> tuple[Program, Layering]:
        """The one that the strategy maintains."""
        found = self.supported if strategy == "stdel" else self.plain
        assert found is not None, f"{self.shape} keeps no supports"
        return found

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
    instances: int = 0  # of rules that fired


def world(shape: Shape, size: Any, folder: Path) -> World:
    """Build it by recomputes, with counters and, where they are kept, with supports."""
    supported = _prepared(shape.spec(shape.supported)) if shape.supported else None
    made = World(shape.name, folder, _prepared(shape.spec("auto")), supported)
    tables = shape.data(size)
    for name, rows in tables.items():
        made.keep(name, rows)
    for strategy in ("counting", "stdel") if supported else ("counting",):
        program, layering = made.program(strategy)
        backend = _backend(made, program, {}, list(tables))
        for stratum in layering.strata:
            phases = translate(stratum, "recompute", counted=strategy == "counting").phases
            Machine(backend, ROUNDS).run(*phases)
            for name in stratum.names:
                if strategy == "counting" or is_hidden(name):
                    made.keep(name, backend.versions.arrow(backend.versions.whole(Ref(name, Version.PLUS))))
                if name in backend.counters:
                    counters = backend.counters[name].current()
                    assert counters is not None
                    made.keep(f"{name}.counters", backend.versions.arrow(counters))
                backend.versions.put(Ref(name, Version.OLD))
    return made


def _prepared(text: str) -> tuple[Program, Layering]:
    loaded = load_text(text)
    assert loaded.program is not None, [fault.message for fault in loaded.report]
    found = prepare(loaded.program)
    assert found.program is not None, [fault.message for fault in found.report]
    assert found.layering is not None
    return found.program, found.layering


def _backend(
    made: World, program: Program, gone: Mapping[str, pa.Table], there: Sequence[str] = ()
) -> DuckDBBackend:
    """A reader whose inputs are the files (of what is `there`), less what goes."""
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    tables = Tables(connect("8GB"), schemas, Budget(UNBOUNDED, UNBOUNDED, UNBOUNDED))
    for name in there or schemas:
        if made.rows[name]:
            tables.put(Ref(name, Version.OLD), Part(_outside(tables, made, name, name)))
    for name, rows in gone.items():
        tables.put(Ref(name, Version.MINUS), Part(tables.take_arrow(rows)))
    return DuckDBBackend(tables)


def _outside(tables: Tables, made: World, relation: str, file: str) -> Table:
    view = tables.fresh("v")
    tables.connection.read_parquet(str(made.file(file))).create_view(view)
    return Table(view, made.rows[file], relation, outside=True)


def delete(made: World, strategy: str, gone: Mapping[str, pa.Table]) -> tuple[Line, int]:
    """Delete rows of the sources; the line, and a hash of what the views lose."""
    program, layering = made.program(strategy)
    backend = _backend(made, program, gone)
    tables = backend.versions
    started, spent = time.perf_counter(), time.process_time()
    for stratum in layering.strata:
        procedure = translate(stratum, strategy)
        tables.schemas |= procedure.helper_types
        if strategy in COUNTED:
            backend.counters = {name: _counters(made, tables, name) for name in stratum.names}
        Machine(backend, ROUNDS).run(*procedure.phases)
    seconds, cpu = time.perf_counter() - started, time.process_time() - spent
    lost = [tables.whole(Ref(name, Version.MINUS)) for name in made.views]
    mark = "SELECT coalesce(sum(hash(c0, c1) % 1000003), 0) FROM {}"
    marks = [int(tables.run(Sql(mark.format(table.name)))[0][0]) for table in lost]
    over = sum(tables.count(Ref(name, Version.DEL)) for name in made.views)
    rows, fired = sum(table.rows for table in lost), backend.work.derivations
    line = Line(made.shape, "", 0, strategy, seconds, cpu, rows, over, fired)
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


def measure(made: World, strategies: Sequence[str], size: str, deleted: int, repeat: int) -> Iterator[Line]:
    """Each strategy that the shape admits: the median over some picks of rows, the same for all."""
    known: dict[int, tuple[int, int]] = {}  # what a deletion takes, by whoever came first
    for strategy in strategies:
        if strategy == "stdel" and made.supported is None:
            continue
        if any(refusal(stratum, strategy) for stratum in made.program(strategy)[1].strata):
            continue
        times = repeat if strategy != "recompute" else 1
        lines = [delete(made, strategy, picked(made, deleted, seed)) for seed in range(times)]
        for seed, (line, mark) in enumerate(lines):
            assert known.setdefault(seed, (line.gone, mark)) == (line.gone, mark), strategy
        seconds, cpu = (statistics.median(getattr(line, what) for line, _ in lines) for what in ("seconds", "cpu"))
        yield replace(lines[0][0], size=size, deleted=deleted, seconds=round(seconds, 3), cpu=round(cpu, 3))
