"""One derivation: from a clause and one entry for each body atom to the constraint of the head."""

from __future__ import annotations

from collections.abc import Sequence

from foreset.constraints.calls import equals
from foreset.constraints.form import Constraint, Literal, Operand, conjunction, constraint, linear, renamed, text
from foreset.constraints.simplify import project
from foreset.constraints.sorts import TEXT, Variable
from foreset.mediated.program import Atom, Clause, Program, denials


def derived(program: Program, clause: Clause, children: Sequence[Constraint]) -> Constraint:
    """What `clause` says of the columns of its head when its body atoms are `children`."""
    inside = {v: _own(v) for v in _variables(clause)}
    parts = [renamed(clause.constraint, inside)]
    for place, (atom, child) in enumerate(zip(clause.body, children, strict=True)):
        parts.append(_meeting(atom, program.columns[atom.predicate], child, inside, f"{place}."))
    columns = program.columns[clause.head.predicate]
    head = [_same(column, _inner(arg, inside)) for column, arg in zip(columns, clause.head.args, strict=True)]
    return project(conjunction(*parts, constraint(head), denials(clause)), columns)


def _own(variable: Variable) -> Variable:
    """Variables of clauses carry a dash, so that none is a column or a local of an entry."""
    return Variable(f"{variable.name}'", variable.sort)


def _inner(arg: Operand, inside: dict[Variable, Variable]) -> Operand:
    return inside[arg] if isinstance(arg, Variable) else arg


def _variables(clause: Clause) -> set[Variable]:
    found = {v for atom in (clause.head, *clause.body) for v in atom.args if isinstance(v, Variable)}
    return found | clause.constraint.free | clause.constraint.locals


def _meeting(
    atom: Atom, columns: tuple[Variable, ...], child: Constraint, inside: dict[Variable, Variable], mark: str
) -> Constraint:
    """`child` said of the arguments of `atom`."""
    names: dict[Variable, Variable] = {}
    more: list[Literal | bool] = []
    for column, arg in zip(columns, atom.args, strict=True):
        operand = _inner(arg, inside)
        if isinstance(operand, Variable) and operand.sort == column.sort:
            names[column] = operand
        else:
            names[column] = Variable(f"{mark}{column.name}", column.sort)
            more.append(_same(names[column], operand))
    return conjunction(renamed(child, names), constraint(more))


def _same(variable: Variable, operand: Operand) -> Literal | bool:
    if not isinstance(operand, Variable):
        return equals(variable, operand)
    if variable.sort == TEXT:
        return text(variable, "=", operand)
    return linear({variable: 10**operand.sort.scale, operand: -(10**variable.sort.scale)}, "=", 0)
