"""Recursion that cannot turn in a circle: some argument grows, or shrinks, at every step.

If every recursive rule puts into one column of its head something strictly greater than
what the recursive atoms have there, no row can help to derive itself, whatever the data.
The proof is deliberately simple; where it fails, derivations are taken to be cyclic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import product
from math import prod

from foreset.ir.functions import type_of
from foreset.ir.program import View
from foreset.ir.rules import Atom, Comparison, Let, Rule
from foreset.ir.terms import Call, Const, Term, Value, Var
from foreset.ir.types import MAX_PRECISION, Type

MAX_TRIES = 4096
Edge = tuple[str, str, bool]  # the greater variable, the smaller one, and whether strictly so


def can_be_cyclic(views: tuple[View, ...]) -> bool:
    """True unless one column of each view shows that recursion moves in one direction only."""
    names = [view.name for view in views]
    widths = [len(view.columns) for view in views]
    if prod(widths) > MAX_TRIES:
        return True
    steps = [step for view in views for rule in view.rules for step in _steps(rule, frozenset(names))]
    return not any(
        all(_moves(step, dict(zip(names, choice, strict=True)), upwards=upwards) for step in steps)
        for choice in product(*(range(width) for width in widths))
        for upwards in (True, False)
    )


Step = tuple[Atom, Atom, frozenset[tuple[str, str]]]  # head, recursive atom, strictly ordered pairs of variables


def _steps(rule: Rule, own: frozenset[str]) -> Iterator[Step]:
    recursive = [literal for literal in rule.body if isinstance(literal, Atom) and literal.relation in own]
    if recursive:
        order = _strictly_greater(rule)
        yield from ((rule.head, atom, order) for atom in recursive)


def _moves(step: Step, column: Mapping[str, int], *, upwards: bool) -> bool:
    head, atom, order = step
    after, before = head.args[column[head.relation]], atom.args[column[atom.relation]]
    if not (isinstance(after, Var) and isinstance(before, Var)):
        return False
    return ((after.name, before.name) if upwards else (before.name, after.name)) in order


def _strictly_greater(rule: Rule) -> frozenset[tuple[str, str]]:
    """All pairs of variables of which the first is greater whenever the body holds."""
    edges = set(_edges(rule))
    while True:
        more = {(a, d, s or t) for a, b, s in edges for c, d, t in edges if b == c} - edges
        if not more:
            return frozenset((a, b) for a, b, strict in edges if strict)
        edges |= more


def _edges(rule: Rule) -> Iterator[Edge]:
    for literal in rule.body:
        match literal:
            case Comparison(op=">" | ">=" as op, left=Var(name=a), right=Var(name=b)):
                yield a, b, op == ">"
            case Comparison(op="<" | "<=" as op, left=Var(name=a), right=Var(name=b)):
                yield b, a, op == "<"
            case Comparison(op="=", left=left, right=right):
                yield from _equal(left, right, rule.types)
                yield from _equal(right, left, rule.types)
            case Let(var=var, term=term):
                yield from _equal(var, term, rule.types)
            case _:
                continue


def _equal(var: Term, term: Term, types: Mapping[str, Type]) -> Iterator[Edge]:
    """What `var = term` says of their order, where `term` is a variable and a shift."""
    if not isinstance(var, Var):
        return
    if isinstance(term, Var):
        yield var.name, term.name, False
        yield term.name, var.name, False
    elif isinstance(term, Call) and (shifted := _shift(term)) and _exact(type_of(term, types)):
        other, up = shifted
        yield (var.name, other, True) if up else (other, var.name, True)


def _shift(term: Call) -> tuple[str, bool] | None:
    """The variable that `term` moves by a constant, and whether upwards."""
    match term:
        case Call(function="+" | "-" | "add_days" as function, args=(Var(name=name), Const(value=value))):
            sign = _sign(value) * (-1 if function == "-" else 1)
        case Call(function="+", args=(Const(value=value), Var(name=name))):
            sign = _sign(value)
        case _:
            return None
    return (name, sign > 0) if sign else None


def _sign(value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return 0
    return (value > 0) - (value < 0)


def _exact(kind: Type | None) -> bool:
    """Adding cannot be lost in rounding: an overflow stops the refresh instead."""
    if kind is None:
        return False
    return kind.is_integral or kind.name == "date" or (kind.name == "decimal" and kind.precision < MAX_PRECISION)
