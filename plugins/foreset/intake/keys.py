"""Keys: the columns in which no two rows agree. Asked for once, checked with each file, kept in the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from foreset.errors import SourceError
from foreset.intake.columns import TYPED, Planned
from foreset.ir.text import print_value
from foreset.store.quoting import quoted

if TYPE_CHECKING:
    import duckdb

IN_TABLE = "there"  # the name of the rows that the table has already
SHOWN, TRIED = 3, 3


def check_key(connection: duckdb.DuckDBPyConnection, key: Sequence[str]) -> None:
    """Raise `SourceError` where two rows of the files agree on the key, or a row has no value in it."""
    names = ", ".join(map(quoted, key))
    empty = " OR ".join(f"{quoted(name)} IS NULL" for name in key)
    (row,) = connection.execute(f"SELECT count(*) FROM {TYPED} WHERE {empty}").fetchall()
    if row[0]:
        raise SourceError(f"{row[0]:,} row{'s have' if row[0] > 1 else ' has'} no value in key {_shown(key)}",
                          "give other columns with --key, or use --no-key")  # fmt: skip
    query = f"SELECT {names}, count(*) FROM {TYPED} GROUP BY {names} HAVING count(*) > 1 ORDER BY ALL LIMIT {SHOWN}"
    if found := connection.execute(query).fetchall():
        rows = ", ".join(f"({', '.join(map(print_value, one[:-1]))}) in {one[-1]} rows" for one in found)
        raise SourceError(f"{_shown(key)} is not a key: {rows}", "give other columns with --key, or use --no-key")


def check_new(connection: duckdb.DuckDBPyConnection, key: Sequence[str]) -> None:
    """Raise `SourceError` where a row of the files has the key of a row of the table."""
    names = ", ".join(f"n.{quoted(name)}" for name in key)
    same = " AND ".join(f"n.{quoted(name)} = t.{quoted(name)}" for name in key)
    query = f"SELECT {names} FROM {TYPED} n SEMI JOIN {IN_TABLE} t ON {same}"
    (row,) = connection.execute(f"SELECT count(*) FROM ({query})").fetchall()
    if row[0]:
        shown = connection.execute(f"{query} ORDER BY ALL LIMIT {SHOWN}").fetchall()
        rows = ", ".join(f"({', '.join(map(print_value, one))})" for one in shown)
        count = f"{row[0]:,} row{'s have' if row[0] > 1 else ' has'}"
        raise SourceError(f"{count} a key that the table has already, such as {rows}",
                          "nothing was written; to change the rows that are there, use --upsert")  # fmt: skip


def likely_key(connection: duckdb.DuckDBPyConnection, columns: Sequence[Planned], rows: int) -> str:
    """A column that has another value in each row, if one is easily found; else empty."""
    if not rows:
        return ""
    exact = [one for one in columns if not one.type.is_fractional and not one.type.element]
    if not exact:
        return ""
    asked = ", ".join(f"approx_count_distinct({quoted(one.name)}), count({quoted(one.name)})" for one in exact)
    (found,) = connection.execute(f"SELECT {asked} FROM {TYPED}").fetchall()
    near = [one for i, one in enumerate(exact) if found[2 * i + 1] == rows and found[2 * i] >= 0.9 * rows]
    for one in near[:TRIED]:
        (row,) = connection.execute(f"SELECT count(DISTINCT {quoted(one.name)}) FROM {TYPED}").fetchall()
        if row[0] == rows:
            return one.name
    return ""


def _shown(key: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in key)
