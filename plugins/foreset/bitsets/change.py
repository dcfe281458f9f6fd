"""What two small relations, before and after, do to a view that spreads along them: its rows are not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from foreset.bitsets.fixpoint import Moved, Pairs, State, moved
from foreset.bitsets.graph import Bools, Ints
from foreset.bitsets.numbering import Numbered, numbered

MEMORY = 256 << 20  # bytes of bits at a time


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
