"""How bindings pass through a rule when some columns of its head are asked for.

For each rule and each set of asked head columns there is one way: the atom with the
most bound arguments comes next, conditions as soon as they are bound and cannot
fail, and what can fail at the very end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foreset.ir.functions import fallible
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.terms import Const, Var
from foreset.ir.types import Type

Asked = tuple[int, ...]  # positions of the columns whose values are given
Schemas = Mapping[str, tuple[Type, ...]]


@dataclass(frozen=True, slots=True)
class Stage:
    """One literal, and for an atom the positions whose values are known when it is reached."""

    literal: Literal
    known: Asked = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A rule with the order of its literals; `given` are the head positions that bind variables."""

    rule: Rule
    asked: Asked
    given: Asked
    stages: tuple[Stage, ...]


def passage(rule: Rule, asked: Asked, schemas: Schemas) -> Passage:
    """Order `rule` for goals on the head columns `asked`."""
    given = tuple(p for p in asked if _binds(rule, p, schemas))
    bound = {arg.name for p in given if isinstance(arg := rule.head.args[p], Var)}
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    rest = [literal for literal in rule.body if not isinstance(literal, Atom)]
    stages: list[Stage] = []
    while atoms:
        atom = max(atoms, key=lambda a: len(known_positions(a, bound)) / max(len(a.args), 1))
        atoms.remove(atom)
        stages.append(Stage(atom, known_positions(atom, bound)))
        bound |= {v.name for v in literal_variables(atom)}
        ready = [literal for literal in rest if _safe(literal) and _names(literal) <= bound]
        stages += [Stage(literal) for literal in ready]
        rest = [literal for literal in rest if literal not in ready]
    for literal in rest:
        stages.append(Stage(literal, known_positions(literal.atom, bound) if isinstance(literal, Negation) else ()))
        if isinstance(literal, Let):
            bound.add(literal.var.name)
    return Passage(rule, asked, given, tuple(stages))


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
    return isinstance(arg, Var) and arg.name in in_atoms and rule.types[arg.name] == kind


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
