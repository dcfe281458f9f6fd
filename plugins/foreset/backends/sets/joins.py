"""All bindings under which a rule's body holds, over relations in memory.

Atoms are joined smallest first, along shared variables. Conditions that cannot
fail filter as soon as they can; whatever may fail waits until every atom is
joined, and then keeps the order of the normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from foreset.backends.sets.rows import Memory, Reading
from foreset.errors import EvaluationError
from foreset.ir.functions import fallible
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables, null_safe, owner
from foreset.ir.steps import Ref
from foreset.ir.terms import Const, Row, Value, Var
from foreset.ir.types import Type
from foreset.machine.links import Key
from foreset.values.functions import Failure
from foreset.values.terms import Condition, compile_comparison, compile_test, equal, read_as
from foreset.values.widen import widened, widener


@dataclass(slots=True)
class _Join:
    """Bindings so far; `slots` says where each variable's value stands in them."""

    rule: Rule
    memory: Memory
    slots: dict[str, int] = field(default_factory=dict)
    bindings: list[Row] = field(default_factory=lambda: [()])


def heads(rule: Rule, memory: Memory, within: Ref | None = None) -> Iterator[Row]:
    """Yield the head's row once for every way in which the body holds (within the rows of `within`)."""
    if within is None:
        yield from _solve(_Join(rule, memory))
        return
    rows = memory.rows(within)
    if rows:
        yield from _heads_within(rule, memory, rows)


def settle(
    rule: Rule, slots: Mapping[str, int], bindings: list[Row], literals: Sequence[Literal]
) -> tuple[dict[str, int], list[Row]]:
    """Apply conditions and values, no atoms, in their order; for readers that join elsewhere."""
    join = _Join(rule, Memory({}), dict(slots), bindings)
    for literal in literals:
        _apply(join, literal)
    return join.slots, join.bindings


def _heads_within(rule: Rule, memory: Memory, rows: Iterable[Row]) -> Iterator[Row]:
    """Start from the wanted rows, so that the cost follows them.

    A NULL in a wanted row equals the NULL that the body gives, though it joins with nothing:
    such rows, and heads whose columns are wider than their variables, are tested at the end.
    """
    kinds = memory.schemas[rule.head.relation]
    args = zip(rule.head.args, kinds, strict=True)
    plain = all(rule.types[arg.name] == kind for arg, kind in args if isinstance(arg, Var))
    bound = {row for row in rows if plain and None not in row}
    rest = set(rows) - bound
    if bound:
        slots = {var.name: i for i, var in enumerate(_distinct(rule.head))}
        seeds = {seed for row in bound if (seed := _seed(rule.head, row)) is not None}
        if seeds:
            yield from _solve(_Join(rule, memory, slots, list(seeds)))
    if rest:
        yield from (row for row in _solve(_Join(rule, memory)) if row in rest)


def _distinct(head: Atom) -> tuple[Var, ...]:
    return tuple(dict.fromkeys(arg for arg in head.args if isinstance(arg, Var)))


def _seed(head: Atom, row: Row) -> Row | None:
    values: dict[Var, Value] = {}
    for arg, value in zip(head.args, row, strict=True):
        if isinstance(arg, Const):
            if not equal(arg.value, value):
                return None
        elif isinstance(arg, Var) and not equal(values.setdefault(arg, value), value):
            return None
    return tuple(values[var] for var in _distinct(head))


def _solve(join: _Join) -> Iterator[Row]:
    waiting: list[Literal] = [literal for literal in join.rule.body if not isinstance(literal, Atom)]
    atoms = [literal for literal in join.rule.body if isinstance(literal, Atom)]
    waiting = _filter_early(join, waiting)
    while atoms and join.bindings:
        atom = min(atoms, key=lambda a: _cost(join, a))
        atoms.remove(atom)
        _extend(join, atom)
        waiting = _filter_early(join, waiting)
    if not join.bindings:
        return
    for literal in waiting:
        _apply(join, literal)
    kinds = join.memory.schemas[join.rule.head.relation]
    args = zip(join.rule.head.args, kinds, strict=True)
    readers = [read_as(arg, kind, join.slots, join.rule.types) for arg, kind in args]
    for binding in join.bindings:
        yield tuple(read(binding) for read in readers)


def _cost(join: _Join, atom: Atom) -> float:
    """Rows to expect: a guess that prefers small versions and bound arguments."""
    size = join.memory.count(Ref(atom.relation, atom.version)) or 0
    bound = sum(isinstance(arg, Const) or (isinstance(arg, Var) and arg.name in join.slots) for arg in atom.args)
    return size / 10.0**bound if size else -1.0


