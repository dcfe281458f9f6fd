"""From a program as written to one that strategies can translate, or to all of its faults.

A pass sees only what the passes before it found sound, rule by rule, so that one run shows
every fault and none of them twice. Warnings stop nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foreset.analyse.strata import layering
from foreset.analyse.types import check, infer
from foreset.diagnostics import Report
from foreset.ir.program import Program
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
    schemas = program.columns_of()
    views = tuple(
        replace(view, rules=tuple(_prepare_rule(rule, schemas, report) for rule in view.rules))
        for view in program.views
    )
    if not report.ok:
        return Prepared(None, None, report)
    return Prepared(replace(program, views=views), layering(views), report)


def _prepare_rule(rule: Rule, schemas: Schemas, report: Report) -> Rule:
    normalised = normalise_rule(rule, schemas)
    inferred = infer(normalised.rule, schemas)
    typed = type_rule(normalised.rule, inferred.types, schemas)
    report.extend((*inferred.faults, *check(typed, schemas, normalised.pulled)))
    return typed
