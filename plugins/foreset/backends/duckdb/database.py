"""The DuckDB of strata in this process: one for all of a run, since opening it takes as long as many a stratum."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from foreset.store.scratch import UNSOUND, opened

MEMORY = 2_000_000_000  # bytes, where nobody says otherwise; beyond it spills
_SESSIONS = itertools.count(1)


def connect(memory: int = MEMORY, spill: str | None = None) -> duckdb.DuckDBPyConnection:
    """A database in so many bytes of memory, which joins in the order that we write."""
    connection = opened({"memory_limit": f"{memory}B", "temp_directory": spill or ""})
    connection.execute(f"SET disabled_optimizers = 'join_order,{UNSOUND}'").fetchall()
    connection.execute("SET preserve_insertion_order = false").fetchall()
    return connection


@contextmanager
def session(memory: int = MEMORY, spill: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to the run's database with names of its own, which go with it; `spill` is a folder of the run."""
    name = f"s{next(_SESSIONS)}"
    with _lent(memory, spill) as database, database.cursor() as connection:
        for statement in (f"CREATE SCHEMA {name}", f"USE {name}"):
            connection.execute(statement).fetchall()
        try:
            yield connection
        finally:
            connection.execute("USE main").fetchall()
            connection.execute(f"DROP SCHEMA {name} CASCADE").fetchall()


@dataclass(slots=True, eq=False)
class _Database:
    connection: duckdb.DuckDBPyConnection
    memory: int
    spill: str | None
    sessions: int = 0

    def serves(self, memory: int, spill: str | None) -> bool:
        """Whether it is, or can be made, what is asked for: an idle one can spill elsewhere, if it never had to."""
        if self.sessions:
            return self.spill == spill  # whoever came first has said how much memory there is
        try:
            if self.spill != spill:
                self.connection.execute("SET GLOBAL temp_directory = $spill", {"spill": spill or ""}).fetchall()
                self.spill = spill
            if self.memory != memory:
                self.connection.execute(f"SET GLOBAL memory_limit = '{int(memory)}B'").fetchall()
                self.memory = memory
        except duckdb.Error:
            return False
        return True


_kept: _Database | None = None
_lock = threading.Lock()


@contextmanager
def _lent(memory: int, spill: str | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database that was used last, or another; it is kept for the next run."""
    global _kept  # noqa: PLW0603 - one a process, as its threads and memory are
    with _lock:
        if _kept is None or not _kept.serves(memory, spill):
            _kept = _Database(connect(memory, spill), memory, spill)
        database = _kept
        database.sessions += 1
    try:
        yield database.connection
    finally:
        with _lock:
            database.sessions -= 1
