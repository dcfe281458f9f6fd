"""Values of Arrow columns as numbers without gaps, and back; NULL is a value like others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreset.bitsets.graph import Bools, Ints


@dataclass(frozen=True, slots=True)
class Numbered:
    """Tuples by number."""

    count: int
    values: tuple[pa.Array, ...]  # for each place in a tuple: its value by number

    def holding_null(self) -> Bools:
        """The tuples with a NULL in them."""
        found = np.zeros(self.count, dtype=np.bool_)
        for column in self.values:
            found |= np.asarray(pc.is_null(column))
        return found

    def tuples(self, numbers: Ints) -> list[pa.Array]:
        """The columns of the tuples that have these numbers."""
        return [column.take(pa.array(numbers)) for column in self.values]


def numbered(parts: Sequence[Sequence[pa.ChunkedArray]]) -> tuple[Numbered, list[Ints]]:
    """Number the tuples of several lists in one go; each list has its columns, and gets its numbers."""
    sizes = [len(columns[0]) for columns in parts]
    codes = np.zeros(sum(sizes), dtype=np.int64)
    columns = [_encoded([part[i] for part in parts]) for i in range(len(parts[0]))]
    for i, column in enumerate(columns):
        own = np.asarray(column.indices, dtype=np.int64)
        codes = own if i == 0 else np.unique(codes * len(column.dictionary) + own, return_inverse=True)[1]
    count = int(codes.max(initial=-1)) + 1
    example = np.zeros(count, dtype=np.int64)
    example[codes] = np.arange(codes.size)
    values = tuple(column.dictionary.take(column.indices.take(pa.array(example))) for column in columns)
    return Numbered(count, values), np.split(codes, np.cumsum(sizes)[:-1])


def _encoded(columns: Sequence[pa.ChunkedArray]) -> pa.DictionaryArray:
    chunks = [chunk for column in columns for chunk in column.chunks]
    whole = pa.chunked_array(chunks, type=columns[0].type).combine_chunks()
    return whole.dictionary_encode(null_encoding="encode")
