"""Existential variables that can go without a trace, exactly over integers and texts.

A variable in comparisons only goes if every pair of a lower and an upper bound can be combined without
a gap (one of the two coefficients is 1), or if nothing bounds it on one side. Others stay, by name.
"""

from __future__ import annotations

from foreset.constraints.form import (
    FALSE,
    Constraint,
    Linear,
    Literal,
    Member,
    Not,
    Text,
    constraint,
    linear,
    variables,
)
from foreset.constraints.intervals import only_variable, values
from foreset.constraints.sorts import Variable

MAX_PAIRS = 64  # bounds multiply: beyond this a name is the shorter way to say it


def eliminate(part: Constraint) -> Constraint:
    """`part` without those locals that can be spared."""
    for variable in sorted(part.locals):
        about = [literal for literal in part.literals if variable in variables(literal)]
        said = _without(variable, about)
        if said is not None:
            others = [literal for literal in part.literals if literal not in about]
            part = constraint([*others, *said], part.locals - {variable})
            if part == FALSE:
                return FALSE
    return part


def _without(variable: Variable, about: list[Literal]) -> list[Literal | bool] | None:
    """What `about` says of the other variables, if `variable` may be anything; None: only with its name."""
    if all(only_variable(literal) == variable for literal in about):
        return [not values(variable, about).empty]
    if any(isinstance(literal, Member | Not) for literal in about) or variable.sort.kind == "boolean":
        return None
    if variable.sort.kind == "text":
        return _without_text(variable, about)
    lower = [p for p in about if isinstance(p, Linear) and p.op == "<=" and dict(p.terms)[variable] < 0]
    upper = [p for p in about if isinstance(p, Linear) and p.op == "<=" and dict(p.terms)[variable] > 0]
    if any(isinstance(p, Linear) and p.op == "=" for p in about):
        return None
    if not lower or not upper:
        return []  # far enough away, it meets all that remains, `!=` too
    if len(lower) + len(upper) < len(about) or len(lower) * len(upper) > MAX_PAIRS:
        return None
    exact = all(dict(p.terms)[variable] == -1 for p in lower) or all(dict(p.terms)[variable] == 1 for p in upper)
    return [_combined(variable, low, high) for low in lower for high in upper] if exact else None


def _combined(variable: Variable, low: Linear, high: Linear) -> Literal | bool:
    """`a <= p * x` and `q * x <= b` give `q * a <= p * b`."""
    below, above = dict(low.terms), dict(high.terms)
    p, q = -below.pop(variable), above.pop(variable)
    total = {v: q * c for v, c in below.items()}
    for v, c in above.items():
        total[v] = total.get(v, 0) + p * c
    return linear(total, "<=", q * low.bound + p * high.bound)


def _without_text(variable: Variable, about: list[Literal]) -> list[Literal | bool] | None:
    """Texts have no end: without an upper bound, one is always great enough."""
    for literal in about:
        assert isinstance(literal, Text)
        bounded = literal.op in ("<", "<=") if literal.left == variable else literal.op in (">", ">=")
        if bounded or literal.op == "=":
            return None
    return []
