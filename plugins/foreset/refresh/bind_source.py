"""Sources, and columns of what was written, as DuckDB is given them."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.tables import Table, Tables
from foreset.ir.program import Column, Source
from foreset.ir.types import parse_type
from foreset.relations import bind_files as inputs
from foreset.relations.bind_files import Stored
from foreset.store import arrow, manifest
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.layout import Layout, table_path
from foreset.store.types import column_names


def bind_source(
    tables: Tables,
    root: str,
    source: Source,
    pin: RecordedPin,
    places: Sequence[int] = (),
    hidden: AbstractSet[int] = frozenset(),
) -> Table:
    """Every copy of every row of a source at its pin; of the columns at `places` alone, if there are any."""
    columns = without(hidden, _columns(source, pin))
    columns = tuple(columns[place] for place in places) if places else columns
    if source.view is None:
        return inputs.bind_table(tables, source.name, table_path(root, str(source.table)), pin.version, columns)
    group, _, view = source.view.partition(".")
    row = manifest.at(root, group, pin.version)
    assert row is not None, f"{source.view} was pinned at seq {pin.version}"
    there = row.views[view]
    path = Layout(root, group).resolve(there.path)
    tables.budget.take(there.rows)
    names = [column.name for column in columns]
    return inputs.bind_arrow(tables, source.name, arrow.read(path, there.version, names), columns)


def without(hidden: AbstractSet[int], columns: Sequence[Stored]) -> tuple[Stored, ...]:
    """Columns of which some are not read."""
    return tuple(replace(column, hidden=place in hidden) for place, column in enumerate(columns))


def as_declared(columns: Sequence[Column]) -> tuple[Stored, ...]:
    """Columns of what Foreset wrote: their files have the declared names and types."""
    return inputs.stored([column.name for column in columns], [column.type for column in columns])


def _columns(source: Source, pin: RecordedPin) -> tuple[Stored, ...]:
    """The declared columns as the table has them."""
    kinds = [parse_type(column.type) for column in pin.columns]
    if None in kinds or len(kinds) != len(source.columns):
        raise OutOfBounds(f"the columns of source {source.name} were not recorded")
    labels = column_names(len(kinds))
    return tuple(
        Stored(at.name, kind, declared.type, label)
        for at, kind, declared, label in zip(pin.columns, kinds, source.columns, labels, strict=True)
        if kind is not None
    )
