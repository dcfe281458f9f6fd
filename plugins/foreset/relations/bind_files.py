"""Delta tables and staged differentials as tables of DuckDB, bound where they lie.

Local files are scanned by DuckDB itself; whatever else delta-rs can read comes by way of Arrow.
Names of columns and files stand quoted in texts: one statement binds a table, for each takes a millisecond.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.backends.duckdb.types import widening
from foreset.ir.types import BIGINT, Type
from foreset.store import delta
from foreset.store.delta import SEQ, SEQ_OF_ENTRY, SIGN, entries_in
from foreset.store.files import filesystem, list_files
from foreset.store.layout import is_local
from foreset.store.quoting import literal, quoted
from foreset.store.types import duck_type

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyarrow.dataset import Dataset


_SIGN_OF, _SEQ_OF = f"partition.{SIGN}", f"partition.{SEQ}"  # of a listed file


@dataclass(frozen=True, slots=True)
class Stored:
    """A column as files have it, and the type in which it is read."""

    name: str
    kind: Type  # in the files
    read_as: Type
    label: str  # our name: `c0`, `c1` ...
    hidden: bool = False  # nobody asks for it: it is NULL everywhere, and not read


def stored(names: Sequence[str], kinds: Sequence[Type]) -> tuple[Stored, ...]:
    """Columns that are read as they are stored."""
    pairs = zip(names, kinds, strict=True)
    return tuple(Stored(name, kind, kind, f"c{i}") for i, (name, kind) in enumerate(pairs))


def bind_table(tables: Tables, relation: str, path: str, version: int, columns: Sequence[Stored]) -> Table:
    """All entries of a Delta table at a version; raises `SparkOnly` where delta-rs cannot read it."""
    table = _opened(tables, path, version)
    listed = delta.listed_files(table)
    rows = _rows(listed)
    inside = not {column.name for column in columns} & set(table.metadata().partition_columns)
    files = delta.on_this_disk(path, listed) if inside else None
    return _bind(tables, relation, files, lambda: _dataset(table), columns, rows, _ranges(table, columns))


def _opened(tables: Tables, path: str, version: int) -> DeltaTable:
    with delta.reading(path):
        table = tables.open(path, version)
    if table is None:
        raise OutOfBounds(f"{path} is not there")
    if table.protocol().min_reader_version > 1:
        _dataset(table)  # refuses deletion vectors and the like, of which the files alone say nothing
    return table


def signed_parts(tables: Tables, relation: str, path: str, version: int, columns: Sequence[Stored]) -> tuple[Part, ...]:
    """The visible rows of a signed table (store/signed.py).

    A row that was ever taken away is settled at once: those rows are few, and the entries behind
    them lie beside the base. All others are the + entries as they stand, read when needed.
    """
    table = _opened(tables, path, version)
    listed = delta.listed_files(table)
    plus, minus = ([one for one in listed if one[_SIGN_OF] == sign] for sign in (1, -1))
    near = delta.on_this_disk(path, plus)

    def all_plus() -> Dataset:
        return _dataset(table).filter(_field(SIGN) == 1)

    base = _bind(tables, relation, near, all_plus, columns, _rows(plus), _ranges(table, columns))
    if not minus:
        return (Part(base),)
    since = min(int(one[_SEQ_OF]) for one in minus)
    later = [one for one in plus if one[_SEQ_OF] > since]
    went = _entries(tables, path, minus, lambda: _dataset(table).filter(_field(SIGN) == -1), columns)
    came = _entries(tables, path, later, lambda: all_plus().filter(_field(SEQ) > since), columns)
    labels = ", ".join(column.label for column in columns)
    same = " AND ".join(f"l.{column.label} IS NOT DISTINCT FROM r.{column.label}" for column in columns)
    touched = tables.make(Sql(f"SELECT DISTINCT {labels} FROM {went.name}"))
    picked = ", ".join(f"l.{column.label}" for column in columns)
    back = tables.make(
        Sql(f"SELECT {picked} FROM {came.name} l SEMI JOIN {touched.name} r ON {same} "
            f"ANTI JOIN {went.name} r ON {same} AND r.seq > l.seq")
    )  # fmt: skip
    return tuple(part for part in (Part(base, (touched,)), Part(back)) if part.table.rows)


def _entries(
    tables: Tables, path: str, listed: list[dict[str, Any]], data: Callable[[], Dataset], columns: Sequence[Stored]
) -> Table:
    """Entries of a signed table with the refresh that wrote each, taken into memory."""
    entries = (*columns, Stored(SEQ, BIGINT, BIGINT, "seq"))
    files = delta.on_this_disk(path, listed)
    if files:
        dated = f"(SELECT *, {SEQ_OF_ENTRY} FROM {entries_in('files')})"
        with suppress(duckdb.Error):  # a column that no file has yet
            return tables.make(Sql(_typed(dated, entries), {"files": files}))
    return _taken(tables, data().to_table([column.name for column in entries]), entries)


def bind_arrow(tables: Tables, relation: str, data: pa.Table, columns: Sequence[Stored]) -> Table:
    """Rows that are in memory already."""
    table = _taken(tables, data, columns)
    table.relation = relation
    return table


def bind_folder(tables: Tables, folder: str, columns: Sequence[Stored]) -> Table:
    """A staged differential: few rows, taken into memory."""
    if is_local(folder):
        files = sorted(str(file) for file in Path(folder).rglob("*.parquet"))
        if all(pq.read_schema(file).names == [column.name for column in columns] for file in files):  # then by place
            labels = ", ".join(column.label for column in columns)
            rows = f"read_parquet($files, hive_partitioning=false) r({labels})"
            return tables.make(Sql(_typed(rows, columns, by=_label), {"files": files}))
        return tables.make(Sql(_typed("read_parquet($files, hive_partitioning=false)", columns), {"files": files}))
    system, inner = filesystem(folder)
    files = [f"{inner}/{file.path}" for file in list_files(folder) if file.path.endswith(".parquet")]
    return _taken(tables, pa.dataset.dataset(files, filesystem=system, format="parquet").to_table(), columns)


# ---------------------------------------------------------------- files
def _rows(listed: Sequence[dict[str, Any]]) -> int:
    rows = delta.rows_in(listed)
    if rows is None:
        raise OutOfBounds("the log of a table does not say how many rows it has")
    return rows


def _ranges(table: DeltaTable, columns: Sequence[Stored]) -> Callable[[], Mapping[int, int]]:
    """By place of a column how many values it can have: looked up when a join first asks."""

    def looked_up() -> dict[int, int]:
        ranges = delta.value_ranges(table, [column.name for column in columns])
        return {place: ranges[column.name] for place, column in enumerate(columns) if column.name in ranges}

    return functools.cache(looked_up)


def known_ranges(tables: Tables, path: str, version: int, columns: Sequence[Stored]) -> Callable[[], dict[int, int]]:
    """The same for a table that this process does not read."""

    def looked_up() -> dict[int, int]:
        with suppress(OutOfBounds, delta.SparkOnly):
            return dict(_ranges(_opened(tables, path, version), columns)())
        return {}

    return functools.cache(looked_up)


def _dataset(table: DeltaTable) -> Dataset:
    with delta.reading(table.table_uri):
        return table.to_pyarrow_dataset()


def _field(name: str) -> Any:  # noqa: ANN401 - an Arrow expression
    return pa.compute.field(name)


# ---------------------------------------------------------------- binding
def _bind(
    tables: Tables,
    relation: str,
    files: list[str] | None,
    data: Callable[[], Dataset],
    columns: Sequence[Stored],
    rows: int,
    values: Callable[[], Mapping[int, int]],
) -> Table:
    """A view of files; by way of Arrow where DuckDB cannot name them or a file lacks a column."""
    name = tables.fresh("v")
    if not rows:
        return Table(name, 0, relation)
    bound = Table(name, rows, relation, outside=True, values=values)
    view = f"CREATE TEMP VIEW {name} AS "
    if files:
        listed = ", ".join(map(literal, files))  # a view takes no parameters
        scan = f"read_parquet([{listed}], hive_partitioning=false, union_by_name=true)"
        with suppress(duckdb.Error):  # a column that no file has yet
            tables.run(Sql(view + _typed(scan, columns)))
            return bound
    rows_of = tables.fresh("d")
    tables.connection.register(rows_of, data())
    tables.run(Sql(view + _typed(rows_of, columns)))
    return bound


def _taken(tables: Tables, data: pa.Table, columns: Sequence[Stored]) -> Table:
    name = tables.fresh("d")
    tables.connection.register(name, data)
    try:
        return tables.make(Sql(_typed(name, columns)))
    finally:
        tables.connection.unregister(name)


def _name(column: Stored) -> str:
    return quoted(column.name)


def _label(column: Stored) -> str:
    return column.label


def _typed(rows: str, columns: Sequence[Stored], by: Callable[[Stored], str] = _name) -> str:
    """The columns in their types: zero has no sign, timestamps have no zone, narrow types are widened."""
    texts = []
    for column in columns:
        if column.hidden:
            texts.append(f"CAST(NULL AS {duck_type(column.read_as)}) AS {column.label}")
            continue
        value = f"CAST({by(column)} AS {duck_type(column.kind)})"
        if column.kind.is_fractional:
            value = f"CASE WHEN {value} = 0 THEN CAST(0 AS {duck_type(column.kind)}) ELSE {value} END"
        texts.append(f"{widening(value, column.kind, column.read_as)} AS {column.label}")
    return f"SELECT {', '.join(texts)} FROM {rows}"
