"""Edits as rules: what is taken out is `not(...)` in every rule of the view, what is put in is a fact (P' and P♭).

Views that are kept by constraints get their edits as constraints, where they are derived (mediated/).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foreset.constraints.decide import satisfiable
from foreset.constraints.faults import BadConstraint
from foreset.constraints.form import Constraint, Linear, Literal, Text
from foreset.constraints.instances import contains, rows
from foreset.constraints.read import read_constraint
from foreset.constraints.rows import CONSTRAINT, variables_of
from foreset.constraints.sorts import Variable, from_ticks, sort_of, type_of_sort
from foreset.constraints.text import print_constraint_literal
from foreset.diagnostics import Span
from foreset.errors import ForesetError, UsageError
from foreset.ir.edits import Edit, active
from foreset.ir.functions import ALL, COMPARING
from foreset.ir.program import Column, Program, View
from foreset.ir.rules import Atom, Rule, Test
from foreset.ir.terms import Call, Const, Row, Term, Value, Var
from foreset.ir.types import BIGINT
from foreset.ir.values import Misfit, coerce

_ONE_OR_TWO = "rows can be told by comparisons of one column with a value, or of two columns with each other"


def region_of(edit: Edit, columns: Sequence[Column]) -> Constraint:
    """What an edit speaks of; UsageError where its text says nothing about these columns."""
    own = [column for column in columns if column.name != CONSTRAINT.name]
    known = [column for column in own if sort_of(column.type) is not None]
    try:
        found = read_constraint(edit.region, variables_of(known), in_capitals=True)
    except BadConstraint as wrong:
        names = ", ".join(f"{column.name} {column.type}" for column in own)
        raise UsageError(f"`{edit.region}` is no condition on the columns of `{edit.view}`: {wrong.message}",
                         wrong.hint or f"its columns are {names}") from None  # fmt: skip
    if not satisfiable(found):
        raise UsageError(f"`{edit.region}` can never hold", "nothing would be edited")
    return found


@dataclass(frozen=True, slots=True)
class Unfit:
    """An edit that says nothing about its view as the spec has it now."""

    edit: Edit
    reason: str


def check_edit(edit: Edit, view: View, *, constrained: bool) -> None:
    """UsageError where an edit cannot be made to a view."""
    if edit.kind == "insert" and not constrained:
        inserted(edit, view)
        return
    region = region_of(edit, view.columns)
    if not constrained:
        _holds(region, {column.name: Var(column.name) for column in view.columns})


def unfit(program: Program, edits: Iterable[Edit], constrained: Collection[str]) -> tuple[Unfit, ...]:
    """The edits that hold and do not fit their views: the spec has changed since they were made."""
    views = {view.name: view for view in program.views}
    found = []
    for edit in active(edits):
        try:
            if edit.view in views:
                check_edit(edit, views[edit.view], constrained=edit.view in constrained)
        except ForesetError as wrong:
            found.append(Unfit(edit, wrong.message))
    return tuple(found)


def without_view(program: Program, edits: Iterable[Edit]) -> tuple[Unfit, ...]:
    """The edits that hold and whose views are gone: they correct nothing."""
    views = {view.name for view in program.views}
    gone = (edit for edit in active(edits) if edit.view not in views)
    return tuple(Unfit(edit, f"the group has no view `{edit.view}` any more") for edit in gone)


def unfit_text(group: str, one: Unfit) -> str:
    """Which edit it is, and what is wrong with it."""
    edit = one.edit
    evidence = ", ".join(filter(None, (edit.who, edit.at, edit.why)))
    return f"edit {edit.id} of `{group}.{edit.view}`: {edit.kind} {edit.region} ({evidence}): {one.reason}"


def with_command(group: str, one: Unfit) -> str:
    """The same, and what takes the edit back."""
    return f"{unfit_text(group, one)}; `{undo_command(group, one.edit)}` takes it back"


def undo_command(group: str, edit: Edit) -> str:
    """What takes an edit back."""
    return f"foreset edit {group}.{edit.view} --undo {edit.id}"


def with_edits(program: Program, edits: Iterable[Edit], constrained: frozenset[str]) -> Program:
    """A program as written with the edits of its views of rows; edits of views that are gone say nothing.

    UsageError where an edit does not fit its view: a correction is never left out without a word.
    """
    found = active(edits)
    wrong = unfit(program, found, constrained)
    if wrong:
        commands = "; ".join(f"`{undo_command(program.group, one.edit)}`" for one in wrong)
        raise UsageError(
            "the spec has changed, and these edits do not fit their views any more:"
            + "".join(f"\n  {unfit_text(program.group, one)}" for one in wrong),
            f"take them back, and make them again as the views are now: {commands}",
        )
    views = (
        view if view.name in constrained else _edited(view, [edit for edit in found if edit.view == view.name])
        for view in program.views
    )
    return replace(program, views=tuple(views))


def _edited(view: View, edits: Sequence[Edit]) -> View:
    """Later edits win: a deletion takes out what earlier insertions put in, and no later one."""
    rules = view.rules
    facts: dict[Row, Rule] = {}
    for edit in edits:
        region = region_of(edit, view.columns)
        own = variables_of(view.columns)
        if edit.kind == "delete":
            rules = tuple(_without(rule, region, view) for rule in rules)
            facts = {row: rule for row, rule in facts.items() if not contains(region, own, row)}
        else:
            facts |= {row: _fact(view, row, edit) for row in inserted(edit, view)}
    return replace(view, rules=(*rules, *facts.values()))


def inserted(edit: Edit, view: View) -> list[Row]:
    """The rows of an insertion into a view of rows: finitely many, each of them whole."""
    lacking = [column.name for column in view.columns if sort_of(column.type) is None]
    if lacking:
        raise UsageError(f"rows cannot be put into `{view.name}`: constraints do not know the type of `{lacking[0]}`",
                         "give the correction as a source table of its own")  # fmt: skip
    found = rows(region_of(edit, view.columns), variables_of(view.columns))
    return [tuple(_fitting(value, column) for value, column in zip(row, view.columns, strict=True)) for row in found]


def _fitting(value: object, column: Column) -> Value:
    try:
        return coerce(value, column.type)
    except Misfit as wrong:
        raise UsageError(f"`{column.name}` cannot hold it: {wrong}", f"the column is of type {column.type}") from None


def _fact(view: View, row: Row, edit: Edit) -> Rule:
    args = tuple(Const(value, column.type) for value, column in zip(row, view.columns, strict=True))
    return Rule(Atom(view.name, args, span=view.span), (), f"{view.name}#edit {edit.id}", span=view.span)


def _without(rule: Rule, region: Constraint, view: View) -> Rule:
    head = rule.head
    names = head.columns or tuple(column.name for column in view.columns)
    terms = dict(zip(names, head.args, strict=True))
    return replace(rule, body=(*rule.body, Test(_holds(region, terms, rule.span), negated=True, span=rule.span)))


def _holds(region: Constraint, terms: dict[str, Term], span: Span | None = None) -> Call:
    """That a row is in a region, by the terms of its columns."""
    if region.locals:
        raise UsageError("a region of rows has no `for some`", _ONE_OR_TWO)
    return Call(ALL, tuple(_term(literal, terms) for literal in region.literals), span)


def _term(literal: Literal, terms: dict[str, Term]) -> Call:
    match literal:
        case Linear(terms=((variable, 1),), op=op, bound=number):
            return Call(COMPARING[op], (terms[variable.name], _const(number, variable)))
        case Linear(terms=((variable, -1),), op="<=", bound=number):
            return Call(COMPARING[">="], (terms[variable.name], _const(-number, variable)))
        case Linear(terms=((left, 1), (right, -1)), op=op, bound=0):
            return Call(COMPARING[op], (terms[left.name], terms[right.name]))
        case Linear(terms=((left, 1), (right, -1)), op="<=", bound=-1):
            return Call(COMPARING["<"], (terms[left.name], terms[right.name]))
        case Linear(terms=((right, -1), (left, 1)), op="<=", bound=0 | -1 as bound):
            return Call(COMPARING["<" if bound else "<="], (terms[left.name], terms[right.name]))
        case Text(left=left, op=op, right=Variable(name=name)):
            return Call(COMPARING[op], (terms[left.name], terms[name]))
        case Text(left=left, op=op, right=str() as word):
            return Call(COMPARING[op], (terms[left.name], _value(word, left)))
        case _:
            raise UsageError(f"`{print_constraint_literal(literal)}` tells no rows", _ONE_OR_TWO)


def _const(number: int, variable: Variable) -> Const:
    return _value(from_ticks(number, variable.sort), variable)


def _value(value: Any, variable: Variable) -> Const:  # noqa: ANN401 - any value of a column
    kind = type_of_sort(variable.sort)
    return Const(value, BIGINT if variable.sort.kind == "number" and not variable.sort.scale else kind)
