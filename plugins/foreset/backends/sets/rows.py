"""Sets of rows with hash indexes, relations in all their versions, and derivation counters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from foreset.ir.steps import Ref, Standing
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.machine.links import Key
from foreset.machine.versions import Versions
from foreset.values.widen import widener

Schemas = Mapping[str, tuple[Type, ...]]


class Rows:
    """A set of rows; indexes are built when first asked for and grow with the set."""

    __slots__ = ("_indexes", "set")

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.set: set[Row] = set(rows)
        self._indexes: dict[Key, dict[Row, list[Row]]] = {}

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.set)

    def add(self, rows: Collection[Row]) -> None:
        """Take `rows` in, of which none is here."""
        assert self.set.isdisjoint(rows), "some of what is merged is there already"
        self.set.update(rows)
        for key, index in self._indexes.items():
            _fill(index, key, rows)

    def lookup(self, key: Key, values: Row) -> Iterable[Row]:
        """The rows that equal `values` at the positions of `key`; NULL equals nothing here."""
        if not key:
            return self.set
        index = self._indexes.get(key)
        if index is None:
            index = self._indexes[key] = {}
            _fill(index, key, self.set)
        return index.get(values, ())


def _fill(index: dict[Row, list[Row]], key: Key, rows: Iterable[Row]) -> None:
    pick = picker(key)
    for row in rows:
        values = pick(row)
        if None not in values:
            index.setdefault(values, []).append(row)


def picker(key: Key) -> Callable[[Row], Row]:
    """A function that takes the values at the positions of `key`, each in its type of comparison."""
    if all(kind is None for _, kind in key):
        positions = tuple(position for position, _ in key)
        return lambda row: tuple(row[p] for p in positions)
    pairs = tuple((position, widener(kind)) for position, kind in key)
    return lambda row: tuple(widen(row[p]) for p, widen in pairs)


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows of some sets that are in none of some others, piece by piece; nothing is copied."""

    pieces: tuple[tuple[Rows, tuple[Rows, ...]], ...]

    def lookup(self, key: Key, values: Row) -> Iterable[Row]:
        """The rows that equal `values` at `key`, each once."""
        if len(self.pieces) == 1 and not self.pieces[0][1]:
            return self.pieces[0][0].lookup(key, values)
        return self._kept(key, values)

    def _kept(self, key: Key, values: Row) -> Iterator[Row]:
        for piece, less in self.pieces:
            for row in piece.lookup(key, values):
                if not any(row in gone.set for gone in less):
                    yield row

    def __contains__(self, row: Row) -> bool:
        """NULL equals NULL."""
        return any(row in piece.set and not any(row in gone.set for gone in less) for piece, less in self.pieces)


@dataclass(slots=True)
class Memory(Versions[Rows]):
    """All versions of all relations that a procedure reads and writes."""

    schemas: Schemas

    def fill(self, ref: Ref, rows: Iterable[Row]) -> None:
        """Replace a version by a set of its own."""
        self.put(ref, Rows(rows))

    def reading(self, ref: Ref) -> Reading:
        """A version as it is now, to be looked into."""
        return Reading(self.composed(ref))

    def rows(self, ref: Ref) -> Collection[Row]:
        """All rows of a version."""
        parts = [piece.set.difference(*(rows.set for rows in less)) if less else piece.set
                 for piece, less in self.composed(ref)]  # fmt: skip
        return parts[0] if len(parts) == 1 else set[Row]().union(*parts)

    def merge(self, target: Ref, source: Ref) -> None:
        """Add the rows of `source` to `target`, which holds none of them."""
        rows, present = self.rows(source), self.stored(target)
        if present:
            present[0].add(rows)
        else:
            self.fill(target, rows)


@dataclass(slots=True)
class Counters:
    """Derivation counters of one relation: those stored before, and the changes of this run."""

    before: Mapping[Row, tuple[int, int]] = field(default_factory=dict)
    change: dict[Row, list[int]] = field(default_factory=dict)

    def tally(self, row: Row, counter: int, amount: int) -> None:
        """Add `amount` to one counter of `row`."""
        self.change.setdefault(row, [0, 0])[counter] += amount

    def was(self, row: Row) -> tuple[int, int]:
        """The stored counters of `row`."""
        return self.before.get(row, (0, 0))

    def now(self, row: Row) -> tuple[int, int]:
        """The counters of `row` with all tallies of this run."""
        base, recursive = self.was(row)
        more = self.change.get(row, (0, 0))
        return base + more[0], recursive + more[1]

    def stands(self, row: Row, standing: Standing) -> bool:
        """Whether the counters of `row` are as `standing` says."""
        before, (base, recursive) = sum(self.was(row)), self.now(row)
        match standing:
            case Standing.APPEARED:
                return before == 0 < base + recursive
            case Standing.VANISHED:
                return before > 0 == base + recursive
            case Standing.UNFOUNDED:
                return base == 0
            case Standing.STANDING:
                return base + recursive > 0
            case Standing.GONE:
                return base + recursive == 0
            case _:
                assert_never(standing)

    def impossible(self) -> Row | None:
        """A row with fewer derivations than none."""
        return next((row for row in self.change if min(self.now(row)) < 0), None)

    def settled(self) -> dict[Row, tuple[int, int]]:
        """All counters as they are to be stored; rows without derivations are dropped."""
        after = dict(self.before)
        for row in self.change:
            after[row] = self.now(row)
        return {row: pair for row, pair in after.items() if any(pair)}
