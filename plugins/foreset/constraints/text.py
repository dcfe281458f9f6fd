"""Constraints as people read them; `read` takes this text back.

`X >= 5, X != 6` · `X + 2 * Y <= 7` · `not(X >= 2, X <= 4)` · `in(Y, faces:find("ann"))` ·
`X = 2 * Y for some Y int`.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from math import gcd
from typing import assert_never

from foreset.constraints.form import FALSE, Constraint, Linear, Literal, Member, Not, Operand, Text
from foreset.constraints.sorts import NUMBER, Sort, Variable, from_ticks
from foreset.ir.text import print_value

_TURNED = {"<=": ">=", "=": "=", "!=": "!="}


def print_constraint(part: Constraint) -> str:
    """The literals, joined by commas, and the names that are existential."""
    if part == FALSE:
        return "false"
    if not part.literals:
        return "true"
    said = ", ".join(print_constraint_literal(literal) for literal in part.literals)
    if part.locals:
        said += " for some " + ", ".join(f"{v.name} {v.sort}" for v in sorted(part.locals))
    return said


def print_constraint_literal(literal: Literal) -> str:
    """One literal."""
    match literal:
        case Linear():
            return _linear(literal)
        case Text(left=left, op=op, right=right):
            return f"{left.name} {op} {right.name if isinstance(right, Variable) else print_value(right)}"
        case Member():
            return print_call(literal)
        case Not(body=body):
            return f"not({print_constraint(body)})"
        case _:
            assert_never(literal)


def print_call(call: Member) -> str:
    """`in(X, domain:function(args))`."""
    args = ", ".join(print_operand(arg) for arg in call.args)
    called = f"{call.domain}:{call.function}({args})"
    outputs = [print_operand(output) for output in call.outputs]
    if call.places is not None:
        outputs = [f"{place}={output}" for place, output in zip(call.places, outputs, strict=True)]
    if not outputs:
        return f"in({called})"
    pattern = outputs[0] if len(outputs) == 1 and call.places is None else f"({', '.join(outputs)})"
    return f"in({pattern}, {called})"


def print_operand(operand: Operand) -> str:
    """A variable or a constant."""
    return operand.name if isinstance(operand, Variable) else print_value(operand)


def _linear(literal: Linear) -> str:
    """Greater coefficients to the left, as people write; each side in values, not in ticks."""
    terms, bound = literal.terms, literal.bound
    op: str = literal.op
    if terms[0][1] < 0:
        terms, op, bound = tuple((v, -c) for v, c in terms), _TURNED[op], -bound
    if len(terms) == 1 and terms[0][1] == 1:
        return f"{terms[0][0].name} {op} {_constant(bound, terms[0][0].sort)}"
    if terms[0][0].sort.kind != "number":
        return _difference(terms, op, bound)
    scaled = [Fraction(c) * 10**v.sort.scale for v, c in terms]  # coefficients of values
    total = Fraction(bound)
    common = gcd(*(f.numerator for f in scaled))
    scaled, total = [f / common for f in scaled], total / common
    left = [(c, v.name) for c, (v, _) in zip(scaled, terms, strict=True) if c > 0]
    right = [(-c, v.name) for c, (v, _) in zip(scaled, terms, strict=True) if c < 0]
    return f"{_sum(left, Fraction(0))} {op} {_sum(right, total)}"


def _difference(terms: Iterable[tuple[Variable, int]], op: str, bound: int) -> str:
    """Dates, times and booleans: ticks have no text, so their distance stands alone."""
    left = [(Fraction(c), v.name) for v, c in terms if c > 0]
    right = [(Fraction(-c), v.name) for v, c in terms if c < 0]
    return f"{_sum(left, Fraction(0))} {op} {_sum(right, Fraction(bound))}"


def _sum(terms: list[tuple[Fraction, str]], constant: Fraction) -> str:
    parts = [name if c == 1 else f"{_number(c)} * {name}" for c, name in terms]
    said = " + ".join(parts)
    if not said:
        return _number(constant)
    if constant:
        said += f" {'+' if constant > 0 else '-'} {_number(abs(constant))}"
    return said


def _number(value: Fraction) -> str:
    """Exact: denominators are powers of ten and what coefficients share."""
    if value.denominator == 1:
        return str(value.numerator)
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    return f"{Decimal(int(value * 10**places)).scaleb(-places):f}"


def _constant(number: int, sort: Sort) -> str:
    return str(number) if sort == NUMBER else print_value(from_ticks(number, sort))
