"""One variable alone: the set of its values as disjoint intervals, by `portion`.

All intervals are half open, `[low, high)`: integers and texts both have a next value (of a text, itself and
one NUL more), so adjacent intervals merge, nothing lies unseen between two values, and each set has one form.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from foreset.constraints.form import Constraint, Linear, Literal, Not, Text, linear, text, variables
from foreset.constraints.sorts import Variable

Interval = Any  # portion has no types of its own
Point = Any  # int or str


@lru_cache(maxsize=50_000)
def only_variable(literal: Literal) -> Variable | None:
    """The variable that `literal` is all about, where this module can tell its values."""
    found = set(variables(literal))
    return found.pop() if len(found) == 1 and _plain(literal) else None


def _plain(literal: Literal) -> bool:
    match literal:
        case Linear() | Text():
            return True
        case Not(body=body):
            return not body.locals and all(_plain(part) for part in body.literals)
        case _:
            return False


def values(variable: Variable, literals: Iterable[Literal]) -> Interval:
    """The values of `variable` that satisfy all `literals`, each about it alone."""
    return _values(variable, tuple(literals))


@lru_cache(maxsize=20_000)
def _values(variable: Variable, literals: tuple[Literal, ...]) -> Interval:
    found = domain(variable)
    for literal in literals:
        found &= _set(variable, literal)
    return found


@lru_cache(maxsize=1000)
def domain(variable: Variable) -> Interval:
    """All values that the sort allows."""
    import portion

    match variable.sort.kind:
        case "boolean":
            return portion.closedopen(0, 2)
        case "text":
            return portion.closedopen("", portion.inf)
        case _:
            return portion.open(-portion.inf, portion.inf)


@lru_cache(maxsize=20_000)
def _set(variable: Variable, literal: Literal) -> Interval:
    import portion

    match literal:
        case Linear(terms=(), bound=bound):  # `false`, in a `not` that nobody has simplified
            return domain(variable) if bound >= 0 else portion.empty()
        case Linear(terms=((_, c),), op="<=", bound=bound):
            return portion.open(-portion.inf, bound + 1) if c > 0 else portion.closedopen(-bound, portion.inf)
        case Linear(op=op, bound=bound):  # the coefficient is 1: equations are divided by their divisor
            return _points(portion.closedopen(bound, bound + 1), op)
        case Text(op=op, right=str() as word):
            return _text(word, op)
        case Not(body=Constraint(literals=inner)):
            return domain(variable) - values(variable, inner)
        case _:
            raise AssertionError(literal)


def _text(word: str, op: str) -> Interval:
    import portion

    match op:
        case "<" | "<=":
            return portion.closedopen("", word if op == "<" else after(word))
        case ">" | ">=":
            return portion.closedopen(word if op == ">=" else after(word), portion.inf)
        case _:
            return _points(portion.closedopen(word, after(word)), op)


def _points(point: Interval, op: str) -> Interval:
    return point if op == "=" else ~point


def after(point: Point) -> Point:
    """The next value."""
    return point + "\0" if isinstance(point, str) else point + 1


def literals_for(variable: Variable, found: Interval) -> list[Literal | bool]:
    """The literals that say that `variable` is in `found`: its ends, then what is missing between them."""
    if found.empty:
        return [False]
    whole = domain(variable)
    first, last = found[0], found[-1]
    if len(found) == 1 and _single(first):
        return [_compare(variable, "=", first.lower)]
    said: list[Literal | bool] = []
    if first.lower != whole.lower:
        said.append(_from(variable, first.lower))
    if last.upper != whole.upper:
        said.append(_below(variable, last.upper))
    for left, right in pairwise(found):
        if right.lower == after(left.upper):
            said.append(_compare(variable, "!=", left.upper))
        else:
            gap = [_from(variable, left.upper), _below(variable, right.lower)]
            said.append(Not(Constraint(tuple(part for part in gap if not isinstance(part, bool)))))
    return said


def _single(part: Interval) -> bool:
    finite = isinstance(part.lower, int | str) and isinstance(part.upper, int | str)
    return finite and bool(part.upper == after(part.lower))


def _compare(variable: Variable, op: str, point: Point) -> Literal | bool:
    return text(variable, op, point) if isinstance(point, str) else linear({variable: 1}, op, point)


def _from(variable: Variable, low: Point) -> Literal | bool:
    if isinstance(low, str) and low.endswith("\0"):
        return text(variable, ">", low[:-1])
    return _compare(variable, ">=", low)


def _below(variable: Variable, high: Point) -> Literal | bool:
    if isinstance(high, str) and high.endswith("\0"):
        return text(variable, "<=", high[:-1])
    return _compare(variable, "<", high)
