"""Strata alone, in process: a program's contents as files, and what a deletion costs each strategy.

What a refresh does around it (capture, verification, commit) is left out, as it is the same for all strategies.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from foreset.machine.stratum import Task, run_stratum
from foreset.plan.translate import refusal, translate
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
        backend = _backend(program)
        files = _Files(made, backend, frozenset(tables))
        for stratum in layering.strata:
            procedure = translate(stratum, "recompute", counted=strategy == "counting")
            backend.versions.schemas |= procedure.helper_types
            run_stratum(Task(procedure, stratum.reads, ROUNDS), files, files)
            for name in stratum.names:
                if strategy == "counting" or is_hidden(name):
                    made.keep(name, backend.versions.arrow(backend.versions.whole(Ref(name, Version.PLUS))))
                if name in backend.counters:
                    counters = backend.counters[name].current()
                    assert counters is not None
                    made.keep(f"{name}.counters", backend.versions.arrow(counters))
    return made


def _prepared(text: str) -> tuple[Program, Layering]:
    loaded = load_text(text)
    assert loaded.program is not None, [fault.message for fault in loaded.report]
    found = prepare(loaded.program)
    assert found.program is not None, [fault.message for fault in found.report]
    assert found.layering is not None
    return found.program, found.layering


def _backend(program: Program) -> DuckDBBackend:
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    return DuckDBBackend(Tables(connect(8_000_000_000), schemas, Budget(UNBOUNDED, UNBOUNDED, UNBOUNDED)))


@dataclass(slots=True)
class _Files:
    """Relations that lie in the files of a world, less what goes: each is taken in once, for all strata."""

    made: World
    backend: DuckDBBackend
    there: Collection[str]  # whose rows are in files
    gone: Mapping[str, pa.Table] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def below(self, relation: str, *, building: bool, read: object) -> Sequence[Ref]:  # noqa: ARG002
        """The state, and what goes."""
        gone = [Ref(relation, Version.MINUS)] if relation in self.gone and relation not in self.taken else []
        return [*gone, *self.before(relation)]

    def before(self, view: str) -> Sequence[Ref]:
        """The state."""
        fresh = view in self.there and view not in self.taken
        self.taken.add(view)
        return [Ref(view, Version.OLD)] if fresh and self.made.rows[view] else []

    def counters(self, view: str) -> str:
        """The file."""
        return f"{view}.counters"

    def put(self, versions: Sequence[Ref], reads: object) -> None:  # noqa: ARG002
        """A view of the file, or rows in memory."""
        for ref in versions:
            name, gone = ref.relation, ref.version is Version.MINUS
            table = self.backend.versions.take_arrow(self.gone[name]) if gone else self._outside(name, name)
            self.backend.versions.put(ref, Part(table))

    def count(self, view: str, stored: str | None) -> None:
        """Looked up in the file."""
        assert stored is not None
        tables, entries = self.backend.versions, self._outside("", stored)
        pairs = [(name, f"r.{name}", True) for name in column_names(2)]
        self.backend.counters[view] = CounterTables(tables, view, lambda asked: tables.look(entries, asked, pairs))

    def _outside(self, relation: str, file: str) -> Table:
        view = self.backend.versions.fresh("v")
        self.backend.versions.connection.read_parquet(str(self.made.file(file))).create_view(view)
        return Table(view, self.made.rows[file], relation, outside=True)


def delete(made: World, strategy: str, gone: Mapping[str, pa.Table]) -> tuple[Line, int]:
    """Delete rows of the sources; the line, and a hash of what the views lose."""
    program, layering = made.program(strategy)
    backend = _backend(program)
    tables, files = backend.versions, _Files(made, backend, frozenset(program.columns_of()), gone)
    for name in program.columns_of():
        files.put(files.below(name, building=False, read=None), None)
    started, spent = time.perf_counter(), time.process_time()
    for stratum in layering.strata:
        procedure = translate(stratum, strategy)
        tables.schemas |= procedure.helper_types
        run_stratum(Task(procedure, stratum.reads, ROUNDS), files, files)
    seconds, cpu = time.perf_counter() - started, time.process_time() - spent
    lost = [tables.whole(Ref(name, Version.MINUS)) for name in made.views]
    mark = "SELECT coalesce(sum(hash(c0, c1) % 1000003), 0) FROM {}"
    marks = [int(tables.run(Sql(mark.format(table.name)))[0][0]) for table in lost]
    over = sum(tables.count(Ref(name, Version.DEL)) for name in made.views)
    rows, fired = sum(table.rows for table in lost), backend.work.derivations
    line = Line(made.shape, "", 0, strategy, seconds, cpu, rows, over, fired)
    tables.connection.close()
    return line, sum(marks)


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
