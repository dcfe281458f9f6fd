"""Values as numbers, and rows of numbers as arrays: what bound evaluation needs to go through many rows at once.

Equal values of one family of types have one number, and NULL has 0, so that every comparison, join and test for
membership is one of whole numbers. Only conditions and functions see the values themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreset.ir.terms import Row, Value
from foreset.ir.types import Type
from foreset.values.widen import widened

Numbers: TypeAlias = NDArray[np.int64]  # of one column, or of rows: then it has two dimensions
Mask: TypeAlias = NDArray[np.bool_]
NULL = 0
_BITS = 31
_THREE, _FEW_BITS = 3, 21  # three numbers of so few bits are one of 64


def alike(one: Type, other: Type) -> bool:
    """True when equal values of the two types are the same value: whole numbers of any width, else the same type."""
    return one == other or (one.is_integral and other.is_integral)


@dataclass(slots=True)
class Codes:
    """A number for each value, and for each sequence of numbers."""

    _values: list[Value] = field(default_factory=lambda: [None])
    _numbers: dict[str, dict[Value, int]] = field(default_factory=dict)
    _pairs: dict[int, int] = field(default_factory=dict)

    def column(self, values: Iterable[Value], kind: Type) -> Numbers:
        """The numbers of some values."""
        known = self._numbers.setdefault("whole" if kind.is_integral else str(kind), {None: NULL})
        found = []
        for value in values:
            number = known.get(value)
            if number is None:
                number = known[value] = len(self._values)
                self._values.append(value)
            found.append(number)
        return np.array(found, dtype=np.int64)

    def rows(self, rows: Sequence[Row], kinds: Sequence[Type]) -> Numbers:
        """Rows of values as rows of numbers."""
        columns = [self.column((row[i] for row in rows), kind) for i, kind in enumerate(kinds)]
        return stacked(columns, len(rows))

    def values(self, numbers: Numbers) -> list[Value]:
        """What the numbers of a column stand for."""
        return [self._values[number] for number in numbers.tolist()]

    def tuples(self, rows: Numbers) -> list[Row]:
        """What rows of numbers stand for."""
        return [tuple(self._values[number] for number in row) for row in rows.tolist()]

    def ranks(self, *columns: Numbers) -> list[Numbers]:
        """Numbers in the order of the values that they stand for, which are of one type; NULL stays what it is."""
        distinct, places = np.unique(np.concatenate([*columns, [NULL]]), return_inverse=True)
        values = self.values(distinct)  # the first is that of NULL
        ranks = np.zeros(len(distinct), dtype=np.int64)
        ranks[sorted(range(1, len(values)), key=values.__getitem__)] = np.arange(1, len(values))  # type: ignore[arg-type]
        return np.split(ranks[places[:-1]], np.cumsum([len(column) for column in columns])[:-1])

    def widened(self, numbers: Numbers, kind: Type, to: Type) -> Numbers:
        """The numbers of the same values in a wider type."""
        if alike(kind, to) or not len(numbers):
            return numbers
        distinct, places = np.unique(numbers, return_inverse=True)
        return self.column([widened(value, to) for value in self.values(distinct)], to)[places]

    def packed(self, rows: Numbers) -> Numbers:
        """One number for each row; equal rows have the same one, now and later."""
        if rows.shape[1] == _THREE and len(rows):
            small = (rows >> _FEW_BITS == 0).all(axis=1)
            packed = (rows[:, 0] << 2 * _FEW_BITS) | (rows[:, 1] << _FEW_BITS) | rows[:, 2]
            if not small.all():
                packed[~small] = ~_folded(rows[~small], self._numbered)
            return packed
        return _folded(rows, self._numbered)

    def _numbered(self, pairs: Numbers) -> Numbers:
        distinct, places = np.unique(pairs, return_inverse=True)
        numbers = [self._pairs.setdefault(pair, len(self._pairs)) for pair in distinct.tolist()]
        return np.array(numbers, dtype=np.int64)[places]


def told_apart(rows: Numbers) -> Numbers:
    """One number for each row, among these rows: equal rows have the same one."""
    return _folded(rows, lambda pairs: np.unique(pairs, return_inverse=True)[1])


def _folded(rows: Numbers, numbered: Callable[[Numbers], Numbers]) -> Numbers:
    """Columns as one, pair by pair; `numbered` gives pairs numbers of half a word."""
    count, width = rows.shape
    if width == 0:
        return np.zeros(count, dtype=np.int64)
    packed = rows[:, 0]
    for i in range(1, width):
        left = packed if i == 1 else numbered(packed)
        packed = (left << _BITS) | rows[:, i]
    return packed


def stacked(columns: Sequence[Numbers], count: int) -> Numbers:
    """Columns side by side; `count` says how many rows no columns make."""
    return np.column_stack(columns) if columns else np.empty((count, 0), dtype=np.int64)


def nothing(width: int) -> Numbers:
    """No rows."""
    return np.empty((0, width), dtype=np.int64)


def without_null(rows: Numbers) -> Mask:
    """Which rows have a value everywhere."""
    return np.asarray((rows != NULL).all(axis=1), dtype=np.bool_)


@dataclass(slots=True)
class Indexed:
    """Rows in the order of the numbers they are looked up by."""

    keys: Numbers
    rows: Numbers

    @classmethod
    def of(cls, keys: Numbers, rows: Numbers) -> Indexed:
        """Sort rows by their keys."""
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], rows[order])

    def meet(self, keys: Numbers) -> tuple[Numbers, Numbers]:
        """Pairs of a place in `keys` and a row that has this key."""
        first = np.searchsorted(self.keys, keys, "left")
        counts = np.searchsorted(self.keys, keys, "right") - first
        places = np.repeat(np.arange(len(keys)), counts)
        begun = np.cumsum(counts) - counts
        return places, self.rows[np.repeat(first - begun, counts) + np.arange(len(places))]


@dataclass(slots=True)
class Grown:
    """Rows that are looked up by a key and become more: sorted pieces, of which each is larger than the next."""

    width: int
    pieces: list[Indexed] = field(default_factory=list)

    def add(self, keys: Numbers, rows: Numbers) -> None:
        """More rows."""
        if not len(keys):
            return
        self.pieces.append(Indexed.of(keys, rows))
        while len(self.pieces) > 1 and len(self.pieces[-2].keys) <= 2 * len(self.pieces[-1].keys):
            one, other = self.pieces.pop(), self.pieces.pop()
            self.pieces.append(
                Indexed.of(np.concatenate([one.keys, other.keys]), np.concatenate([one.rows, other.rows]))
            )

    def meet(self, keys: Numbers) -> tuple[Numbers, Numbers]:
        """Pairs of a place in `keys` and a row that has this key."""
        found = [piece.meet(keys) for piece in self.pieces]
        if not found:
            return np.empty(0, dtype=np.int64), nothing(self.width)
        return np.concatenate([places for places, _ in found]), np.concatenate([rows for _, rows in found])

    def everything(self) -> Numbers:
        """All rows."""
        return np.concatenate([piece.rows for piece in self.pieces]) if self.pieces else nothing(self.width)


@dataclass(slots=True)
class Distinct:
    """A growing set of packed rows."""

    _sorted: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self._sorted)

    def holds(self, packed: Numbers) -> Mask:
        """Which of them are in the set."""
        if not len(self._sorted):
            return np.zeros(len(packed), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self._sorted, packed), len(self._sorted) - 1)
        return np.asarray(self._sorted[places] == packed, dtype=np.bool_)

    def add(self, packed: Numbers) -> Numbers:
        """Where those that are new stand in `packed`, each once."""
        distinct, first = np.unique(packed, return_index=True)
        fresh = ~self.holds(distinct)
        if fresh.any():
            self._sorted = np.sort(np.concatenate([self._sorted, distinct[fresh]]), kind="stable")
        return first[fresh]


@dataclass(slots=True)
class Numbered:
    """Distinct rows, numbered from 0 in the order in which they came."""

    codes: Codes
    width: int
    rows: Numbers = field(init=False)
    _known: Indexed = field(init=False)  # packed rows, and their numbers

    def __post_init__(self) -> None:
        self.rows = nothing(self.width)
        self._known = Indexed(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Numbers, most: int | None = None) -> Numbers:
        """Number those that are new, up to `most` rows in all; and say which these are."""
        packed, first = np.unique(self.codes.packed(rows), return_index=True)
        fresh = self._places(packed) < 0
        if most is not None:
            fresh &= np.cumsum(fresh) <= most - len(self)
        packed, new = packed[fresh], rows[first[fresh]]
        at = np.searchsorted(self._known.keys, packed)
        numbers = np.arange(len(self), len(self) + len(new))
        self._known = Indexed(np.insert(self._known.keys, at, packed), np.insert(self._known.rows, at, numbers))
        self.rows = np.concatenate([self.rows, new])
        return new

    def numbers(self, rows: Numbers) -> Numbers:
        """The numbers of these rows; -1 for one that has none."""
        return self._places(self.codes.packed(rows))

    def _places(self, packed: Numbers) -> Numbers:
        if not len(self):
            return np.full(len(packed), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._known.keys, packed), len(self) - 1)
        return np.where(self._known.keys[at] == packed, self._known.rows[at], -1)
