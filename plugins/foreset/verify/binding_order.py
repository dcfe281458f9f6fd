"""How bindings pass through a rule when some columns of its head are asked for.

For each rule and each set of asked head columns there is one way: the atom that few
rows answer comes next, conditions as soon as they are bound and cannot fail, and what
can fail at the very end. Whoever follows a body reads these stages: batches of bindings
(`batches.py`), queries (`queries.py`), and questions about one row (questions/bodies.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from foreset.ir.functions import fallible
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables, null_safe
from foreset.ir.terms import Const, Var
from foreset.ir.types import Type
from foreset.verify.value_numbering import alike

Asked = tuple[int, ...]  # positions of the columns whose values are given
Schemas = Mapping[str, tuple[Type, ...]]


class Use(Enum):
    """What a column of an atom does when the atom is reached."""

    LOOKED_UP = auto()  # its value is known, in the column's own type: rows are asked for by it
    COMPARED = auto()  # its value is known by now: rows are compared with it after a look
    GIVES = auto()  # it gives its variable a value


@dataclass(frozen=True, slots=True)
class Place:
    """One column of an atom, and what the rule has there."""

    position: int
    arg: Const | Var
    kind: Type  # of the column
    use: Use


@dataclass(frozen=True, slots=True)
class Stage:
    """One literal; of an atom what its columns do, and at which of them a NULL meets a NULL."""

    literal: Literal
    places: tuple[Place, ...] = ()
    safe: frozenset[int] = frozenset()
    keep: frozenset[str] = frozenset()  # the variables that the head or a later stage has

    @property
    def known(self) -> Asked:
        """The columns by which rows are asked for."""
        return tuple(place.position for place in self.places if place.use is Use.LOOKED_UP)


@dataclass(frozen=True, slots=True)
class Passage:
    """A rule with the order of its literals; `given` are the head positions that bind variables."""

    rule: Rule
    asked: Asked
    given: Asked
    stages: tuple[Stage, ...]


Fanout = Callable[[str, Asked], float | None]  # rows of a relation for one key of these columns; None: nobody knows


def passage(rule: Rule, asked: Asked, schemas: Schemas, fanout: Fanout) -> Passage:
    """Order `rule` for goals on the head columns `asked`."""
    given = tuple(p for p in asked if _binds(rule, p, schemas))
    bound = {arg.name for p in given if isinstance(arg := rule.head.args[p], Var)}
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    rest = [literal for literal in rule.body if not isinstance(literal, Atom)]
    stages: list[Stage] = []
    while atoms:
        looks = [stage_of(rule, atom, bound, schemas) for atom in atoms]
        # To count the rows of a large source takes time, and of one atom there is no choice.
        stage = looks[0] if len(looks) == 1 else min(looks, key=lambda one: _rows(one, fanout))
        atoms.pop(looks.index(stage))
        stages.append(stage)
        bound |= _names(stage.literal)
        ready = [literal for literal in rest if _safe(literal) and _names(literal) <= bound]
        stages += [Stage(literal) for literal in ready]
        rest = [literal for literal in rest if literal not in ready]
    for literal in rest:
        stages.append(stage_of(rule, literal, bound, schemas))
        if isinstance(literal, Let):
            bound.add(literal.var.name)
    return Passage(rule, asked, given, _keeping(rule, stages))


def stage_of(rule: Rule, literal: Literal, bound: Collection[str], schemas: Schemas) -> Stage:
    """What a literal does where the variables `bound` have a value."""
    match literal:
        case Atom():
            return Stage(literal, tuple(_places(rule, literal, bound, schemas)), null_safe(literal, rule))
        case Negation(atom=atom):
            return Stage(literal, tuple(_places(rule, atom, bound, schemas)))
        case _:
            return Stage(literal)


def _places(rule: Rule, atom: Atom, bound: Collection[str], schemas: Schemas) -> Iterator[Place]:
    met: set[str] = set()
    for position, (arg, kind) in enumerate(zip(atom.args, schemas[atom.relation], strict=True)):
        assert isinstance(arg, Const | Var), f"{atom} is not in normal form"
        if isinstance(arg, Var) and arg.name not in bound and arg.name not in met:
            met.add(arg.name)
            yield Place(position, arg, kind, Use.GIVES)
            continue
        own = arg.type if isinstance(arg, Const) else rule.types[arg.name]
        here = isinstance(arg, Var) and arg.name in met  # the same row gives it a value
        yield Place(position, arg, kind, Use.LOOKED_UP if alike(own, kind) and not here else Use.COMPARED)


def _rows(stage: Stage, fanout: Fanout) -> float:
    """How many rows answer one binding, about; of a view it is only known how much of it is bound."""
    assert isinstance(stage.literal, Atom)
    if len(stage.known) == len(stage.places):
        return 0.5
    rows = fanout(stage.literal.relation, stage.known)
    return rows if rows is not None else 10.0 ** (1 + 3 * (1 - len(stage.known) / len(stage.places)))


def _keeping(rule: Rule, stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Each stage with the variables that the head or a later stage has."""
    needed, found = _names(rule.head), []
    for stage in reversed(stages):
        found.append(replace(stage, keep=frozenset(needed)))
        needed = needed | _names(stage.literal)
    return tuple(reversed(found))


def _binds(rule: Rule, position: int, schemas: Schemas) -> bool:
    """A head column gives a binding when an atom has the variable too, in the column's own type."""
    arg = rule.head.args[position]
    if isinstance(arg, Const):
        return True
    in_atoms = {v.name for literal in rule.body if isinstance(literal, Atom) for v in literal_variables(literal)}
    kind = schemas[rule.head.relation][position]
    return isinstance(arg, Var) and arg.name in in_atoms and alike(rule.types[arg.name], kind)


def _safe(literal: Literal) -> bool:
    match literal:
        case Comparison(left=left, right=right):
            return not (fallible(left) or fallible(right))
        case Test(call=call):
            return not fallible(call)
        case _:
            return False


def _names(literal: Literal) -> set[str]:
    return {v.name for v in literal_variables(literal)}
