"""A rule's body over sets of rows in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from foreset.backends.sets.rows import Memory, Reading
from foreset.ir.rules import Atom, Let, Rule, null_safe
from foreset.ir.steps import Ref
from foreset.ir.terms import Row, Value, Var
from foreset.ir.types import Type, widen
from foreset.machine.bindings import Bindings
from foreset.machine.links import Key
from foreset.machine.literals import Condition, Places, heads_of, places_of
from foreset.values.terms import equal, read_as
from foreset.values.widen import widened, widener


def heads(rule: Rule, memory: Memory, within: Ref | None = None) -> Iterable[Row]:
    """The head's row once for every way in which the body holds (within the rows of `within`)."""
    return heads_of(rule, memory, SetsJoin(rule, memory, within), within) or ()


class SetsJoin:
    """The rows so far; `wanted`: where the value stands that a head variable must come to, and its type."""

    def __init__(self, rule: Rule, memory: Memory, within: Ref | None) -> None:
        self.rule, self.memory, self.within = rule, memory, within
        self.bindings = Bindings(rule, {}, [()])
        self.wanted: dict[str, tuple[int, Type]] = {}

    def begin(self) -> None:
        """One row for each wanted one that the head's constants and repeated variables allow."""
        assert self.within is not None
        places, kinds = places_of(self.rule.head), self.memory.schemas[self.rule.head.relation]
        for slot, (name, place) in enumerate(places.first.items()):
            self.bindings.slots[f"wanted {name}"] = slot
            self.wanted[name] = slot, kinds[place]
        rows = (row for row in self.memory.rows(self.within) if _fits(places, row, kinds))
        self.bindings.rows = [tuple(row[place] for place in places.first.values()) for row in rows]

    @property
    def empty(self) -> bool:
        return not self.bindings.rows

    def join(self, atom: Atom, needed: AbstractSet[str]) -> None:  # noqa: ARG002 - a value more costs nothing
        pattern, kinds, types = self._pattern(atom), self.memory.schemas[atom.relation], self.rule.types
        taken = [(position, widener(types[name] if types[name] != kinds[position] else None))
                 for name, position in pattern.fresh.items()]  # fmt: skip
        self.bindings.rows = [
            binding + tuple(widen(row[position]) for position, widen in taken)
            for binding in self.bindings.rows
            for row in pattern.rows(binding)
        ]
        for name in pattern.fresh:
            self.bindings.slots[name] = len(self.bindings.slots)

    def keep(self, conditions: Sequence[Condition]) -> Sequence[Condition]:
        for condition in conditions:
            self.bindings.apply(condition)
        return ()

    def settle(self, literal: Condition | Let) -> None:
        self.bindings.apply(literal)

    def exclude(self, atom: Atom) -> None:
        """Variables that nothing else binds range over all rows."""
        self.bindings.keep(self._pattern(atom).absent)

    def heads(self, *, restricted: bool) -> Iterator[Row]:
        """The head's values; what is wanted of them and was not met on the way is tested now."""
        head, slots, kinds = self.rule.head, self.bindings.slots, self.memory.schemas[self.rule.head.relation]
        readers = [read_as(arg, kind, slots, self.rule.types) for arg, kind in zip(head.args, kinds, strict=True)]
        names = [arg.name if isinstance(arg, Var) else "" for arg in head.args]
        tests = [(place, self.wanted[name][0]) for place, name in enumerate(names) if name in self.wanted]
        among = set(self.memory.rows(self.within)) if restricted and self.within else None
        for binding in self.bindings.rows:
            row = tuple(read(binding) for read in readers)
            if all(equal(row[place], binding[slot]) for place, slot in tests) and (among is None or row in among):
                yield row

    def _pattern(self, atom: Atom) -> _Pattern:
        kinds, types, slots = self.memory.schemas[atom.relation], self.rule.types, self.bindings.slots
        places, nullable, fresh = places_of(atom), set(null_safe(atom, self.rule)), dict[str, int]()
        key: list[tuple[int, Type | None]] = [(place, None) for place, _ in places.constants]
        values: list[tuple[int | None, Value]] = [(None, const.value) for _, const in places.constants]
        for name, place in places.first.items():
            slot = slots.get(name)
            if slot is None:
                fresh[name] = place
                wanted, kind = self.wanted.get(name, (None, None))
                if kind == types[name]:  # else it is compared when the head is made
                    slot = wanted
                    nullable.add(place)
            if slot is not None:
                key.append((place, None if types[name] == kinds[place] else types[name]))
                values.append((slot, None))
        repeats = [(places.first[name], place, types[name]) for place, name in places.again]
        reading = self.memory.reading(Ref(atom.relation, atom.version))
        return _Pattern(reading, tuple(key), tuple(values), fresh, tuple(repeats), frozenset(nullable))


def _fits(head: Places, row: Row, kinds: Sequence[Type]) -> bool:
    """Whether a row can be the head's: NULL equals NULL where a variable stands twice."""
    for place, name in head.again:
        first = head.first[name]
        common = widen(kinds[first], kinds[place]) or kinds[place]
        if not equal(widened(row[first], common), widened(row[place], common)):
            return False
    return all(equal(const.value, row[place]) for place, const in head.constants)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """An atom as a look-up: what must equal what, and where variables not bound yet stand."""

    reading: Reading
    key: Key
    values: tuple[tuple[int | None, Value], ...]  # per position of `key`: a slot of the binding, or a constant
    fresh: dict[str, int]  # variable -> its first position
    repeats: tuple[tuple[int, int, Type], ...]  # two positions of one variable, and its type
    nullable: frozenset[int]  # positions at which a NULL agrees with a NULL

    def rows(self, binding: Row) -> Iterable[Row]:
        """The rows that agree with `binding`."""
        wanted = tuple(constant if slot is None else binding[slot] for slot, constant in self.values)
        rows = self._of_null(wanted) if None in wanted else self.reading.lookup(self.key, wanted)
        if not self.repeats:
            return rows
        return [row for row in rows if all(_agree(row[a], row[b], kind) for a, b, kind in self.repeats)]

    def absent(self, binding: Row) -> bool:
        """True when no row agrees."""
        return not any(True for _ in self.rows(binding))

    def _of_null(self, wanted: Row) -> Iterable[Row]:
        nulls = [position for (position, _), value in zip(self.key, wanted, strict=True) if value is None]
        if not self.nullable.issuperset(nulls):
            return ()
        rest = [(place, value) for place, value in zip(self.key, wanted, strict=True) if value is not None]
        rows = self.reading.lookup(tuple(place for place, _ in rest), tuple(value for _, value in rest))
        return [row for row in rows if all(row[position] is None for position in nulls)]


def _agree(a: Value, b: Value, kind: Type) -> bool:
    """Values of two columns under one variable, which may be wider than either."""
    return a is not None and b is not None and equal(widened(a, kind), widened(b, kind))
