"""Views that are kept by constraints, in normal form, and what constraints have against their rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from foreset.analyse import constrained, lint, names, types
from foreset.analyse.faults import constrained as faults
from foreset.constraints.decide import satisfiable
from foreset.constraints.errors import BadConstraint
from foreset.constraints.rows import CONSTRAINT
from foreset.constraints.rules import Functions, constraint_of
from foreset.constraints.sorts import sort_of
from foreset.diagnostics import Diagnostic, Report, Span
from foreset.ir.asked import functions_of
from foreset.ir.functions import type_of
from foreset.ir.program import View
from foreset.ir.rules import Comparison, Let, Rule, Test, atoms, literal_variables
from foreset.ir.terms import Call, Var
from foreset.ir.text import print_rule
from foreset.ir.types import Type
from foreset.rewrite.ask_domains import Asking
from foreset.rewrite.normalise_rules import Schemas, normalise_rule
from foreset.rewrite.type_rules import type_rule

_NOWHERE = Span("", 1, 1)


def prepare_constrained(view: View, schemas: Schemas, asking: Asking, report: Report) -> View:
    """The view in normal form, as far as it is sound."""
    wrong = tuple(constrained.check(view))
    report.extend(wrong)
    functions = functions_of(tuple(asking.domains.values()))
    if any(fault.severity == "error" for fault in wrong):
        return view
    rules = tuple(rule for written in view.rules if (rule := _rule(written, schemas, asking, functions, report)))
    return replace(view, columns=(*view.columns, CONSTRAINT), rules=rules, constrained=True)


def _rule(written: Rule, schemas: Schemas, asking: Asking, functions: Functions, report: Report) -> Rule | None:
    rule, wrong = asking.with_atoms(written, bound=False)
    wrong = wrong or names.check_rule(rule, schemas)
    if wrong:
        report.extend(wrong)
        return None
    normal = normalise_rule(rule, schemas)
    inferred = types.infer(normal.rule, schemas, normal.pulled)
    kinds = _completed(normal.rule, dict(inferred.types), schemas)
    typed = type_rule(normal.rule, kinds, schemas)
    faults_ = (*inferred.faults, *types.check(typed, schemas, normal.pulled), *_open(typed, normal.pulled))
    faults_ = faults_ or tuple(_inexact(typed, schemas, functions)) or tuple(_said(typed, functions, rule))
    report.extend(faults_)
    if not any(fault.severity == "error" for fault in faults_):
        report.extend(lint.of_written(rule))
    return typed


def _completed(rule: Rule, kinds: dict[str, Type], schemas: Schemas) -> dict[str, Type]:
    """Types also for variables that no relation has: from the head, then from what they are compared with."""
    for arg, column in zip(rule.head.args, schemas[rule.head.relation], strict=True):
        if isinstance(arg, Var):
            kinds.setdefault(arg.name, column.type)
    settled = False
    while not settled:
        settled = True
        for literal in rule.body:
            sides = _sides(literal)
            known = [kind for side in sides if (kind := type_of(side, kinds))]
            known += [kinds[v.name] for v in literal_variables(literal) if v.name in kinds]
            for var in literal_variables(literal) if sides and known else ():
                if var.name not in kinds:
                    kinds[var.name] = known[0]
                    settled = False
    return kinds


def _sides(literal: object) -> tuple:  # type: ignore[type-arg]
    match literal:
        case Comparison(left=left, right=right):
            return left, right
        case Let(var=var, term=term):
            return var, term
        case Test(call=Call(args=args)):
            return args
        case _:
            return ()


def _open(rule: Rule, pulled: Collection[str]) -> Iterator[Diagnostic]:
    """Variables that stand beside nothing that has a type."""
    for literal in (rule.head, *rule.body):
        for var in literal_variables(literal):
            if var.name not in rule.types and var.name not in pulled:
                yield faults.variable_without_type(var.name, var.span or rule.span or _NOWHERE)
                return


def _inexact(rule: Rule, schemas: Schemas, functions: Functions) -> Iterator[Diagnostic]:
    for atom, _ in atoms(rule):
        for arg, column in zip(atom.args, schemas[atom.relation], strict=True):
            blank = isinstance(arg, Var) and arg.anonymous and atom.relation not in functions
            if not blank and sort_of(column.type) is None:
                yield faults.inexact_argument(column.name, column.type, arg.span or rule.span or _NOWHERE)


def _said(rule: Rule, functions: Functions, written: Rule) -> Iterator[Diagnostic]:
    """What cannot be said as a constraint, and what can never hold."""
    span = rule.span or _NOWHERE
    try:
        said = constraint_of(rule, functions)
    except BadConstraint as wrong:
        yield faults.not_a_constraint(wrong, span)
        return
    if not satisfiable(said):
        yield faults.never_satisfied(rule.head.relation, print_rule(written), span)
