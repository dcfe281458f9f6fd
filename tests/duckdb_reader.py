"""The DuckDB reader of refresh cases: DuckDB tables filled from Python sets, no Delta, no JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import duckdb
import pyarrow as pa
from tests.refresh_cases import Night, Session

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import Budget
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Sql, Table, Tables
from foreset.backends.sets.rows import Schemas
from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.ir.versions import Version
from foreset.machine.stratum import Reads
from foreset.relations.located import Located
from foreset.relations.tables import DuckDBPort
from foreset.testing.replica import Chooser, Delta, Replica


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all strata: opening costs more than a small stratum."""
    return connect()


@dataclass(slots=True)
class DuckDBReplica(Replica):
    """A replica whose strata are maintained in DuckDB.

    `large` and `patience` set low send small tables the way of large ones: looks instead of joins,
    and into memory after some of them. States lie `outside`, as files do, or `far`, as what Spark has.
    """

    large: int = 50_000
    patience: int = 2
    outside: bool = True
    far: bool = False

    def port(self, schemas: Schemas) -> DuckDBPort:
        """A connection to the one database: its tables go with it."""
        tables = Tables(_database().cursor(), dict(schemas), Budget(), patience=self.patience, large=self.large)
        backend = DuckDBBackend(tables)
        if self.far:
            return _Far(backend)
        return _Outside(backend) if self.outside else DuckDBPort(backend)


@dataclass(slots=True)
class Elsewhere:
    """Rows that are only given to who has keys of them, or takes all; how often either was."""

    name: str
    asked: int = 0
    taken: int = 0
    width: int = 1
    rows: int | None = None

    def can_ask(self, place: int) -> bool:  # noqa: ARG002 - by any column
        return True

    def meeting(self, tables: Tables, keys: pa.Table, places: Sequence[tuple[int, bool]]) -> Table:
        self.asked += 1
        wanted = tables.take_arrow(keys)
        same = " AND ".join(
            f"r.c{place} {'IS NOT DISTINCT FROM' if safe else '='} k.{key}"
            for key, (place, safe) in zip(keys.column_names, places, strict=True)
        )
        return tables.make(Sql(f"SELECT r.* FROM {self.name} r SEMI JOIN {wanted.name} k ON {same}"))

    def whole(self, tables: Tables) -> Table:
        self.taken += 1
        return tables.make(Sql(f"SELECT * FROM {self.name}"))


class _Far(DuckDBPort):
    """States lie with somebody else."""

    def put(self, versions: Sequence[Located], reads: Reads) -> None:
        """Under a name that is not there: who reads it must ask."""
        DuckDBPort.put(self, versions, reads)
        for located in versions:
            for part in self.tables.stored(located.ref) if located.version is Version.OLD else ():
                table = self.tables.lasting(part.table)
                table.far = Elsewhere(table.name)
                table.relation, table.outside, table.name = located.relation, True, "elsewhere"


class _Outside(DuckDBPort):
    """States lie outside, as files do."""

    def put(self, versions: Sequence[Located], reads: Reads) -> None:
        """As they are, but that nobody may drop them, and that they are looked at."""
        DuckDBPort.put(self, versions, reads)
        for located in versions:
            for part in self.tables.stored(located.ref) if located.version is Version.OLD else ():
                self.tables.lasting(part.table)
                part.table.relation, part.table.outside = located.relation, True


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
    far: bool = False
    name: str = "in process"

    def open(self, program: Program, layering: Layering) -> Session:
        """Begin with everything empty."""
        settings = {"large": self.large, "patience": self.patience}
        settings |= {"outside": self.outside, "far": self.far}
        return _DuckDBSession(DuckDBReplica(program, layering, **settings))
