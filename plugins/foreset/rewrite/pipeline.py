"""From a program as written to one that strategies can translate, or to all of its faults.

A pass sees only what the passes before it found sound, rule by rule, so that one run shows
every fault and none of them twice. Warnings stop nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foreset.analyse import lint, names, safety, stratified, types, unit_tests
from foreset.analyse.strata import layering
from foreset.diagnostics import Report
from foreset.ir.program import Program, View
from foreset.ir.rules import Rule
from foreset.ir.strata import Layering
from foreset.rewrite.normalise_rules import Schemas, normalise_rule
from foreset.rewrite.type_rules import type_rule


@dataclass(frozen=True, slots=True)
class Prepared:
    """The outcome: a program in normal form with its strata, or neither when `report` has errors."""

    program: Program | None
    layering: Layering | None
    report: Report


def prepare(program: Program) -> Prepared:
    """Analyse `program` and bring it into normal form."""
    report = Report()
    report.extend(names.check_views(program))
    report.extend(lint.of_program(program))
    report.extend(stratified.check(program.views))  # on names alone: it needs no sound rules
    report.extend(fault for test in program.tests for fault in unit_tests.check(test))
    schemas = program.columns_of()
    views = tuple(_prepare_view(view, schemas, report) for view in program.views)
    layers = _layers(views, report)
    if layers is None or not report.ok:
        return Prepared(None, None, report)
    return Prepared(replace(program, views=views), layers, report)


def _layers(views: tuple[View, ...], report: Report) -> Layering | None:
    """The strata of a program without errors so far."""
    if not report.ok:
        return None
    report.extend(lint.of_views(views))  # all rules are there: what is empty now stays empty
    layers = layering(views)
    report.extend(stratified.check_layering(layers))
    return layers


def _prepare_view(view: View, schemas: Schemas, report: Report) -> View:
    """The view with those of its rules whose names are sound."""
    rules = (_prepare_rule(rule, schemas, report) for rule in view.rules)
    return replace(view, rules=tuple(rule for rule in rules if rule is not None))


def _prepare_rule(rule: Rule, schemas: Schemas, report: Report) -> Rule | None:
    """The rule in normal form, as far as it is sound; None when its names are not."""
    wrong = names.check_rule(rule, schemas)
    report.extend(wrong)
    if wrong:
        return None
    normal = normalise_rule(rule, schemas)  # what follows relies on positions and on the order of `Let`s
    inferred = types.infer(normal.rule, schemas, normal.pulled)
    typed = type_rule(normal.rule, inferred.types, schemas)
    faults = (*inferred.faults, *types.check(typed, schemas, normal.pulled), *safety.check(typed, normal.pulled))
    report.extend(faults)
    if not faults:
        report.extend(lint.of_written(rule))
        report.extend(lint.of_rule(typed))
    return typed
