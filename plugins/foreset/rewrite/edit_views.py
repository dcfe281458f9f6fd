"""Edits as rules: what is taken out is `not(...)` in every rule of the view, what is put in is a fact (P' and P♭).

Rows that are told by their values stand in hidden relations (`edit_relations`), other regions in the rules. Views that
are kept by constraints get their edits as constraints, where they are derived (mediated/).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foreset.constraints.decide import satisfiable
from foreset.constraints.errors import BadConstraint
from foreset.constraints.form import Constraint, Linear, Literal, Text
from foreset.constraints.instances import rows
from foreset.constraints.read import read_constraint
from foreset.constraints.rows import CONSTRAINT, variables_of
from foreset.constraints.sorts import Variable, from_ticks, sort_of, type_of_sort
from foreset.constraints.text import print_constraint_literal
from foreset.diagnostics import Span
from foreset.errors import ForesetError, UsageError
from foreset.ir.edits import Edit, active
from foreset.ir.functions import ALL, COMPARING
from foreset.ir.program import Column, Program, View
from foreset.ir.rules import Rule, Test
from foreset.ir.terms import Call, Const, Row, Term, Value, Var
from foreset.ir.types import BIGINT
from foreset.ir.values import Misfit, coerce
from foreset.rewrite.edit_relations import exact_places, summed, with_relations
from foreset.rewrite.pipeline import prepare

_ONE_OR_TWO = "rows can be told by comparisons of one column with a value, or of two columns with each other"


def region_of(edit: Edit, columns: Sequence[Column]) -> Constraint:
    """What an edit speaks of; UsageError where its text says nothing about these columns."""
    return _region(edit.region, edit.view, tuple(column for column in columns if column.name != CONSTRAINT.name))


@functools.lru_cache(maxsize=1 << 14)  # each edit is read for each program that it is part of
def _region(text: str, view: str, columns: tuple[Column, ...]) -> Constraint:
    known = [column for column in columns if sort_of(column.type) is not None]
    try:
        found = read_constraint(text, variables_of(known), in_capitals=True)
    except BadConstraint as wrong:
        names = ", ".join(f"{column.name} {column.type}" for column in columns)
        raise UsageError(f"`{text}` is not a condition on the columns of `{view}`: {wrong.message}",
                         wrong.hint or f"its columns are {names}") from None  # fmt: skip
    if not satisfiable(found):
        raise UsageError(f"`{text}` can never hold", "the edit would change nothing")
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
    return f"{unfit_text(group, one)}; `{undo_command(group, one.edit)}` undoes it"


def undo_command(group: str, edit: Edit) -> str:
    """What takes an edit back."""
    return f"foreset edit {group}.{edit.view} --undo {edit.id}"


def with_edits(
    program: Program, edits: Iterable[Edit], constrained: Collection[str], shapes: Iterable[Edit] = ()
) -> Program:
    """A program as written with the edits of its views of rows; edits of views that are gone say nothing.

    `shapes` are edits for whose rows there are relations too, but empty: two programs can then be compared.
    UsageError where an edit does not fit its view: a correction is never left out without a word.
    """
    found = active(edits)
    wrong = unfit(program, found, constrained)
    if wrong:
        commands = "; ".join(f"`{undo_command(program.group, one.edit)}`" for one in wrong)
        raise UsageError(
            "the spec has changed, and these edits no longer fit their views:"
            + "".join(f"\n  {unfit_text(program.group, one)}" for one in wrong),
            f"undo them, and make them again with the new columns: {commands}",
        )
    of_view, also = _by_view(found), _by_view(active(shapes))
    plain = prepare(program).program
    prepared = {view.name: view for view in plain.views} if plain else {}
    views = (
        (view,)
        if view.name in constrained or not (view.name in of_view or view.name in also)
        else _edited(view, prepared.get(view.name), of_view.get(view.name, ()), also.get(view.name, ()))
        for view in program.views
    )
    return replace(program, views=tuple(one for found in views for one in found))


def _by_view(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        found.setdefault(edit.view, []).append(edit)
    return found


def _edited(view: View, prepared: View | None, edits: Sequence[Edit], shapes: Sequence[Edit]) -> tuple[View, ...]:
    """The view with what its edits come to, and before it the relations of rows that they give."""
    exact = exact_places(view, prepared)
    own, also = (summed(view, _said(view, some), exact) for some in (edits, shapes))
    rules = view.rules
    for region in own.regions:
        rules = tuple(_outside(rule, region, view) for rule in rules)
    return with_relations(replace(view, rules=rules), own, also)


def _said(view: View, edits: Iterable[Edit]) -> Iterator[tuple[Constraint, Sequence[Row]]]:
    for edit in edits:
        yield region_of(edit, view.columns), inserted(edit, view) if edit.kind == "insert" else ()


def inserted(edit: Edit, view: View) -> tuple[Row, ...]:
    """The rows of an insertion into a view of rows: finitely many, each of them whole."""
    return _rows(edit.region, view.name, view.columns)


@functools.lru_cache(maxsize=1 << 14)
def _rows(text: str, view: str, columns: tuple[Column, ...]) -> tuple[Row, ...]:
    lacking = [column.name for column in columns if sort_of(column.type) is None]
    if lacking:
        fact = f"rows cannot be inserted into `{view}`: constraints do not support the type of `{lacking[0]}`"
        raise UsageError(fact, "put the correction into a source table")
    found = rows(_region(text, view, columns), variables_of(columns))
    return tuple(tuple(_fitting(value, c) for value, c in zip(row, columns, strict=True)) for row in found)


def _fitting(value: object, column: Column) -> Value:
    try:
        return coerce(value, column.type)
    except Misfit as wrong:
        raise UsageError(
            f"the value does not fit column `{column.name}`: {wrong}", f"the column is of type {column.type}"
        ) from None


def _outside(rule: Rule, region: Constraint, view: View) -> Rule:
    """The rule for rows that are not in a region."""
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
