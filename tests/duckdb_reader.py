"""The DuckDB reader of refresh cases: DuckDB tables filled from Python sets, no Delta, no JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import duckdb
from tests.refresh_cases import Night, Session

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import Budget
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Tables
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
    and into memory after some of them. States lie `outside`, as files do.
    """

    large: int = 50_000
    patience: int = 2
    outside: bool = True

    def port(self, schemas: Schemas) -> DuckDBPort:
        """A connection to the one database: its tables go with it."""
        tables = Tables(_database().cursor(), dict(schemas), Budget(), patience=self.patience, large=self.large)
        backend = DuckDBBackend(tables)
        return _Outside(backend) if self.outside else DuckDBPort(backend)


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
    name: str = "in process"

    def open(self, program: Program, layering: Layering) -> Session:
        """Begin with everything empty."""
        settings = {"large": self.large, "patience": self.patience, "outside": self.outside}
        return _DuckDBSession(DuckDBReplica(program, layering, **settings))
