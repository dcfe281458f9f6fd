"""Rows that lie as a table's own writer would leave them: a commit adds their files to the log and writes no row again.

Whoever stages rows writes them so: parquet files under the declared names, values in canonical form, in the order of
the table's layout. The files stay where they were staged, too: a table has names of its own for them. Where a store
has no second names, the table gets copies.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from foreset.errors import EnvironmentFault
from foreset.store import files
from foreset.store.footers import stats_of
from foreset.store.layout import join

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake.transaction import AddAction

FILE_BYTES = 192 << 20  # of one file: large ones are read by many at once, and tiny ones cost a look each


@dataclass(frozen=True, slots=True)
class Part:
    """A folder of parquet files, and by which partition of a table its rows go."""

    folder: str
    rows: int
    partition: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Laid:
    """Rows in the files of some folders."""

    parts: tuple[Part, ...]
    columns: Mapping[str, str]  # name -> Spark SQL type

    def under(self, partition: Mapping[str, int]) -> Laid:
        """The same rows, all with these values of partition columns."""
        return replace(self, parts=tuple(replace(part, partition=partition) for part in self.parts))

    @property
    def files(self) -> int:
        """How many files there are."""
        return sum(len(names_in(part.folder)) for part in self.parts)

    def beside(self, other: Laid) -> Laid:
        """These rows and others of the same columns."""
        return replace(self, parts=(*self.parts, *other.parts))


def names_in(folder: str) -> list[str]:
    """The parquet files in a folder; folders in it are what a writer has yet to move out of them."""
    return [file.path for file in files.list_files(folder) if file.path.endswith(".parquet") and "/" not in file.path]


def taken_over(laid: Laid, table: str, token: str) -> list[AddAction]:
    """Give the files names in the table's folder, which no other try has; says what to add to its log."""
    numbers = itertools.count()
    return [action for part in laid.parts for action in _of_part(part, table, token, numbers)]


def _of_part(part: Part, table: str, token: str, numbers: Iterator[int]) -> Iterator[AddAction]:
    import pyarrow.parquet as pq
    from deltalake.transaction import AddAction

    folders = "/".join(f"{name}={value}" for name, value in part.partition.items())
    values = {name: str(value) for name, value in part.partition.items()}
    system, inner = files.filesystem(part.folder)
    found = 0
    for name in names_in(part.folder):
        footer = pq.read_metadata(join(inner, name), filesystem=system)
        found += footer.num_rows
        own = join(folders, f"part-{next(numbers):05d}-{token}.parquet")
        size = files.give_name(join(part.folder, name), join(table, own))
        yield AddAction(own, size, values, int(time.time() * 1000), data_change=True, stats=stats_of(footer))
    if found != part.rows:
        fact = f"{part.folder} holds {found:,} rows where {part.rows:,} were staged"
        raise EnvironmentFault(fact, hint="another refresh stages them anew")


def batches(laid: Laid, schema: pa.Schema) -> pa.RecordBatchReader:
    """The rows with their partition columns, a row group at a time, for a table whose schema they change."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, _batches(laid.parts, schema))


def _batches(parts: Sequence[Part], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    for part in parts:
        stored = [name for name in schema.names if name not in part.partition]
        system, inner = files.filesystem(part.folder)
        rows = ds.dataset([join(inner, name) for name in names_in(part.folder)], format="parquet", filesystem=system)
        for batch in rows.to_batches(columns=stored):
            table = pa.Table.from_batches([batch])
            for name, value in part.partition.items():
                kind = schema.field(name).type
                table = table.append_column(name, pa.array([value] * table.num_rows, kind))
            yield from table.select(schema.names).cast(schema).to_batches()
