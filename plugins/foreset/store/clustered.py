"""Rows side by side that are looked up together: readers skip the row groups between whose bounds no key lies.

Results are sets, so an order costs nothing but the sorting. Few rows are left as they come: they are one row group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MANY_ROWS = 50_000  # fewer are not worth sorting
ROW_GROUP = 1 << 17  # rows; DuckDB goes through row groups side by side, and skips whole ones
LEADING = 4  # columns by which rows are sorted: more of them hardly tell row groups apart


def clustered(rows: pa.Table, order: Sequence[str]) -> pa.Table:
    """The rows in the order of the values of the first columns of `order`."""
    import numpy as np
    import pyarrow as pa

    from foreset.store import scratch

    leading = [name for name in order if not pa.types.is_nested(rows.schema.field(name).type)][:LEADING]
    if rows.num_rows < MANY_ROWS or not leading:
        return rows
    # Positions as names: whatever the columns are called, nothing of theirs gets into the text.
    names = [f"c{i}" for i in range(len(leading))]
    keys = rows.select(leading).rename_columns(names).append_column("row", pa.array(np.arange(rows.num_rows)))
    with scratch.cursor() as connection:
        connection.register("k", keys)
        found = connection.execute(f"select row from k order by {', '.join(names)}").fetchnumpy()["row"]  # noqa: S608
    return rows.take(pa.array(found))
