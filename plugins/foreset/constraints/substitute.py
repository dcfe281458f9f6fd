"""A variable replaced by what it is equal to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from foreset.constraints.form import (
    Constraint,
    Linear,
    Literal,
    Member,
    Not,
    Operand,
    Text,
    apart,
    constraint,
    linear,
    map_operands,
    text,
    variables,
)  # fmt: skip
from foreset.constraints.sorts import Variable, from_ticks


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of variables in ticks, and a constant."""

    terms: tuple[tuple[Variable, int], ...]
    constant: int


Replacement = Affine | Variable | str  # the last two for text


def solved_for(equation: Linear | Text, variable: Variable) -> Replacement | None:
    """What `equation` says `variable` is; None where it does not say, as 2X = Y does not for X."""
    if isinstance(equation, Text):
        return equation.right if equation.left == variable else equation.left
    terms = dict(equation.terms)
    unit = terms.pop(variable)
    if abs(unit) != 1:
        return None
    return Affine(tuple((v, -unit * c) for v, c in terms.items()), unit * equation.bound)


def substitute(literal: Literal, variable: Variable, by: Replacement) -> Iterator[Literal | bool]:
    """`literal` without `variable`; a call keeps it where `by` is no single variable or value."""
    if variable not in variables(literal):
        yield literal
        return
    match literal:
        case Linear(terms=terms, op=op, bound=bound):
            assert isinstance(by, Affine)
            total = dict(terms)
            times = total.pop(variable)
            for v, c in by.terms:
                total[v] = total.get(v, 0) + times * c
            yield linear(total, op, bound - times * by.constant)
        case Text(left=left, op=op, right=right):
            assert not isinstance(by, Affine)
            yield text(by if left == variable else left, op, by if right == variable else right)
        case Member():
            operand = as_operand(by, variable)
            yield literal if operand is None else map_operands(literal, lambda v: operand if v == variable else v)
        case Not(body=body):
            yield Not(_inside(body, variable, by))
        case _:
            assert_never(literal)


def as_operand(by: Replacement, variable: Variable) -> Operand | None:
    """`by` as an argument of a call; None where it is an expression or of another sort."""
    match by:
        case Affine(terms=(), constant=constant):
            return from_ticks(constant, variable.sort)
        case Affine(terms=((other, 1),), constant=0) if other.sort == variable.sort:
            return other
        case Affine():
            return None
        case _:
            return by


def _inside(body: Constraint, variable: Variable, by: Replacement) -> Constraint:
    names = {v.name for v, _ in by.terms} if isinstance(by, Affine) else {by.name} if isinstance(by, Variable) else {""}
    body = apart(body, names)
    return constraint((new for literal in body.literals for new in substitute(literal, variable, by)), body.locals)
