"""Located relations as Arrow tables and values under the declared names, without Spark."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa
import pyarrow.dataset as arrow_dataset

from foreset.ir.program import Column
from foreset.ir.terms import Row
from foreset.ir.values import sort_key
from foreset.relations.located import AtHand, Composed, CountersAt, Folder, Located, SignedAt, SourceAt, declared
from foreset.store import arrow, delta, manifest
from foreset.store.arrow_values import to_rows
from foreset.store.layout import Layout, table_path
from foreset.store.rows import ViewPin

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset


def table(located: Located, open_at: delta.OpenAt = delta.open_table) -> pa.Table:
    """All rows, of a source every copy; raises `SparkOnly` where only Spark reads them."""
    schema, place = schema_of(located.columns), located.place
    match place:
        case None:
            return schema.empty_table()
        case SourceAt():
            found = of_source(place, open_at)
            return found if isinstance(found, pa.Table) else found.to_table(schema.names)
        case SignedAt(path, version):
            return arrow.read(path, version, schema.names).cast(schema)
        case CountersAt(path, version):
            return arrow.read_plain(path, version, schema.names).cast(schema)
        case Folder(path):
            return arrow_dataset.dataset(path, format="parquet").to_table(schema.names).cast(schema)
        case AtHand(rows):
            return table_of(rows, located.columns)
        case Composed(base, less, more):
            old, gone, come = (table(part, open_at) for part in (base, less, more))
            return pa.concat_tables([arrow.difference(old, gone), come])
        case _:
            assert_never(place)


def rows(located: Located, open_at: delta.OpenAt = delta.open_table) -> list[Row]:
    """The same as values."""
    return to_rows(table(located, open_at), located.columns)


def of_source(place: SourceAt, open_at: delta.OpenAt = delta.open_table) -> Dataset | pa.Table:
    """The rows of a source, those of a table still in their files; raises `SparkOnly` where only Spark reads them."""
    source = place.source
    if source.view is not None:
        path, pin = view_of(place)
        return arrow.read(path, pin.version, [column.name for column in source.columns])
    path = table_path(place.root, str(source.table))
    with delta.reading(path):
        found = open_at(path, place.pin.version)
        if found is None:
            raise delta.SparkOnly(f"{path} is not there")
        return found.to_pyarrow_dataset()


def view_of(place: SourceAt) -> tuple[str, ViewPin]:
    """The table of the view of another group that a source is, and its pin."""
    group, view = place.source.group_and_view
    layout = Layout(place.root, group)
    row = manifest.at(layout.root, group, place.pin.version)
    assert row is not None, f"{place.source.view} was pinned at seq {place.pin.version}"
    pin = row.views[view]
    return layout.resolve(pin.path), pin


def table_of(rows: Iterable[Row], columns: Sequence[Column]) -> pa.Table:
    """Rows that are values here, in an order of their own."""
    listed = sorted(rows, key=sort_key)
    schema = schema_of(columns)
    arrays = [pa.array([row[i] for row in listed], field.type) for i, field in enumerate(schema)]
    return pa.table(arrays, schema=schema)


@functools.lru_cache(maxsize=1024)
def schema_of(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of declared columns."""
    return arrow.schema_of(declared(columns))
