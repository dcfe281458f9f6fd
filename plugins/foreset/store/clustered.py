"""Rows side by side that are looked up together: readers skip the row groups between whose bounds no key lies.

Results are sets, so an order costs nothing but the sorting. Few rows are left as they come: they are one row group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

MANY_ROWS = 50_000  # fewer are not worth sorting
ROW_GROUP = 1 << 17  # rows; DuckDB goes through row groups side by side, and skips whole ones
DISTINCT = 10_000  # so many different keys tell row groups apart


def clustered(rows: pa.Table, order: Sequence[str]) -> pa.Table:
    """The rows in the order of the values of the first columns of `order`."""
    import numpy as np
    import pyarrow as pa

    if rows.num_rows < MANY_ROWS:
        return rows
    keys, several = np.zeros(rows.num_rows, dtype=np.int64), 1
    for name in order:
        found = _ranks(rows[name])
        if found is None:
            continue
        ranks, distinct = found
        if several * distinct >= 1 << 62:
            break
        keys, several = keys * distinct + ranks, several * distinct
        if several >= DISTINCT:
            break
    return rows if several == 1 else rows.take(pa.array(np.argsort(keys, kind="stable")))


def _ranks(column: pa.ChunkedArray) -> tuple[np.ndarray, int] | None:
    """The place of each value in the order of all, NULL first, and how many there are; None for what has no order."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(column.type):
        return None
    coded = column.combine_chunks().dictionary_encode()
    count = len(coded.dictionary)
    ranks = np.zeros(count + 1, dtype=np.int64)
    ranks[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(1, count + 1)
    return ranks[coded.indices.fill_null(count).to_numpy(zero_copy_only=False)], count + 1
