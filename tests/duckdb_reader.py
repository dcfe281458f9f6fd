"""The in-process reader of refresh cases: DuckDB tables filled from Python sets, no Delta, no JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import duckdb
from tests.refresh_cases import Night, Session

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import Budget
from foreset.backends.duckdb.counters import CounterTables
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.ir.program import Program
from foreset.ir.steps import Ref
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT
from foreset.ir.versions import Version
from foreset.machine.backend import Work
from foreset.machine.machine import Machine
from foreset.plan.translate import COUNTED, translate
from foreset.store.types import column_names
from foreset.testing.replica import Chooser, Delta, Replica


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One for all strata: opening costs more than a small stratum."""
    return connect()


@dataclass(slots=True)
class DuckDBReplica(Replica):
    """A replica whose strata are maintained by the in-process reader.

    `large` and `patience` set low send small tables the way of large ones: looks instead of joins,
    and into memory after some of them. States lie `outside`, as files do.
    """

    large: int = 50_000
    patience: int = 2
    outside: bool = True
    derivations: int = 0

    def _maintain(self, stratum: Stratum, strategy: str, deltas: dict[str, Delta]) -> Work:
        tables = Tables(_connection(), {}, Budget(), patience=self.patience, large=self.large)
        for (name,) in tables.run(Sql("SELECT table_name FROM duckdb_tables()")):  # those of the stratum before
            tables.run(Sql(f"DROP TABLE {name}"))
        procedure = translate(stratum, strategy, counted=self.keep_counters)
        tables.schemas = self.schemas | procedure.helper_types
        for name in (*stratum.reads, *stratum.names):
            self._put(tables, Ref(name, Version.OLD), self.contents.get(name, frozenset()), outside=self.outside)
        for name in stratum.reads:
            self._put(tables, Ref(name, Version.PLUS), deltas[name].plus)
            self._put(tables, Ref(name, Version.MINUS), deltas[name].minus)
        counted = stratum.names if strategy in COUNTED else ()
        backend = DuckDBBackend(tables, {name: self._stored(tables, name) for name in counted})
        Machine(backend, self.program.max_rounds).run(*procedure.phases)
        for name in stratum.names:
            deltas[name] = Delta(*(self._rows(tables, Ref(name, v)) for v in (Version.PLUS, Version.MINUS)))
            if name in procedure.counted:
                self._keep(name, backend, building=strategy == "recompute")
            elif strategy != "skip":
                self.counters.pop(name, None)
        return backend.work

    def _put(self, tables: Tables, ref: Ref, rows: frozenset[Row], *, outside: bool = False) -> None:
        kinds = tables.schemas[ref.relation]
        table = tables.bring(list(rows), kinds, column_names(len(kinds)))
        if outside:
            tables._made.pop(table.name)
            table.relation, table.outside = ref.relation, True
        tables.put(ref, Part(table))

    def _rows(self, tables: Tables, ref: Ref) -> frozenset[Row]:
        rows = tables.fetch(tables.whole(ref), tables.schemas[ref.relation])
        assert len(rows) == len(set(rows)), f"{ref} repeats rows"
        return frozenset(rows)

    def _stored(self, tables: Tables, view: str) -> CounterTables:
        kinds = self.schemas[view]
        names = column_names(len(kinds))
        rows = [(*row, *pair) for row, pair in self.counters.get(view, {}).items()]
        stored = tables.bring(rows, (*kinds, BIGINT, BIGINT), (*names, "base", "recursive"))
        tables._made.pop(stored.name)

        def lookup(asked: Table) -> Table:
            return tables.look(stored, asked, [(name, f"r.{name}", True) for name in names])

        return CounterTables(tables, view, lookup)

    def _keep(self, view: str, backend: DuckDBBackend, *, building: bool) -> None:
        after = {} if building else dict(self.counters.get(view, {}))
        change = backend.counters[view].current() if view in backend.counters else None
        kinds = (*self.schemas[view], BIGINT, BIGINT)
        for found in backend.versions.fetch(change, kinds) if change is not None else []:
            base, recursive = after.get(found[:-2], (0, 0))
            after[found[:-2]] = (base + found[-2], recursive + found[-1])
        self.counters[view] = {row: pair for row, pair in after.items() if any(pair)}


@dataclass(slots=True)
class _DuckDBSession:
    replica: DuckDBReplica

    def refresh(self, changes: Night, chooser: Chooser) -> Mapping[str, Delta]:
        return self.replica.refresh(changes, chooser)[0]


@dataclass(frozen=True, slots=True)
class DuckDBReader:
    """Opens sessions; see `DuckDBReplica` for the settings."""

    large: int = 50_000
    patience: int = 2
    outside: bool = True
    name: str = "in process"

    def open(self, program: Program, layering: Layering) -> Session:
        """Begin with everything empty."""
        settings = {"large": self.large, "patience": self.patience, "outside": self.outside}
        return _DuckDBSession(DuckDBReplica(program, layering, **settings))
