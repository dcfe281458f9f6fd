"""`deny:` bodies in normal form: rules of relations that nobody keeps and that should stay empty.

Their heads have the types of their variables, which are known only here, so they get them
in two steps: names first, under a head that fits anything, then types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from foreset.analyse import lint, names, safety, types
from foreset.analyse.faults.constrained import denied_region
from foreset.diagnostics import Report, Span
from foreset.ir.expectations import Expectation
from foreset.ir.program import Column, View
from foreset.ir.rules import Atom, Rule, atoms
from foreset.ir.terms import Const, Term, Var
from foreset.ir.types import BOOLEAN, STRING, Type
from foreset.rewrite.normalise_rules import Schemas, normalise_rule
from foreset.rewrite.type_rules import type_rule

_NOWHERE = Span("", 1, 1)


def prepare_denials(view: View, schemas: Schemas, among: Collection[str], report: Report) -> View:
    """The view with its `deny:` bodies in normal form; those with faults are left as they are.

    They are looked for among rows: the views `among` are kept by constraints, and cannot be read.
    """
    if not any(expectation.rule for expectation in view.expectations):
        return view
    for rule in (one.rule for one in view.expectations if one.rule is not None):
        read = [atom for atom, _ in atoms(rule) if atom.relation in among]
        report.extend(denied_region(atom.relation, atom.span or rule.span or _NOWHERE) for atom in read)
    return replace(view, expectations=tuple(_prepared(one, schemas, report) for one in view.expectations))


def _prepared(expectation: Expectation, schemas: Schemas, report: Report) -> Expectation:
    rule = expectation.rule
    if rule is None:
        return expectation
    wrong = names.check_rule(rule, {**schemas, rule.head.relation: _columns(rule.head, {})})
    report.extend(wrong)
    if wrong:
        return expectation
    normal = normalise_rule(rule, {**schemas, rule.head.relation: _columns(rule.head, {})})
    bare = replace(normal.rule, head=replace(normal.rule.head, args=()))  # the head says nothing of types
    inferred = types.infer(bare, {**schemas, rule.head.relation: ()}, normal.pulled)
    columns = _columns(normal.rule.head, inferred.types)
    whole = {**schemas, rule.head.relation: columns}
    typed = type_rule(normal.rule, inferred.types, whole)
    faults = (*inferred.faults, *types.check(typed, whole, normal.pulled), *safety.check(typed, normal.pulled))
    report.extend(faults)
    if not faults:
        report.extend(_lints(rule, typed))
    return replace(expectation, rule=typed, columns=columns)


def _lints(written: Rule, typed: Rule) -> Report:
    found = Report()
    found.extend(lint.of_written(written))
    found.extend(lint.of_rule(typed))
    return found


def _columns(head: Atom, kinds: Mapping[str, Type]) -> tuple[Column, ...]:
    """The columns of the offending rows: the variables, in their order."""
    return tuple(_column(arg, kinds) for arg in head.args)


def _column(arg: Term, kinds: Mapping[str, Type]) -> Column:
    match arg:
        case Var(name=name):
            return Column(name, kinds.get(name, STRING))
        case Const():
            return Column("found", BOOLEAN)
        case _:
            raise AssertionError(f"{arg} is no witness")
