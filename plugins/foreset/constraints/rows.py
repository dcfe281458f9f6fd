"""Entries as rows: the values that an entry fixes, and the rest as text; ground entries have no rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from foreset.constraints.calls import equals
from foreset.constraints.decide import canonical
from foreset.constraints.form import Constraint, Linear, Text, constraint
from foreset.constraints.instances import fixed
from foreset.constraints.read import read_constraint
from foreset.constraints.sorts import Variable, sort_of
from foreset.constraints.text import print_constraint
from foreset.ir.program import Column
from foreset.ir.terms import Row
from foreset.ir.types import STRING

CONSTRAINT = Column("_constraint", STRING)  # beside the declared columns


def variables_of(columns: Sequence[Column]) -> tuple[Variable, ...]:
    """Columns as the variables of entries; their types are known to have sorts."""
    found = ((column.name, sort_of(column.type)) for column in columns)
    return tuple(Variable(name, sort) for name, sort in found if sort is not None)


def to_row(part: Constraint, columns: Sequence[Variable]) -> Row:
    """The row of an entry: values where there is only one, NULL elsewhere, and what else it says."""
    part = canonical(part)
    values = {v: value for v in columns if (value := fixed(part, v)) is not None}
    rest = [p for p in part.literals if not _fixes(p, values)]
    return (*(values.get(v) for v in columns), print_constraint(Constraint(tuple(rest), part.locals)) if rest else "")


def _fixes(literal: object, values: Collection[Variable]) -> bool:
    match literal:
        case Linear(terms=((variable, 1),), op="="):
            return variable in values
        case Text(left=variable, op="=", right=str()):
            return variable in values
        case _:
            return False


def from_row(row: Row, columns: Sequence[Variable]) -> Constraint:
    """The entry that `to_row` wrote."""
    *values, said = row
    rest = read_constraint(str(said), columns) if said else Constraint()
    equations = [equals(v, value) for v, value in zip(columns, values, strict=True) if value is not None]
    return constraint([*rest.literals, *equations], rest.locals)
