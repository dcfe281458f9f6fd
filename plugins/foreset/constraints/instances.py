"""Rows of an entry: for bound keys, one row alone, all of them where there is an end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from foreset.constraints.calls import equals
from foreset.constraints.decide import satisfiable
from foreset.constraints.errors import Infinite
from foreset.constraints.form import FALSE, Constraint, Linear, Literal, Text, constraint, linear
from foreset.constraints.intervals import only_variable, values
from foreset.constraints.simplify import project, simplify
from foreset.constraints.sorts import Variable, from_ticks
from foreset.constraints.text import print_constraint
from foreset.ir.terms import Row, Value

MAX_ROWS = 10_000


def bound(part: Constraint, key: Mapping[Variable, Value]) -> Constraint:
    """`part` where the variables of `key` have its values; NULL satisfies nothing."""
    said = [False if value is None else equals(variable, value) for variable, value in key.items()]
    return simplify(constraint([*part.literals, *said], part.locals))


def contains(part: Constraint, columns: Sequence[Variable], row: Row) -> bool:
    """`row` is one of the rows of `part`."""
    return satisfiable(bound(part, dict(zip(columns, row, strict=True))))


def fixed(part: Constraint, variable: Variable) -> Value:
    """The value that an equation of `part` gives to `variable`; None where none does."""
    for literal in part.literals:
        match literal:
            case Linear(terms=((known, 1),), op="=", bound=number) if known == variable:
                return from_ticks(number, variable.sort)
            case Text(left=known, op="=", right=str() as word) if known == variable:
                return word
            case _:
                continue
    return None


def rows(part: Constraint, columns: Sequence[Variable], limit: int = MAX_ROWS) -> Iterator[Row]:
    """Every row, each once, in order; Infinite where there is no end, or more than `limit`."""
    order = tuple(dict.fromkeys(columns))
    for given, solution in enumerate(_solutions(project(part, order), order)):
        if given >= limit:
            raise Infinite(
                f"`{print_constraint(part)}` has more than {limit:,} rows",
                "ask for keys, for membership, or for the entries themselves",
            )
        yield tuple(solution[v] for v in columns)


def _solutions(part: Constraint, columns: Sequence[Variable]) -> Iterator[dict[Variable, Value]]:
    if part == FALSE or not satisfiable(part):
        return
    if not columns:
        yield {}
        return
    first, rest = columns[0], columns[1:]
    for value in _values(part, first):
        for solution in _solutions(bound(part, {first: value}), rest):
            yield {first: value, **solution}


def _values(part: Constraint, variable: Variable) -> Iterator[Value]:
    known = fixed(part, variable)
    if known is not None:
        yield known
        return
    if variable.sort.kind == "text":
        yield from _texts(part, variable)
        return
    low, high = _end(part, variable, greatest=False), _end(part, variable, greatest=True)
    if low is None or high is None:
        raise Infinite(
            f"`{print_constraint(part)}` has no end: `{variable.name}` has infinitely many values",
            "ask for keys, for membership, or for the entries themselves",
        )
    while low <= high:
        yield from_ticks(low, variable.sort)
        beyond = _beyond(part, variable, low)
        if not satisfiable(beyond):
            return
        following = _end(beyond, variable, greatest=False)
        assert following is not None
        low = following


def _beyond(part: Constraint, variable: Variable, ticks: int) -> Constraint:
    return constraint([*part.literals, linear({variable: 1}, ">", ticks)], part.locals)


def _end(part: Constraint, variable: Variable, *, greatest: bool) -> int | None:
    """The first or last tick of a variable, by intervals where it stands alone."""
    from foreset.constraints.solver import least

    alone = project(part, (variable,))
    if not alone.locals and all(_alone(literal, variable) for literal in alone.literals):
        found = values(variable, alone.literals)
        end = found.upper if greatest else found.lower
        return None if not isinstance(end, int) else end - 1 if greatest else end
    return least(part, variable, greatest=greatest)


def _alone(literal: Literal, variable: Variable) -> bool:
    return only_variable(literal) == variable


def _texts(part: Constraint, variable: Variable) -> Iterator[Value]:
    """Texts have an end only where finitely many are named: between `a` and the next text after it."""
    found = values(variable, [literal for literal in part.literals if only_variable(literal) == variable])
    if not all(_few(piece.lower, piece.upper) for piece in found):
        raise Infinite(
            f"`{print_constraint(part)}` has no end: `{variable.name}` has infinitely many values",
            "ask for keys, for membership, or for the entries themselves",
        )
    for piece in found:  # perhaps too many: whoever asks looks at each
        word = piece.lower
        while word < piece.upper:
            yield word
            word += "\0"


def _few(low: object, high: object) -> bool:
    return isinstance(low, str) and isinstance(high, str) and high.startswith(low) and not high[len(low) :].strip("\0")
