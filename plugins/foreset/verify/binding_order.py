"""How bindings pass through a rule when some columns of its head are asked for.

For each rule and each set of asked head columns there is one way: the atom that few
rows answer comes next, conditions as soon as they are bound and cannot fail, and what
can fail at the very end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from foreset.ir.functions import fallible
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.terms import Const, Var
from foreset.ir.types import Type
from foreset.verify.value_numbering import alike

Asked = tuple[int, ...]  # positions of the columns whose values are given
Schemas = Mapping[str, tuple[Type, ...]]


@dataclass(frozen=True, slots=True)
class Stage:
    """One literal, for an atom the positions whose values are known when it is reached, and what is needed after it."""

    literal: Literal
    known: Asked = ()
    keep: frozenset[str] = frozenset()


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
        looks = [(_asked_for(rule, atom, bound, schemas), atom) for atom in atoms]
        # To count the rows of a large source takes time, and of one atom there is no choice.
        known, atom = looks[0] if len(looks) == 1 else min(looks, key=lambda one: _rows(one[0], one[1], fanout))
        atoms.remove(atom)
        stages.append(Stage(atom, known))
        bound |= {v.name for v in literal_variables(atom)}
        ready = [literal for literal in rest if _safe(literal) and _names(literal) <= bound]
        stages += [Stage(literal) for literal in ready]
        rest = [literal for literal in rest if literal not in ready]
    for literal in rest:
        known = _asked_for(rule, literal.atom, bound, schemas) if isinstance(literal, Negation) else ()
        stages.append(Stage(literal, known))
        if isinstance(literal, Let):
            bound.add(literal.var.name)
    return Passage(rule, asked, given, _keeping(rule, stages))


def _rows(known: Asked, atom: Atom, fanout: Fanout) -> float:
    """How many rows answer one binding, about; of a view it is only known how much of it is bound."""
    if len(known) == len(atom.args):
        return 0.5
    rows = fanout(atom.relation, known)
    return rows if rows is not None else 10.0 ** (1 + 3 * (1 - len(known) / len(atom.args)))


def _keeping(rule: Rule, stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Each stage with the variables that the head or a later stage has."""
    needed, found = _names(rule.head), []
    for stage in reversed(stages):
        found.append(replace(stage, keep=frozenset(needed)))
        needed = needed | _names(stage.literal)
    return tuple(reversed(found))


def _asked_for(rule: Rule, atom: Atom, bound: set[str], schemas: Schemas) -> Asked:
    """Of the known positions those whose value has the column's own type; others are compared after a look."""

    def fits(position: int) -> bool:
        arg = atom.args[position]
        kind = arg.type if isinstance(arg, Const) else rule.types[arg.name] if isinstance(arg, Var) else None
        return kind is not None and alike(kind, schemas[atom.relation][position])

    return tuple(position for position in known_positions(atom, bound) if fits(position))


def known_positions(atom: Atom, bound: set[str]) -> Asked:
    """The positions of `atom` that hold a constant or a bound variable."""
    return tuple(
        i for i, arg in enumerate(atom.args) if isinstance(arg, Const) or (isinstance(arg, Var) and arg.name in bound)
    )


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
