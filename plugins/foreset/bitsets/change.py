"""What two small relations, before and after, do to a view that spreads along them: its rows are not read.

Values of Arrow columns are numbers without gaps here; NULL is a value like others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreset.bitsets.fixpoint import Moved, Pairs, State, moved
from foreset.bitsets.graph import Bools, Ints

MEMORY = 256 << 20  # bytes of bits at a time


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


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of both relations in one state: `base` has the columns of the view, `needs` its key twice."""

    base: pa.Table
    needs: pa.Table


@dataclass(frozen=True, slots=True)
class Portion:
    """Some rows of the view that came, or that went."""

    came: bool
    rows: pa.Table


def changes(old: Tables, new: Tables, key: Sequence[int], memory: int = MEMORY) -> Iterator[Portion]:
    """The exact difference of both fixpoints, in portions; columns are `c0`, `c1` ... as in the view."""
    width = old.base.num_columns
    other = [i for i in range(width) if i not in key]
    parts = (part for state in (old, new) for part in (_columns(state.base, key), *_halves(state.needs)))
    keys, ends = numbered(list(parts))
    carried, values = _carried((old, new), other)
    never = keys.holding_null()
    before, after = (
        State(Pairs(first, value), _met(Pairs(tails, heads), never))
        for (first, tails, heads), value in zip((ends[:3], ends[3:]), values, strict=True)
    )
    for found in moved(before, after, keys.count, carried.count, memory):
        yield _portion(found, keys, carried, (*key, *other))


def _met(needs: Pairs, never: Bools) -> Pairs:
    """Without those who need a key with a NULL: it equals no row's key."""
    return needs.where(~never[needs.right])


def _carried(states: Sequence[Tables], places: Sequence[int]) -> tuple[Numbered, list[Ints]]:
    """The carried columns; where there are none, every row carries the same nothing."""
    if places:
        return numbered([_columns(state.base, places) for state in states])
    return Numbered(1, ()), [np.zeros(state.base.num_rows, dtype=np.int64) for state in states]


def _columns(table: pa.Table, places: Sequence[int]) -> list[pa.ChunkedArray]:
    return [table.column(i) for i in places]


def _halves(needs: pa.Table) -> tuple[list[pa.ChunkedArray], list[pa.ChunkedArray]]:
    middle = needs.num_columns // 2
    return _columns(needs, range(middle)), _columns(needs, range(middle, 2 * middle))


def _portion(found: Moved, keys: Numbered, carried: Numbered, places: Sequence[int]) -> Portion:
    columns = [*keys.tuples(found.rows.left), *carried.tuples(found.rows.right)]
    by_place = dict(zip(places, columns, strict=True))
    order = sorted(by_place)
    return Portion(found.came, pa.table([by_place[i] for i in order], names=[f"c{i}" for i in order]))
