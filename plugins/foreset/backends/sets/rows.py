"""Sets of rows with hash indexes, and relations in all their versions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.ir.versions import VIRTUAL
from foreset.values.widen import widener

Key = tuple[tuple[int, Type | None], ...]  # positions, each with the type in which it is compared


class Rows:
    """A set of rows; indexes are built when first asked for and grow with the set."""

    __slots__ = ("_indexes", "set")

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.set: set[Row] = set(rows)
        self._indexes: dict[Key, dict[Row, list[Row]]] = {}

    def add(self, rows: Collection[Row]) -> None:
        """Take `rows` in."""
        fresh = [row for row in rows if row not in self.set]
        self.set.update(fresh)
        for key, index in self._indexes.items():
            _fill(index, key, fresh)

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


_EMPTY = Rows()


@dataclass(slots=True)
class Memory:
    """All versions of all relations that a procedure reads and writes."""

    _stored: dict[Ref, Rows] = field(default_factory=dict)

    def stored(self, ref: Ref) -> Rows:
        """A stored version; empty when nothing was put there."""
        return self._stored.get(ref, _EMPTY)

    def put(self, ref: Ref, rows: Rows | Iterable[Row]) -> None:
        """Replace a stored version."""
        self._stored[ref] = rows if isinstance(rows, Rows) else Rows(rows)

    def merge(self, ref: Ref, rows: Collection[Row]) -> None:
        """Add to a stored version, which holds none of `rows` yet."""
        assert self.stored(ref).set.isdisjoint(rows), f"{ref} already holds some of what is merged into it"
        if ref in self._stored:
            self._stored[ref].add(rows)
        else:
            self._stored[ref] = Rows(rows)

    def rows(self, ref: Ref) -> Collection[Row]:
        """All rows of a stored or virtual version."""
        if ref.version not in VIRTUAL:
            return self.stored(ref).set
        base, less, more = self._parts(ref)
        kept = base.set.difference(*(rows.set for rows in less)) if less else base.set
        return kept.union(*(rows.set for rows in more)) if more else kept

    def lookup(self, ref: Ref, key: Key, values: Row) -> Iterable[Row]:
        """The rows of a version that equal `values` at `key`, each once."""
        if ref.version not in VIRTUAL:
            return self.stored(ref).lookup(key, values)
        base, less, more = self._parts(ref)
        return self._compose(base, less, more, key, values)

    @staticmethod
    def _compose(base: Rows, less: list[Rows], more: list[Rows], key: Key, values: Row) -> Iterator[Row]:
        seen: set[Row] = set()
        for row in chain(*(rows.lookup(key, values) for rows in more)):
            if row not in seen:
                seen.add(row)
                yield row
        for row in base.lookup(key, values):
            if row not in seen and not any(row in rows.set for rows in less):
                yield row

    def contains(self, ref: Ref, row: Row) -> bool:
        """True when the version holds `row`; NULL equals NULL."""
        if ref.version not in VIRTUAL:
            return row in self.stored(ref).set
        base, less, more = self._parts(ref)
        if any(row in rows.set for rows in more):
            return True
        return row in base.set and not any(row in rows.set for rows in less)

    def size(self, ref: Ref) -> int:
        """About how many rows; never too few."""
        if ref.version not in VIRTUAL:
            return len(self.stored(ref).set)
        base, _, more = self._parts(ref)
        return len(base.set) + sum(len(rows.set) for rows in more)

    def _parts(self, ref: Ref) -> tuple[Rows, list[Rows], list[Rows]]:
        shape = VIRTUAL[ref.version]
        less = [rows for v in shape.less if (rows := self.stored(Ref(ref.relation, v))).set]
        more = [rows for v in shape.more if (rows := self.stored(Ref(ref.relation, v))).set]
        return self.stored(Ref(ref.relation, shape.base)), less, more


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

    def settled(self) -> dict[Row, tuple[int, int]]:
        """All counters as they are to be stored; rows without derivations are dropped."""
        after = dict(self.before)
        for row in self.change:
            after[row] = self.now(row)
        return {row: pair for row, pair in after.items() if any(pair)}
