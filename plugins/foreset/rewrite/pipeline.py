"""From a program as written to one that strategies can translate, or to all of its faults.

A pass sees only what the passes before it found sound, rule by rule, so that one run shows
every fault and none of them twice. Warnings stop nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from foreset.analyse import aggregates, constrained, engines, lint, names, safety, stratified, types, unit_tests
from foreset.analyse.graph import circles, dependencies
from foreset.analyse.strata import layering
from foreset.diagnostics import Diagnostic, Report
from foreset.ir.program import Program, View
from foreset.ir.rules import Rule
from foreset.ir.strata import Layering
from foreset.rewrite.as_written import AsWritten
from foreset.rewrite.ask_domains import Asking, plain_words
from foreset.rewrite.constrain import prepare_constrained
from foreset.rewrite.denials import prepare_denials
from foreset.rewrite.normalise_rules import Schemas, normalise_rule
from foreset.rewrite.settle_sets import settled
from foreset.rewrite.split_aggregates import Splitter
from foreset.rewrite.split_supports import split_supports
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
    report.extend(engines.check(program))
    report.extend(fault for test in program.tests for fault in unit_tests.check(test, program.sources))
    definitions, wrong = aggregates.prepared(program.aggregates)
    report.extend(wrong)
    keys = {source.name: source.key_places for source in program.sources}
    splitter = Splitter(program.columns_of(), definitions, keys)
    views = _passed(program, splitter, report)
    views = engines.with_engines(program, views) if report.ok else views
    columns = {**program.columns_of(), **splitter.schemas_with_hidden}
    layers = _layers(views, columns, keys, report)
    report = _in_plain_words(report)
    if layers is None or not report.ok:
        return Prepared(None, None, report)
    supported = split_supports(views, layers)
    again = layers if supported == views else layering(supported, columns, keys)
    return Prepared(replace(program, views=supported), again, report)


def as_written(program: Program, prepared: Program) -> tuple[Program, Layering]:
    """What a sound program is held to: its views as they are written, beside what `prepared` has made for them.

    Without sets both are one.
    """
    if not any(rule.sets for view in program.views for rule in view.rules):
        return prepared, layering(prepared.views, prepared.columns_of())
    definitions, _ = aggregates.prepared(program.aggregates)
    report = Report()
    views = _passed(program, AsWritten(program.columns_of(), definitions), report)
    assert report.ok, [fault.message for fault in report.errors]
    names = {view.name for view in views}
    kept = tuple(replace(view, supports="") for view in prepared.views if view.name not in names)
    judged = replace(prepared, views=(*views, *kept))
    return judged, layering(judged.views, judged.columns_of())


def _passed(program: Program, sets: Sets, report: Report) -> tuple[View, ...]:
    """All views, the hidden ones first, as far as they are sound."""
    asking = Asking({domain.name: domain for domain in program.domains})
    schemas = {**program.columns_of(), **asking.schemas}
    sets.schemas = schemas
    among = constrained.constrained(program)
    kept = {view.name: view for view in program.views if view.name in among}
    slips = {view.name: found for view in program.views if (found := tuple(constrained.slips(view, among)))}
    report.extend(fault for found in slips.values() for fault in found)
    passes = _Passes(sets, asking, kept, circles(dependencies(program.views)), report)
    views = tuple(
        prepare_constrained(view, schemas, asking, report)
        if view.name in among
        else prepare_denials(_prepare_view(view, passes), schemas, among, report)
        for view in program.views
        if view.name not in slips  # nothing more can be said of it
    )
    return (*sets.made.values(), *asking.views(), *views)


def _in_plain_words(report: Report) -> Report:
    found = Report()
    found.extend(map(plain_words, report))
    return found


def _layers(
    views: tuple[View, ...], columns: Schemas, keys: Mapping[str, tuple[int, ...]], report: Report
) -> Layering | None:
    """The strata of a program without errors so far."""
    if not report.ok:
        return None
    report.extend(lint.of_views(views))  # all rules are there: what is empty now stays empty
    layers = layering(views, columns, keys)
    report.extend(stratified.check_layering(layers, {**columns, **{view.name: view.columns for view in views}}))
    report.extend(stratified.check_calls(layers))
    return layers


class Sets(Protocol):
    """What turns the sets of rules into atoms of views of groups."""

    schemas: Schemas
    made: dict[str, View]

    @property
    def schemas_with_hidden(self) -> Schemas:
        """The columns of everything that rules may read then."""
        ...

    def split(self, rule: Rule, strategy: str, /) -> tuple[Rule, tuple[Diagnostic, ...]]:
        """The rule without its sets; with faults, a rule that is not to be used."""
        ...


@dataclass(frozen=True, slots=True)
class _Passes:
    """What the passes of one program share."""

    sets: Sets
    asking: Asking
    kept: Mapping[str, View]  # by constraints
    circles: Mapping[str, frozenset[str]]  # the views that wait for a view's own rows
    report: Report


def _prepare_view(view: View, passes: _Passes) -> View:
    """The view with those of its rules whose names are sound."""
    rules = (_prepare_rule(rule, view, passes) for rule in view.rules)
    return replace(view, rules=tuple(rule for rule in rules if rule is not None))


def _prepare_rule(written: Rule, view: View, passes: _Passes) -> Rule | None:
    """The rule in normal form, as far as it is sound; None when its names, calls or sets are not."""
    sets, asking, report = passes.sets, passes.asking, passes.report
    written, wrong = asking.with_members(written, passes.kept)  # views of constraints are asked, not joined
    report.extend(wrong)
    if wrong:
        return None
    sets.schemas = {**sets.schemas, **asking.schemas}
    whole, unsettled = settled(written, passes.circles[view.name])  # before parts of it become rules of their own
    rule, wrong = asking.with_atoms(whole)  # what follows sees relations only
    wrong = wrong or names.check_rule(rule, sets.schemas) or unsettled
    report.extend(wrong)
    if wrong:
        return None
    typed, faults = _typed(rule, view.strategy, sets)
    report.extend(faults)
    if typed is None or faults:
        return typed
    report.extend(lint.of_written(rule))
    report.extend(lint.of_rule(typed))
    report.extend(_asks(whole, view.strategy, sets, asking))
    return typed


def _typed(rule: Rule, strategy: str, sets: Sets) -> tuple[Rule | None, tuple[Diagnostic, ...]]:
    """A rule without calls in normal form, with its faults; None where sets are not sound."""
    rule, wrong = sets.split(rule, strategy)  # what follows sees ordinary rules only
    if wrong:
        return None, wrong
    schemas = sets.schemas_with_hidden
    normal = normalise_rule(rule, schemas)  # what follows relies on positions and on the order of `Let`s
    inferred = types.infer(normal.rule, schemas, normal.pulled)
    typed = type_rule(normal.rule, inferred.types, schemas)
    return typed, (*inferred.faults, *types.check(typed, schemas, normal.pulled), *safety.check(typed, normal.pulled))


def _asks(whole: Rule, strategy: str, sets: Sets, asking: Asking) -> tuple[Diagnostic, ...]:
    """Take in what the calls of a sound rule ask; the faults are of arguments only."""
    found: list[Diagnostic] = []
    for call in (*whole.calls, *(call for one in whole.sets for call in one.calls)):
        asking.add(call.called, None, call.called_span)
    for called, rule in asking.asks(whole):
        typed, faults = _typed(rule, strategy, sets)
        found += faults
        if typed is not None and not faults:
            asking.add(called, typed, rule.span)
    return tuple(found)
