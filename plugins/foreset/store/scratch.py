"""DuckDB in this process. Nothing else opens one: time is UTC in each, whatever the time zone of the process is."""

from __future__ import annotations

import functools
import os

import duckdb

UNSOUND = "common_subplan"  # of DuckDB 2.0.0: it takes columns of like subplans for each other


def opened(config: dict[str, str | bool | int | float | list[str]] | None = None) -> duckdb.DuckDBPyConnection:
    """A database in memory of the caller's own; to be closed."""
    connection = duckdb.connect(config=config or {})
    connection.execute("SET GLOBAL TimeZone = 'UTC'").fetchall()
    connection.execute(f"SET GLOBAL disabled_optimizers = '{UNSOUND}'").fetchall()
    return connection


def cursor() -> duckdb.DuckDBPyConnection:
    """A connection for a short look at rows that are here, with temporary names of its own; to be closed.

    The database is one of the process, since opening one takes as long as ten looks.
    """
    return _database(os.getpid()).cursor()


@functools.lru_cache(maxsize=1)
def _database(_process: int) -> duckdb.DuckDBPyConnection:
    """By process, since the threads of a database do not live on in a fork."""
    return opened()