def _extend(join: _Join, atom: Atom) -> None:
    pattern = _pattern(join, atom)
    kinds, types = join.memory.schemas[atom.relation], join.rule.types
    taken = [(position, widener(types[name] if types[name] != kinds[position] else None))
             for name, position in pattern.fresh.items()]  # fmt: skip
    join.bindings = [
        binding + tuple(widen(row[position]) for position, widen in taken)
        for binding in join.bindings
        for row in pattern.rows(binding)
    ]
    for name in pattern.fresh:
        join.slots[name] = len(join.slots)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """An atom as a look-up: what must equal what, and where variables not bound yet stand."""

    reading: Reading
    key: Key
    values: tuple[tuple[int | None, Value], ...]  # per position of `key`: a slot of the binding, or a constant
    fresh: dict[str, int]  # variable -> its first position
    repeats: tuple[tuple[int, int, Type], ...]  # two positions of one variable, and its type
    nullable: frozenset[int] = frozenset()  # positions at which a NULL agrees with a NULL

    def rows(self, binding: Row) -> Iterable[Row]:
        """The rows that agree with `binding`; NULL agrees with nothing, but where it names a group."""
        wanted = tuple(constant if slot is None else binding[slot] for slot, constant in self.values)
        rows = self._of_null(wanted) if None in wanted else self.reading.lookup(self.key, wanted)
        if not self.repeats:
            return rows
        return [row for row in rows if all(_agree(row[a], row[b], kind) for a, b, kind in self.repeats)]

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


def _pattern(join: _Join, atom: Atom) -> _Pattern:
    kinds, types = join.memory.schemas[atom.relation], join.rule.types
    key: list[tuple[int, Type | None]] = []
    values: list[tuple[int | None, Value]] = []
    fresh: dict[str, int] = {}
    repeats: list[tuple[int, int, Type]] = []
    for position, arg in enumerate(atom.args):
        match arg:
            case Const(value=value):
                key.append((position, None))
                values.append((None, value))
            case Var(name=name) if name in join.slots:
                key.append((position, None if types[name] == kinds[position] else types[name]))
                values.append((join.slots[name], None))
            case Var(name=name) if name in fresh:
                repeats.append((fresh[name], position, types[name]))
            case Var(name=name):
                fresh[name] = position
            case _:
                raise AssertionError(f"{atom} is not in normal form")
    return _Pattern(
        join.memory.reading(Ref(atom.relation, atom.version)),
        tuple(key),
        tuple(values),
        fresh,
        tuple(repeats),
        null_safe(atom, join.rule),
    )


def _filter_early(join: _Join, literals: Sequence[Literal]) -> list[Literal]:
    """Apply what is bound and cannot fail; return what must wait."""
    waiting = []
    for literal in literals:
        if join.bindings and _ready(join, literal):
            _apply(join, literal)
        else:
            waiting.append(literal)
    return waiting


def _ready(join: _Join, literal: Literal) -> bool:
    match literal:
        case Comparison(left=left, right=right):
            safe = not (fallible(left) or fallible(right))
        case Test(call=call):
            safe = not fallible(call)
        case Negation():  # which of its variables are existential shows only when all atoms are joined
            elsewhere = {v.name for other in join.rule.body if other is not literal for v in literal_variables(other)}
            names = {v.name for v in literal_variables(literal)}
            return names & elsewhere <= join.slots.keys()
        case _:
            return False
    return safe and all(v.name in join.slots for v in literal_variables(literal))


def _apply(join: _Join, literal: Literal) -> None:
    types = join.rule.types
    match literal:
        case Let(var=var, term=term):
            read = read_as(term, types[var.name], join.slots, types)
            if (slot := join.slots.get(var.name)) is not None:  # bound by a wanted row or a changed negation: a join
                _keep(join, lambda binding: (value := read(binding)) is not None and equal(value, binding[slot]))
                return
            join.bindings = [(*b, value) for b, value in _guarded(join, ((b, read) for b in join.bindings))]
            join.slots[var.name] = len(join.slots)
        case Comparison():
            _keep(join, compile_comparison(literal, join.slots, types))
        case Test():
            _keep(join, compile_test(literal, join.slots, types))
        case Negation(atom=atom):
            _keep(join, _absence(join, atom))
        case Atom():
            raise AssertionError("atoms are joined, not applied")


def _keep(join: _Join, condition: Condition) -> None:
    pairs = _guarded(join, ((binding, condition) for binding in join.bindings))
    join.bindings = [binding for binding, holds in pairs if holds]


def _guarded(join: _Join, todo: Iterable[tuple[Row, Callable[[Row], Value]]]) -> Iterator[tuple[Row, Value]]:
    """Call each function on its binding; a failure names the rule and shows the values."""
    for binding, function in todo:
        try:
            yield binding, function(binding)
        except Failure as failure:
            shown = ", ".join(f"{name} = {binding[slot]!r}" for name, slot in join.slots.items() if slot < len(binding))
            where = f"rule {join.rule.name} of view {owner(join.rule)}"
            raise EvaluationError(f"{where}: {failure}, at {shown}") from failure


def _absence(join: _Join, atom: Atom) -> Condition:
    """NOT EXISTS: variables that nothing else binds range over all rows."""
    pattern = _pattern(join, atom)
    return lambda binding: not any(True for _ in pattern.rows(binding))
