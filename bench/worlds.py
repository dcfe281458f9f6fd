"""What every benchmark world shares: tables with a change feed, changes of them, and a fingerprint of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

ORACLE_MEMORY = "6GB"  # for what is expected, beside everything that is measured
Fingerprint = tuple[int, str]  # number of rows, and a hash that does not depend on their order
Fingerprints = Mapping[str, Fingerprint]  # by view


@dataclass(frozen=True, slots=True)
class Change:
    """How many rows of sources came and went."""

    inserted: int
    deleted: int


@dataclass(frozen=True, slots=True)
class Keyed:
    """A view that MERGE can maintain: its key, and the keys that a change touches, in SQL over `<table>_changes`."""

    keys: tuple[str, ...]
    touched: str


NO_KEYS: Mapping[str, Keyed] = {}


class World(Protocol):
    """Sources that change, views over them, and what the views must be."""

    name: str

    @property
    def tables(self) -> Sequence[str]:
        """The tables that the views read, below `raw`."""

    @property
    def queries(self) -> Mapping[str, str]:
        """Each view in SQL, in an order in which one may read those before it."""

    @property
    def peers(self) -> Mapping[str, str]:
        """What each peer runs, in its own terms; or why it cannot, after `not: `."""

    @property
    def keyed(self) -> Mapping[str, Keyed]:
        """The views that MERGE can maintain."""

    def spec(self, group: str, strategy: str = "auto") -> str:
        """The spec under a group's name."""

    def create(self, root: str) -> None:
        """Write the sources."""

    def changes(self) -> list[tuple[str, int, str]]:
        """Label, size and kind of each change, in order."""

    def apply(self, root: str, size: int, kind: str) -> Change:
        """Make one change."""

    def expected(self, root: str) -> Fingerprints:
        """Number and hash of the views' rows, computed without Foreset."""


def raw(root: str, name: str) -> str:
    """Where a source lies."""
    return f"{root}/raw/{name}"


def write_table(root: str, name: str, rows: pa.Table | pa.RecordBatchReader) -> None:
    """A new source table that records its changes."""
    write_deltalake(f"{root}/{name}", rows, configuration={"delta.enableChangeDataFeed": "true"})


def write_changes(root: str, name: str, plus: pa.Table, minus: pa.Table, keys: Sequence[str] = ()) -> None:
    """Take rows away (those with the same `keys`, by default those that are the same), then append others."""
    table = DeltaTable(f"{root}/{name}")
    if minus.num_rows:
        by = list(keys or minus.column_names)
        same = " and ".join(f"t.{column} = s.{column}" for column in by)
        table.merge(minus.select(by), same, source_alias="s", target_alias="t").when_matched_delete().execute()
    if plus.num_rows:
        write_deltalake(f"{root}/{name}", plus, mode="append")


def fingerprint(rows: pa.Table) -> Fingerprint:
    """Number of rows and the sum of their hashes, by DuckDB; widths of integers and decimals do not matter."""
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        columns = ", ".join(_widest(field) for field in rows.schema)
        query = f"select count(*), coalesce(sum(hash({columns})::hugeint), 0)::varchar from rows"
        found = connection.execute(query).fetchone()
    assert found is not None
    return int(found[0]), str(found[1])


def _widest(column: pa.Field) -> str:
    name = f'"{column.name}"'
    if pa.types.is_integer(column.type):
        return f"{name}::bigint"
    if pa.types.is_decimal(column.type):
        return f"{name}::decimal(38, {column.type.scale})"
    return name


def by_duckdb(world: World, root: str, connection: duckdb.DuckDBPyConnection | None = None) -> dict[str, pa.Table]:
    """All views by DuckDB over the sources as they are; those before a view are tables in memory."""
    if connection is None:
        with duckdb.connect(config={"memory_limit": ORACLE_MEMORY, "temp_directory": f"{root}/duckdb-spill"}) as own:
            return by_duckdb(world, root, own)
    connection.execute("set preserve_insertion_order = false")
    for name in world.tables:
        connection.read_parquet(DeltaTable(raw(root, name)).file_uris()).create_view(name)
    found = {}
    for view, query in world.queries.items():
        connection.execute(f'create table "{view}" as {query}')
        found[view] = connection.table(view).to_arrow_table()
    return found


def fingerprints(tables: Mapping[str, pa.Table]) -> dict[str, Fingerprint]:
    """The fingerprint of each."""
    return {name: fingerprint(rows) for name, rows in tables.items()}
