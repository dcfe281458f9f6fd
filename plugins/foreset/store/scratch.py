"""A DuckDB for short looks at rows that are here: one a process, since opening it takes as long as ten looks."""

from __future__ import annotations

import functools
import os

import duckdb


def cursor() -> duckdb.DuckDBPyConnection:
    """A connection with temporary names of its own; to be closed."""
    return _database(os.getpid()).cursor()


@functools.lru_cache(maxsize=1)
def _database(_process: int) -> duckdb.DuckDBPyConnection:
    """By process, since the threads of a database do not live on in a fork."""
    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection
