"""Derivation counters in DuckDB: what is stored, looked up for the rows in question, and what this run changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foreset.backends.duckdb.tables import Sql, Table, Tables
from foreset.ir.steps import Standing
from foreset.store.types import column_names

Extent = tuple[str, int]  # a table that only ever grows, by its name and its rows
Lookup = Callable[[Table], Table]  # rows -> entries (row, base, recursive) to be summed, none if nothing is stored

_CONDITIONS = {
    Standing.APPEARED: "sum(b0 + r0) = 0 AND sum(b1 + r1) > 0",
    Standing.VANISHED: "sum(b0 + r0) > 0 AND sum(b1 + r1) = 0",
    Standing.UNFOUNDED: "sum(b1) = 0",
    Standing.STANDING: "sum(b1 + r1) > 0",
    Standing.GONE: "sum(b1 + r1) = 0",
}
# Where a row has one derivation or none, the change alone says what was there before.
_SINGLE = {Standing.APPEARED: "sum(b1 + r1) > 0", Standing.VANISHED: "sum(b1 + r1) < 0"}


@dataclass(slots=True)
class CounterTables:
    """The counters of one relation; `stored` is None where none are kept or all were forgotten.

    `single`: no row can have two derivations, before or after; then nothing need be stored or looked up.
    """

    tables: Tables
    relation: str
    stored: Lookup | None = None
    single: bool = False
    change: Table | None = None
    _touched: Extent | None = None  # of the table of all rows that the change names, as long as one tally made it
    _before: tuple[Extent, Table] | None = None  # the last rows that were looked up, and what is stored of them

    @property
    def held(self) -> tuple[Table, ...]:
        """The tables that are still needed."""
        return tuple(table for table in (self.change, self._before and self._before[1]) if table is not None)

    @property
    def names(self) -> str:
        """The columns of the relation."""
        return ", ".join(column_names(len(self.tables.schemas[self.relation])))

    def add(self, change: Table, touched: Table) -> None:
        """Take a tally in: (row, base, recursive), and the rows alone."""
        if self.change is None:
            self.change = self.tables.make(Sql(f"SELECT * FROM {change.name}"))
            self._touched = _extent(touched)
            return
        self._touched = None
        self.tables.run(Sql(f"INSERT INTO {self.change.name} SELECT * FROM {change.name}"))
        self.change.rows += change.rows

    def standing(self, rows: Table, wanted: Standing) -> Table:
        """The rows of `rows` whose counters are as `wanted` says."""
        names = self.names
        parts = [f"SELECT {names}, 0 AS b0, 0 AS r0, 0 AS b1, 0 AS r1, 1 AS asked FROM {rows.name}"]
        if self.stored is not None:
            before = self._looked_up(rows, self.stored)
            parts.append(f"SELECT {names}, base, recursive, base, recursive, 0 FROM {before.name}")
        if self.change is not None:
            found = self.tables.look(self.change, rows, self._pairs())
            parts.append(f"SELECT {names}, 0, 0, base, recursive, 0 FROM {found.name}")
        united = " UNION ALL ".join(parts)
        having = f"max(asked) = 1 AND {(_SINGLE if self.single else _CONDITIONS)[wanted]}"
        return self.tables.make(Sql(f"SELECT {names} FROM ({united}) GROUP BY {names} HAVING {having}"))

    def _looked_up(self, rows: Table, stored: Lookup) -> Table:
        """What is stored of some rows; what comes and what goes is asked of the same ones."""
        if self._before is None or self._before[0] != _extent(rows):
            self._before = _extent(rows), stored(rows)
        return self._before[1]

    def _pairs(self) -> list[tuple[str, str, bool]]:
        return [(name, f"r.{name}", True) for name in column_names(len(self.tables.schemas[self.relation]))]

    def current(self) -> Table | None:
        """All changes of this run, one row for each row that they name; None when there are none."""
        if self.change is None:
            return None
        return self.tables.make(_summed(f"SELECT * FROM {self.change.name}", self.names, "base <> 0 OR recursive <> 0"))

    def impossible(self) -> Table | None:
        """Rows with a negative counter, or two derivations where one can be: the state is wrong if there is one."""
        change = self.current()
        if change is None or not change.rows:
            return None
        entries = f"SELECT {self.names}, base, recursive FROM {change.name}"
        if self.single:
            return self.tables.make(Sql(f"{entries} WHERE abs(base) > 1"))
        if self.stored is not None:
            if self._before is not None and self._before[0] == self._touched:
                before = self._before[1]
            else:
                before = self.stored(self.tables.make(Sql(f"SELECT {self.names} FROM {change.name}")))
            entries += f" UNION ALL SELECT {self.names}, base, recursive FROM {before.name}"
        return self.tables.make(_summed(entries, self.names, "base < 0 OR recursive < 0"))


def _extent(table: Table) -> Extent:
    return table.name, table.rows


def _summed(entries: str, names: str, condition: str) -> Sql:
    sums = "CAST(sum(base) AS BIGINT) AS base, CAST(sum(recursive) AS BIGINT) AS recursive"
    return Sql(f"SELECT * FROM (SELECT {names}, {sums} FROM ({entries}) GROUP BY {names}) WHERE {condition}")
