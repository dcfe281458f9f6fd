"""Which keys do several rows have, asked of files that may be large: all columns are read of few rows only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foreset.inproc.tables import Sql, Table, Tables


def of_several(
    tables: Tables, keys: Table, rows: Callable[[], Table], key: Sequence[str], came: Table | None
) -> Table | None:
    """The keys of several different rows; None where there are none.

    `keys` has the columns of the key, once for each copy of a row, and `rows` opens all columns of the same.
    With `came`, only keys of the rows there are asked for.
    """
    if not keys.rows:
        return None
    names = ", ".join(key)
    if came is not None:
        keys = _of(tables, keys, tables.make(Sql(f"SELECT DISTINCT {names} FROM {came.name}")), key)
    repeated = tables.make(_several(f"SELECT {names} FROM {keys.name}", names))
    if not repeated.rows:
        return None
    found = _of(tables, rows(), repeated, key)
    return tables.make(_several(f"SELECT DISTINCT * FROM {found.name}", names))


def _of(tables: Tables, rows: Table, wanted: Table, key: Sequence[str]) -> Table:
    return tables.look(rows, wanted, [(label, f"r.{label}", True) for label in key])


def _several(rows: str, names: str) -> Sql:
    return Sql(f"SELECT {names} FROM ({rows}) GROUP BY {names} HAVING count(*) > 1")
