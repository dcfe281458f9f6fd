"""One derivation: from a clause and one entry for each body atom to the constraint of the head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foreset.constraints.boxes import ANY, Range, empty, meet, narrowed, point_of
from foreset.constraints.calls import equals
from foreset.constraints.form import (
    FALSE,
    Constraint,
    Literal,
    Operand,
    box,
    conjunction,
    constraint,
    linear,
    renamed,
    text,
)
from foreset.constraints.simplify import project
from foreset.constraints.sorts import TEXT, Variable
from foreset.mediated.pools import may_meet, range_of_value
from foreset.mediated.program import Atom, Clause, Program, denials


def derived(program: Program, clause: Clause, children: Sequence[Constraint]) -> Constraint:
    """What `clause` says of the columns of its head when its body atoms are `children`."""
    columns = program.columns[clause.head.predicate]
    quick = _by_ranges(program, clause, children)
    if quick is not None:
        return quick
    inside, head = _called(clause, columns)
    parts = [renamed(clause.constraint, inside)]
    for place, (atom, child) in enumerate(zip(clause.body, children, strict=True)):
        parts.append(_meeting(atom, program.columns[atom.predicate], child, inside, f"{place}."))
    return project(conjunction(*parts, constraint(head), denials(clause)), columns)


def _called(clause: Clause, columns: Sequence[Variable]) -> tuple[dict[Variable, Variable], list[Literal | bool]]:
    """The variables of a clause by other names: those of the head are its columns. What else the head says."""
    inside: dict[Variable, Variable] = {}
    rest: list[tuple[Variable, Operand]] = []
    for column, arg in zip(columns, clause.head.args, strict=True):
        if isinstance(arg, Variable) and arg not in inside and arg.sort == column.sort:
            inside[arg] = column
        else:
            rest.append((column, arg))
    inside = {v: inside.get(v) or _own(v) for v in _variables(clause)}
    return inside, [_same(column, _inner(arg, inside)) for column, arg in rest]


def _by_ranges(program: Program, clause: Clause, children: Sequence[Constraint]) -> Constraint | None:
    """The same where ranges say all: then it is only a narrowing of ranges. None where they do not."""
    if not (clause.constraint.is_box and all(child.is_box for child in children)):
        return None
    ranges = dict(clause.constraint.box)
    for atom, child in zip(clause.body, children, strict=True):
        for column, arg in zip(program.columns[atom.predicate], atom.args, strict=True):
            said = child.box.get(column, ANY)
            if not isinstance(arg, Variable):
                if not meet(said, range_of_value(arg, column)):
                    return FALSE
            elif arg.sort != column.sort:
                return None
            else:
                ranges[arg] = narrowed(ranges.get(arg, ANY), said)
    if any(map(empty, ranges.values())):
        return FALSE
    head = _head_by_ranges(program, clause.head, ranges)
    return None if head is None or any(may_meet(head, region) for region in clause.denied) else head


def _head_by_ranges(program: Program, head: Atom, ranges: Mapping[Variable, Range]) -> Constraint | None:
    told: dict[Variable, Range] = {}
    for column, arg in zip(program.columns[head.predicate], head.args, strict=True):
        if not isinstance(arg, Variable):
            told[column] = range_of_value(arg, column)
        elif arg.sort != column.sort or (head.args.count(arg) > 1 and point_of(ranges.get(arg, ANY)) is None):
            return None
        elif ranges.get(arg, ANY) != ANY:
            told[column] = ranges[arg]
    return box(told)


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
