"""Which equalities give a variable its value, and in which order a body is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from foreset.analyse.binding import bound_by_atoms
from foreset.ir.functions import fallible
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Test, literal_variables
from foreset.ir.terms import Var, names_in


def classified(body: Sequence[Literal]) -> tuple[Literal, ...]:
    """`body` with each equality that gives a variable its value as a `Let`.

    It does so when one side is a variable that no positive atom binds and the other side is
    known. The order of the text does not matter; a second such equality only compares.
    """
    result, bound = list(body), set(bound_by_atoms(body))
    settled = False
    while not settled:
        settled = True
        for i, literal in enumerate(result):
            if isinstance(literal, Comparison) and (let := _as_let(literal, bound)):
                result[i], settled = let, False
                bound.add(let.var.name)
    return tuple(result)


def _as_let(literal: Comparison, bound: AbstractSet[str]) -> Let | None:
    if literal.op != "=":
        return None
    for var, term in ((literal.left, literal.right), (literal.right, literal.left)):
        if isinstance(var, Var) and var.name not in bound and not var.anonymous and names_in(term) <= bound:
            return Let(var, term, literal.span)
    return None


def ordered(body: Sequence[Literal]) -> tuple[Literal, ...]:
    """Positive atoms as written; then always the first literal of the best rank that can be evaluated.

    Ranks: what cannot fail; conditions that can; values that can fail and that a condition
    waits for; values that only the head waits for. This order keeps the law of normalise_rules.
    """
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    rest = [literal for literal in body if not isinstance(literal, Atom)]
    bindable = bound_by_atoms(body) | {literal.var.name for literal in rest if isinstance(literal, Let)}
    known, awaited = set(bound_by_atoms(body)), _awaited(rest)
    result: list[Literal] = [*atoms]
    while rest:
        ready = [literal for literal in rest if _inputs(literal) & bindable <= known] or rest[:1]
        literal = min(ready, key=lambda one: _rank(one, awaited))
        rest.remove(literal)
        result.append(literal)
        if isinstance(literal, Let):
            known.add(literal.var.name)
    return tuple(result)


def _inputs(literal: Literal) -> frozenset[str]:
    """The variables that must have a value first."""
    if isinstance(literal, Let):
        return names_in(literal.term)
    return frozenset(v.name for v in literal_variables(literal))


def _awaited(rest: Sequence[Literal]) -> frozenset[str]:
    """The variables that some condition needs, also by way of others."""
    lets = {literal.var.name: names_in(literal.term) for literal in rest if isinstance(literal, Let)}
    todo = [name for literal in rest if not isinstance(literal, Let) for name in _inputs(literal)]
    found: set[str] = set()
    while todo:
        if (name := todo.pop()) not in found:
            found.add(name)
            todo.extend(lets.get(name, ()))
    return frozenset(found)


def _rank(literal: Literal, awaited: AbstractSet[str]) -> int:
    if not can_fail(literal):
        return 0
    if isinstance(literal, Let):
        return 2 if literal.var.name in awaited else 3
    return 1


def can_fail(literal: Literal) -> bool:
    """True when evaluating `literal` can stop a refresh."""
    match literal:
        case Comparison(left=left, right=right):
            return fallible(left) or fallible(right)
        case Test(call=term) | Let(term=term):
            return fallible(term)
        case Atom() | Negation():
            return False
