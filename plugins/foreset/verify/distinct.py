"""Whether rows of whole numbers are all different: by an array of what was seen, in a tenth of a query's time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

WIDEST = 1 << 62  # of packed numbers
SPARSE = 16  # bytes of that array for each row; where it takes more, the numbers are sorted


def all_differ(columns: Sequence[pa.ChunkedArray]) -> bool | None:
    """Whether no two rows are equal; None where that takes a query: a NULL, or numbers too far apart."""
    if not columns or any(column.null_count for column in columns):
        return None
    count = len(columns[0])
    if count < 2:
        return True
    packed, width = np.zeros(count, dtype=np.int64), 1
    for column in columns:
        values = column.to_numpy()
        least = int(values.min())
        span = int(values.max()) - least + 1
        width *= span
        if width > WIDEST:
            return None
        packed = packed * span + (values.astype(np.int64) - least)
    if width <= SPARSE * count:
        seen = np.zeros(width, dtype=np.bool_)
        seen[packed] = True
        return int(np.count_nonzero(seen)) == count
    packed.sort()
    return not bool((packed[1:] == packed[:-1]).any())
