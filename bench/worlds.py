"""What every benchmark world shares: tables with a change feed, changes of them, and a fingerprint of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

Fingerprint = tuple[int, str]  # number of rows, and a hash that does not depend on their order


@dataclass(frozen=True, slots=True)
class Change:
    """How many rows of sources came and went."""

    inserted: int
    deleted: int


class World(Protocol):
    """Sources that change, one view over them, and what the view must be."""

    name: str
    view: str
    query: str  # the view, in SQL

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that it reads."""

    def spec(self, group: str) -> str:
        """The view's spec under a group's name."""

    def create(self, root: str) -> None:
        """Write the sources."""

    def changes(self) -> list[tuple[str, int, str]]:
        """Label, size and kind of each change, in order."""

    def apply(self, root: str, size: int, kind: str) -> Change:
        """Make one change."""

    def expected(self, root: str) -> Fingerprint:
        """Number and hash of the view's rows, computed without Foreset."""


def write_table(root: str, name: str, rows: pa.Table) -> None:
    """A new source table that records its changes."""
    write_deltalake(f"{root}/{name}", rows, configuration={"delta.enableChangeDataFeed": "true"})


def write_changes(root: str, name: str, plus: pa.Table, minus: pa.Table) -> None:
    """Take rows away, then append others."""
    table = DeltaTable(f"{root}/{name}")
    if minus.num_rows:
        same = " and ".join(f"t.{column} = s.{column}" for column in minus.column_names)
        table.merge(minus, same, source_alias="s", target_alias="t").when_matched_delete().execute()
    if plus.num_rows:
        write_deltalake(f"{root}/{name}", plus, mode="append")


def fingerprint(rows: pa.Table) -> Fingerprint:
    """Number of rows and the sum of their hashes, by DuckDB."""
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        columns = ", ".join(f'"{name}"' for name in rows.column_names)
        query = f"select count(*), coalesce(sum(hash({columns})::hugeint), 0)::varchar from rows"
        found = connection.execute(query).fetchone()
    assert found is not None
    return int(found[0]), str(found[1])
