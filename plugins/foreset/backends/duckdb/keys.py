"""Which keys do several rows have, asked of files that may be large: all columns are read of few rows only."""

from __future__ import annotations

from collections.abc import Sequence

from foreset.backends.duckdb.tables import Sql, Table, Tables


def repeated(tables: Tables, keys: Table, key: Sequence[str], came: Table | None) -> Table:
    """The keys that stand several times in `keys`, which has one for each copy of a row.

    With `came`, only keys of the rows there are asked for.
    """
    names = ", ".join(key)
    if came is not None:
        keys = _of(tables, keys, tables.make(Sql(f"SELECT DISTINCT {names} FROM {came.name}")), key)
    return tables.make(_several(f"SELECT {names} FROM {keys.name}", names))


def of_several(tables: Tables, rows: Table, repeated: Table, key: Sequence[str]) -> Table:
    """Those of the `repeated` keys that several different rows have."""
    found = _of(tables, rows, repeated, key)
    return tables.make(_several(f"SELECT DISTINCT * FROM {found.name}", ", ".join(key)))


def _of(tables: Tables, rows: Table, wanted: Table, key: Sequence[str]) -> Table:
    return tables.look(rows, wanted, [(label, f"r.{label}", True) for label in key])


def _several(rows: str, names: str) -> Sql:
    return Sql(f"SELECT {names} FROM ({rows}) GROUP BY {names} HAVING count(*) > 1")
