"""Reading views without Spark: deltalake for the files, DuckDB for the one anti-join.

The rows themselves never pass through DuckDB, only the answer which of them are gone: Arrow
types (decimals, time zones, small integers) stay as Delta has them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from foreset.errors import EnvironmentFault
from foreset.store import delta
from foreset.store.delta import SEQ, SIGN
from foreset.store.files import filesystem, list_files
from foreset.store.layout import Layout

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 4096


def read(path: str, version: int, columns: Sequence[str]) -> pa.Table:
    """The visible rows of a signed table at a pinned version."""
    import pyarrow.dataset as ds

    dataset = _dataset(path, version)
    rows = dataset.to_table([*columns, SEQ], filter=ds.field(SIGN) == 1)
    gone = dataset.to_table([*columns, SEQ], filter=ds.field(SIGN) == -1)
    if gone.num_rows:
        rows = rows.filter(_still_there(rows, gone, columns))
    return rows.select(list(columns))


def sample(path: str, version: int, columns: Sequence[str], most: int) -> pa.Table:
    """The first `most` visible rows that are found, or fewer where there are fewer; it stops reading then."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    dataset = _dataset(path, version)
    gone = dataset.to_table([*columns, SEQ], filter=ds.field(SIGN) == -1)
    found = gone.slice(0, 0)
    scan = dataset.scanner(
        [*columns, SEQ], filter=ds.field(SIGN) == 1, batch_size=BATCH, batch_readahead=1, fragment_readahead=1
    )
    for batch in scan.to_batches():
        rows = pa.Table.from_batches([batch])
        if rows.num_rows and gone.num_rows:
            rows = rows.filter(_still_there(rows, gone, columns))
        found = pa.concat_tables([found, rows])
        if found.num_rows >= most:
            break
    return found.slice(0, most).select(list(columns))


def read_plain(path: str, version: int | None, columns: Sequence[str]) -> pa.Table:
    """The rows of an ordinary Delta table, such as an export."""
    return _dataset(path, version).to_table(list(columns))


def read_reference(layout: Layout, reference: str | None, schema: pa.Schema) -> pa.Table:
    """A stored differential (`plus_ref`, `minus_ref`) with the columns of `schema`; empty for None."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if reference is None:
        return schema.empty_table()
    system, inner = filesystem(layout.resolve(reference))
    names = [file.path for file in list_files(layout.resolve(reference)) if file.path.endswith(".parquet")]
    if not names:
        raise EnvironmentFault(
            f"the changes {reference} are gone", hint="`foreset gc` has deleted them: it keeps only the last refreshes"
        )
    tables = [pq.read_table(f"{inner}/{name}", filesystem=system, partitioning=None) for name in names]
    return pa.concat_tables([table.select(schema.names).cast(schema) for table in tables])


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """The Arrow schema of declared columns (Spark type names), the same that Delta tables are read with."""
    return _schema_of(tuple(columns.items()))


@functools.lru_cache(maxsize=1024)
def _schema_of(columns: tuple[tuple[str, str], ...]) -> pa.Schema:
    import json

    import pyarrow as pa
    from deltalake import Schema

    return pa.schema(Schema.from_json(json.dumps(delta.delta_schema(dict(columns)))))


def difference(rows: pa.Table, less: pa.Table) -> pa.Table:
    """`rows - less` as sets, NULL being equal to NULL; both have the same columns."""
    import pyarrow as pa

    if not rows.num_rows or not less.num_rows:
        return rows
    rows_at = rows.append_column(SEQ, pa.array([0] * rows.num_rows, pa.int64()))
    less_at = less.append_column(SEQ, pa.array([1] * less.num_rows, pa.int64()))
    return rows.filter(_still_there(rows_at, less_at, rows.column_names))


def canonical_table(rows: pa.Table) -> pa.Table:
    """The same rows with -0.0 as 0.0 and every NaN as the one NaN."""
    import pyarrow as pa

    for i, field in enumerate(rows.schema):
        if _has_floats(field.type):
            chunks = [_canonical(chunk) for chunk in rows.column(i).chunks]
            rows = rows.set_column(i, field, pa.chunked_array(chunks, field.type))
    return rows


def has_nan(rows: pa.Table) -> bool:
    """Whether a column of floating point has a NaN; lists do not count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    floats = [column for column in rows.columns if pa.types.is_floating(column.type)]
    return any(pc.any(pc.is_nan(column)).as_py() for column in floats)


def _canonical(array: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(array.type):
        zero, nan = pa.scalar(0.0, array.type), pa.scalar(float("nan"), array.type)
        return pc.if_else(pc.is_nan(array), nan, pc.add(array, zero))
    # Lists: the values lie flat behind the offsets. Slices start elsewhere, so copy first.
    whole = pa.concat_arrays([array])
    inner = whole.values if whole.offset == 0 else whole.flatten()
    return type(whole).from_arrays(whole.offsets, _canonical(inner), type=whole.type, mask=whole.is_null())


def _has_floats(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _has_floats(kind.value_type)
    return bool(pa.types.is_floating(kind))


def _still_there(rows: pa.Table, gone: pa.Table, columns: Sequence[str]) -> pa.Array:
    """A mask: true for the rows without a later entry in `gone`."""
    import numpy as np
    import pyarrow as pa

    from foreset.store import scratch

    # Positions as names: whatever the columns are called, nothing of theirs gets into the text.
    names = [f"c{i}" for i in range(len(columns))]
    left = rows.select([*columns, SEQ]).rename_columns([*names, "at"])
    left = left.append_column("row", pa.array(np.arange(rows.num_rows)))
    right = gone.select([*columns, SEQ]).rename_columns([*names, "at"])
    same = " and ".join(f"l.{name} is not distinct from r.{name}" for name in names)
    with scratch.cursor() as connection:
        connection.register("l", left)
        connection.register("r", right)
        query = f"select l.row from l semi join r on {same} and r.at > l.at"  # noqa: S608 - our own names only
        lost = connection.execute(query).fetchnumpy()["row"]
    mask = np.ones(rows.num_rows, dtype=bool)
    mask[lost] = False
    return pa.array(mask)


def _dataset(path: str, version: int | None) -> pa.dataset.Dataset:
    table = delta.open_table(path, version)
    if table is None:
        raise EnvironmentFault(f"the table {path} is gone", hint="restore the warehouse folder from its backup")
    return table.to_pyarrow_dataset()
