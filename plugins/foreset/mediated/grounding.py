"""Rules of constraints over rows: their relations of rows are joined first, so that solvers see what is left.

A rule becomes a clause for each way to satisfy its relations of rows, with the values that they bind.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from foreset.constraints.calls import equals
from foreset.constraints.form import Constraint, Linear, Literal, Text, constraint
from foreset.constraints.sorts import Variable, ticks
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


def grounded(said: Constraint, binding: Binding, scope: Mapping[str, Variable]) -> Constraint | None:
    """`said` with the values of a binding; None where they make it false, which needs no solver."""
    values = {scope[name]: value for name, value in binding.items()}
    rest: list[Literal] = []
    for literal in said.literals:
        holds = _holds(literal, values)
        if holds is False:
            return None
        if holds is None:
            rest.append(literal)
    return constraint([*rest, *(equals(variable, value) for variable, value in values.items())], said.locals)


def _holds(literal: Literal, values: Mapping[Variable, Value]) -> bool | None:
    """Whether a comparison holds; None where not all of its variables have values, and for all else."""
    match literal:
        case Linear(terms=terms, op=op, bound=bound) if all(variable in values for variable, _ in terms):
            found = [(coefficient, ticks(values[variable], variable.sort)) for variable, coefficient in terms]
            total = sum(coefficient * number for coefficient, number in found if number is not None)
            if any(number is None for _, number in found):
                return None
            return total <= bound if op == "<=" else (total == bound) is (op == "=")
        case Text(left=left, op=op, right=right) if left in values and (isinstance(right, str) or right in values):
            return _COMPARE[op](values[left], right if isinstance(right, str) else values[right])
        case _:
            return None


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
