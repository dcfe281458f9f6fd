"""From a program as written to one that strategies can translate, or to all of its faults.

A pass sees only what the passes before it found sound, rule by rule, so that one run shows
every fault and none of them twice. Warnings stop nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foreset.analyse import aggregates, lint, names, safety, stratified, types, unit_tests
from foreset.analyse.strata import layering
from foreset.diagnostics import Report
from foreset.ir.program import Program, View
from foreset.ir.rules import Rule
from foreset.ir.strata import Layering
from foreset.rewrite.denials import prepare_denials
from foreset.rewrite.normalise_rules import normalise_rule
from foreset.rewrite.split_aggregates import Splitter
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
    definitions, wrong = aggregates.prepared(program.aggregates)
    report.extend(wrong)
    splitter = Splitter(schemas, definitions)
    views = tuple(prepare_denials(_prepare_view(view, splitter, report), schemas, report) for view in program.views)
    views = (*splitter.made.values(), *views)
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


def _prepare_view(view: View, splitter: Splitter, report: Report) -> View:
    """The view with those of its rules whose names are sound."""
    rules = (_prepare_rule(rule, view, splitter, report) for rule in view.rules)
    return replace(view, rules=tuple(rule for rule in rules if rule is not None))


def _prepare_rule(written: Rule, view: View, splitter: Splitter, report: Report) -> Rule | None:
    """The rule in normal form, as far as it is sound; None when its names, or its sets, are not."""
    wrong = names.check_rule(written, splitter.schemas)
    report.extend(wrong)
    if wrong:
        return None
    rule, wrong = splitter.split(written, view.strategy)  # what follows sees ordinary rules only
    report.extend(wrong)
    if wrong:
        return None
    schemas = splitter.schemas_with_hidden
    normal = normalise_rule(rule, schemas)  # what follows relies on positions and on the order of `Let`s
    inferred = types.infer(normal.rule, schemas, normal.pulled)
    typed = type_rule(normal.rule, inferred.types, schemas)
    faults = (*inferred.faults, *types.check(typed, schemas, normal.pulled), *safety.check(typed, normal.pulled))
    report.extend(faults)
    if not faults:
        report.extend(lint.of_written(written))
        report.extend(lint.of_rule(typed))
    return typed
