"""Entries of one predicate, found by what they fix: a join meets only those that can have rows in common.

Entries with a value in the columns asked for are looked up; of the others, each is held against the ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from foreset.constraints.boxes import ANY, NOTHING, Point, Range, meet, narrowed, point_of
from foreset.constraints.form import Constraint
from foreset.constraints.sorts import Variable, ticks
from foreset.ir.terms import Value
from foreset.mediated.program import Atom, Clause

Ranges = Mapping[int, Range]  # by place


@dataclass(slots=True)
class _Index:
    """Entries by their values in some columns, and those that do not fix all of them."""

    places: tuple[int, ...]
    keyed: dict[tuple[Point, ...], list[int]] = field(default_factory=dict)
    loose: list[int] = field(default_factory=list)

    def add(self, number: int, ranges: Sequence[Range]) -> None:
        key = tuple(point_of(ranges[place]) for place in self.places)
        if None in key or not key:
            self.loose.append(number)
        else:
            self.keyed.setdefault(key, []).append(number)


@dataclass(slots=True)
class Pool:
    """Entries in the order in which they came."""

    columns: tuple[Variable, ...]
    parts: list[Constraint] = field(default_factory=list)
    _ranges: list[tuple[Range, ...]] = field(default_factory=list)
    _indexes: dict[tuple[int, ...], _Index] = field(default_factory=dict)

    def extend(self, parts: Iterable[Constraint]) -> Pool:
        """The same pool with more in it."""
        for part in parts:
            self._ranges.append(tuple(part.box.get(column, ANY) for column in self.columns))
            for index in self._indexes.values():
                index.add(len(self.parts), self._ranges[-1])
            self.parts.append(part)
        return self

    def __len__(self) -> int:
        return len(self.parts)

    def ranges(self, number: int) -> tuple[Range, ...]:
        """What an entry leaves each column."""
        return self._ranges[number]

    def meeting(self, wanted: Ranges) -> Iterator[int]:
        """The entries that can have a row within `wanted`."""
        places = tuple(sorted(place for place, said in wanted.items() if point_of(said) is not None))
        index = self._index(places)
        found = index.keyed.get(tuple(wanted[place][0] for place in places), ()) if places else ()
        rest = sorted([*found, *index.loose]) if found and index.loose else found or index.loose
        return (number for number in rest if self._meets(number, wanted))

    def overlapping(self, part: Constraint) -> Iterator[Constraint]:
        """The entries that can have a row in common with `part`."""
        wanted = {place: part.box[column] for place, column in enumerate(self.columns) if column in part.box}
        return (self.parts[number] for number in self.meeting(wanted))

    def _meets(self, number: int, wanted: Ranges) -> bool:
        ranges = self._ranges[number]
        return all(meet(ranges[place], said) for place, said in wanted.items())

    def _index(self, places: tuple[int, ...]) -> _Index:
        if places not in self._indexes:
            made = self._indexes[places] = _Index(places)
            for number, ranges in enumerate(self._ranges):
                made.add(number, ranges)
        return self._indexes[places]


def may_meet(one: Constraint, other: Constraint) -> bool:
    """Whether the ranges of two constraints over the same columns have rows in common."""
    return all(meet(said, other.box[column]) for column, said in one.box.items() if column in other.box)


# ---------------------------------------------------------------- joins
def meetings(clause: Clause, pools: Sequence[Pool]) -> Iterator[tuple[int, ...]]:
    """For each atom of the body an entry of its pool, in all ways that what they fix allows."""
    if all(len(pool) for pool in pools):
        yield from _meetings(clause.body, pools, clause.constraint.box, {})


def _meetings(
    body: Sequence[Atom], pools: Sequence[Pool], known: Mapping[Variable, Range], chosen: Mapping[int, int]
) -> Iterator[tuple[int, ...]]:
    left = [place for place in range(len(body)) if place not in chosen]
    if not left:
        yield tuple(chosen[place] for place in range(len(body)))
        return
    asked = {place: _asked(body[place], pools[place].columns, known) for place in left}
    best = min(left, key=lambda place: (-_fixed(asked[place]), len(pools[place])))
    for number in pools[best].meeting(asked[best]):
        more = _learned(body[best], pools[best], number, known)
        yield from _meetings(body, pools, more, {**chosen, best: number})


def _fixed(asked: Ranges) -> int:
    return sum(point_of(said) is not None for said in asked.values())


def _asked(atom: Atom, columns: Sequence[Variable], known: Mapping[Variable, Range]) -> dict[int, Range]:
    """What is known of the columns of an atom; of variables of another sort nothing."""
    found: dict[int, Range] = {}
    for place, (arg, column) in enumerate(zip(atom.args, columns, strict=True)):
        if not isinstance(arg, Variable):
            found[place] = range_of_value(arg, column)
        elif arg.sort == column.sort and arg in known:
            found[place] = known[arg]
    return found


def range_of_value(value: Value, column: Variable) -> Range:
    """Where a constant lies in a column; nowhere, if that is of another kind or the value is between two ticks."""
    if isinstance(value, str):
        return (value, value) if column.sort.kind == "text" else NOTHING
    number = ticks(value, column.sort)
    return (int(number), int(number)) if number is not None and number.denominator == 1 else NOTHING


def _learned(atom: Atom, pool: Pool, number: int, known: Mapping[Variable, Range]) -> Mapping[Variable, Range]:
    """What is known once an entry stands for an atom."""
    pairs = zip(atom.args, pool.columns, pool.ranges(number), strict=True)
    return {
        **known,
        **{
            arg: narrowed(known.get(arg, ANY), said)
            for arg, column, said in pairs
            if isinstance(arg, Variable) and arg.sort == column.sort and said != ANY
        },
    }
