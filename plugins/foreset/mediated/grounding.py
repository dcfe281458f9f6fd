"""Rules of constraints over rows: their relations of rows are joined first, so that solvers see what is left.

A rule becomes a clause for each way to satisfy its relations of rows, with the values that they bind.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from foreset.constraints.form import Constraint, Linear, Literal, constraint, linear
from foreset.constraints.sorts import Variable, ticks
from foreset.constraints.substitute import Affine, substitute
from foreset.ir.program import Column
from foreset.ir.rules import Atom
from foreset.ir.terms import Const, Row, Value, Var
from foreset.ir.types import Type

Binding = dict[str, Value]
Rows = Callable[[str], Iterable[Row]]


def bindings(
    atoms: Sequence[Atom], rows: Rows, schemas: Mapping[str, Sequence[Column]], types: Mapping[str, Type]
) -> Iterator[Binding]:
    """The values of the named variables of `atoms`, for each way to satisfy all of them."""
    found: list[Binding] = [{}]
    for atom in atoms:
        kinds = [column.type for column in schemas[atom.relation]]
        shared = [name for name in _names(atom) if found and name in found[0]]
        index: dict[tuple[Value, ...], list[Binding]] = {}
        for row in rows(atom.relation):
            bound = _bound(atom, row, kinds, types)
            if bound is not None:
                index.setdefault(tuple(bound[name] for name in shared), []).append(bound)
        found = [
            {**binding, **bound}
            for binding in found
            for bound in index.get(tuple(binding[name] for name in shared), ())
        ]
        if not found:
            return
    yield from found


def _names(atom: Atom) -> list[str]:
    return list(dict.fromkeys(arg.name for arg in atom.args if isinstance(arg, Var) and not arg.anonymous))


def _bound(atom: Atom, row: Row, kinds: Sequence[Type], types: Mapping[str, Type]) -> Binding | None:
    """The values that a row gives; None where it does not fit. NULL joins with nothing, and satisfies nothing."""
    found: Binding = {}
    for arg, value, kind in zip(atom.args, row, kinds, strict=True):
        if isinstance(arg, Const):
            if value is None or value != arg.value:
                return None
        elif isinstance(arg, Var) and not arg.anonymous:
            wide = value if types[arg.name] == kind else _widened(value, types[arg.name])
            if wide is None or found.setdefault(arg.name, wide) != wide:
                return None
    return found


def _widened(value: Value, kind: Type) -> Value:
    """A day where times are meant is its midnight; numbers are equal whatever their type."""
    midnight = kind.name.startswith("timestamp") and isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return dt.datetime.combine(value, dt.time()) if midnight and isinstance(value, dt.date) else value


def in_ticks(binding: Binding, scope: Mapping[str, Variable]) -> dict[Variable, int | str] | None:
    """The values of a binding as constraints count them; None where one lies between two ticks: nothing equals it."""
    found: dict[Variable, int | str] = {}
    for name, value in binding.items():
        variable = scope[name]
        if isinstance(value, str):
            found[variable] = value
            continue
        number = ticks(value, variable.sort)
        if number is None or number.denominator != 1:
            return None
        found[variable] = int(number)
    return found


def grounded(said: Constraint, values: Mapping[Variable, int | str]) -> Constraint | None:
    """`said` with values in place of variables; None where they make it false, which needs no solver."""
    rest: list[Literal] = []
    for literal in said.literals:
        for left in _grounded(literal, values):
            if left is False:
                return None
            if left is not True:
                rest.append(left)
    return constraint(rest, said.locals)


def _grounded(literal: Literal, values: Mapping[Variable, int | str]) -> Iterable[Literal | bool]:
    if isinstance(literal, Linear):
        left, bound = dict[Variable, int](), literal.bound
        for variable, coefficient in literal.terms:
            value = values.get(variable)
            if isinstance(value, int):
                bound -= coefficient * value
            else:
                left[variable] = coefficient
        return [linear(left, literal.op, bound)]
    found: list[Literal | bool] = [literal]
    for variable, value in values.items():
        by = value if isinstance(value, str) else Affine((), value)
        found = [new for one in found for new in ([one] if isinstance(one, bool) else substitute(one, variable, by))]
    return found
