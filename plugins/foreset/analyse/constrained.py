"""Which views are kept by constraints: some rule leaves a column of theirs without a value.

Such a column is bound by comparisons only, or by such a column of another view. A view that asks its
domains when it is read is one too: what a domain answers has no value before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from foreset.analyse.binding import assigned
from foreset.analyse.faults import constrained as faults
from foreset.constraints.sorts import sort_of
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.functions import ALL
from foreset.ir.program import Program, View
from foreset.ir.rules import Atom, Comparison, Literal, Rule, Test, literal_variables, set_variables
from foreset.ir.terms import Call, Term, Var, names_in, variables

ON_READ = "on_read"
_NOWHERE = Span("", 1, 1)


def constrained(program: Program) -> frozenset[str]:
    """The names of such views."""
    found = {view.name for view in program.views if view.evaluate == ON_READ}
    while True:
        more = {
            view.name
            for view in program.views
            if view.name not in found
            and any(open_columns(rule, found) for rule in view.rules)
            and not any(slips(view, found))
        }
        if not more:
            return frozenset(found)
        found |= more


def slips(view: View, among: Collection[str]) -> Iterator[Diagnostic]:
    """Columns that a rule over relations leaves open, in a view that does not say that this is meant."""
    for rule in () if view.evaluate else view.rules:
        if not rule.sets and not any(isinstance(one, Atom) and one.relation not in among for one in rule.body):
            continue  # of comparisons and regions only: what else could be meant
        known = bound_variables(rule, ())  # columns of other views of constraints may be handed on
        for var in [v for v in open_columns(rule, among) if v.name not in known][:1]:
            span = var.span or rule.span or _NOWHERE
            stray = _stray(rule, var, known)
            if stray is not None:
                yield faults.column_of_nothing(view.name, var.name, stray.name, stray.span or span, sorted(known))
            else:
                yield faults.left_to_constraints(view.name, var.name, span)


def _stray(rule: Rule, var: Var, known: Collection[str]) -> Var | None:
    """A variable that stands nowhere but in what gives `var` its value."""
    counts = Counter(v.name for literal in (rule.head, *rule.body) for v in literal_variables(literal))
    counts.update(v.name for one in rule.sets for v in set_variables(one))
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.op == "=" and var in (literal.left, literal.right):
            for other in literal_variables(literal):
                if other.name != var.name and other.name not in known and counts[other.name] == 1:
                    return other
    return None


def open_columns(rule: Rule, among: Collection[str]) -> list[Var]:
    """The variables of the head that relations, other than `among`, give no value, but something else speaks of."""
    known = bound_variables(rule, among)
    speaking = (one for one in rule.body if isinstance(one, Comparison | Atom) or _is_region(one))
    spoken = {v.name for literal in speaking for v in literal_variables(literal)}
    heads = [v for arg in rule.head.args for v in variables(arg)]
    return [v for v in heads if v.name not in known and v.name in spoken and v.name != "_"]


def _is_region(literal: Literal) -> bool:
    """`not (...)` of comparisons."""
    return isinstance(literal, Test) and isinstance(literal.call, Call) and literal.call.function == ALL


def bound_variables(rule: Rule, among: Collection[str]) -> set[str]:
    """The variables that have a value, by relations (but `among`), assignments, calls and aggregates."""
    known = {v.name for one in rule.sets for v in (one.var, *set_variables(one))}
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.relation not in among:
            known |= {arg.name for arg in literal.args if isinstance(arg, Var)}
    settled = False
    while not settled:
        found = {name for name in _assigned(rule, known) if name not in known}
        known |= found
        settled = not found
    return known


def _assigned(rule: Rule, known: set[str]) -> Iterator[str]:
    yield from (name for name, _ in assigned(rule.body, known))
    for call in rule.calls:
        if not call.negated and all(_known(arg, known) for arg in call.args):
            yield from (v.name for output in call.outputs for v in variables(output))


def _known(term: Term, known: set[str]) -> bool:
    return names_in(term) <= known


def check(view: View) -> Iterator[Diagnostic]:
    """The faults of one view that is kept by constraints, as written."""
    for column in view.columns:
        if sort_of(column.type) is None:
            yield faults.inexact_column(view.name, column.name, column.type, column.span or view.span or _NOWHERE)
    if view.strategy not in ("auto", "recompute"):
        yield faults.not_for_constraints(view.name, "strategy", view.strategy_span or view.span or _NOWHERE)
    if view.engine:
        yield faults.not_for_constraints(view.name, "engine", view.engine_span or view.span or _NOWHERE)
    if view.expectations:
        yield faults.not_for_constraints(view.name, "expectations", view.expectations[0].span or view.span or _NOWHERE)
    for rule in view.rules:
        for one in rule.sets:
            yield faults.aggregate_of_constraints(view.name, one.span or rule.span or _NOWHERE)
